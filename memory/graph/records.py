"""`EventNode` <-> flat properties: scalars and lists of scalars only, empty ones left out.

Dates and attributes are JSON strings: neither server's map type works on the other. Times are int64 microseconds.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from memory.dates import DateSpan, Precision
from memory.events import EventKind, EventNode, Trust
from memory.graph.chain import chain_key

_LISTS = ("parents", "entities", "mentions", "derived_from")
_INT64 = 2**63
#: What a row's fixed properties take on the wire, in bytes, rounded up.
_ROW_BYTES = 700


def event_row(node: EventNode) -> dict[str, Any]:
    """Give the properties of the event's node. `uid` is its key, `chain` its place (see `memory.graph.chain`).

    Raises `ValueError` for what no server may be asked to store: a number beyond int64, a key separator in an id.
    """
    if "|" in node.tenant or "|" in node.session or "|" in node.id:
        raise ValueError("tenant, session and id must not contain the key separator '|'")
    if not -_INT64 <= node.occurred_us < _INT64 or not -1 <= node.sequence < _INT64:
        raise ValueError("event time or sequence beyond 64 bits")
    row: dict[str, Any] = {
        "uid": f"{node.tenant}|{node.id}",
        "chain": chain_key(node),
        "tenant": node.tenant,
        "id": node.id,
        "ref": node.ref,
        "source": node.source,
        "session": node.session,
        "agent": node.agent,
        "kind": node.kind.value,
        "text": node.text,
        "speaker": node.speaker,
        "occurred_us": node.occurred_us,
        "offset_minutes": node.offset_minutes,
        "sequence": node.sequence,
        "ingested_us": node.ingested_us,
        "arrival": node.arrival,
        "digest": node.digest,
    }
    if node.parents:
        row["parents"] = list(node.parents)
    if node.entities:
        row["entities"] = list(node.entities)
    if node.mentions:
        row["mentions"] = list(node.mentions)
    if node.derived_from:
        row["derived_from"] = list(node.derived_from)
    if node.trace:
        row["trace"] = node.trace
    if node.trust is not Trust.NORMAL:
        row["trust"] = node.trust.value
    if node.dates:
        row["dates"] = encode_dates(node.dates)
    if node.attributes:
        row["attributes"] = orjson.dumps(node.attributes, option=orjson.OPT_NON_STR_KEYS).decode()
    return row


def row_bytes(row: Mapping[str, Any]) -> int:
    """Estimate the size of a row on the wire, in bytes; never too low for text outside ASCII."""
    text: str = row["text"]
    size = _ROW_BYTES + (len(text) if text.isascii() else len(text.encode(errors="surrogatepass")))
    size += 4 * (len(row.get("attributes", "")) + len(row.get("dates", "")))
    for name in _LISTS:
        if name in row:
            size += sum(4 * len(item) + 5 for item in row[name])
    return size


def event_node(row: Mapping[str, Any]) -> EventNode:
    """Give the event back from the properties of its node."""
    return EventNode(
        tenant=row["tenant"],
        id=row["id"],
        ref=row["ref"],
        source=row["source"],
        session=row["session"],
        agent=row["agent"],
        kind=EventKind(row["kind"]),
        text=row["text"],
        speaker=row["speaker"],
        occurred_us=row["occurred_us"],
        offset_minutes=row["offset_minutes"],
        sequence=row["sequence"],
        ingested_us=row["ingested_us"],
        arrival=row["arrival"],
        digest=row["digest"],
        parents=tuple(row.get("parents") or ()),
        entities=tuple(row.get("entities") or ()),
        mentions=tuple(row.get("mentions") or ()),
        dates=decode_dates(row.get("dates")),
        attributes=orjson.loads(row["attributes"]) if row.get("attributes") else {},
        trace=row.get("trace") or "",
        derived_from=tuple(row.get("derived_from") or ()),
        trust=Trust(row.get("trust") or Trust.NORMAL),
    )


def encode_dates(dates: tuple[DateSpan, ...]) -> str:
    """Write resolved phrases of time as JSON: a list of [phrase, start_us, end_us, precision]."""
    return orjson.dumps([[d.phrase, d.start_us, d.end_us, d.precision.value] for d in dates]).decode()


def decode_dates(stored: str | None) -> tuple[DateSpan, ...]:
    """Read what `encode_dates` wrote; nothing stored means no dates."""
    if not stored:
        return ()
    return tuple(DateSpan(phrase, start, end, Precision(name)) for phrase, start, end, name in orjson.loads(stored))
