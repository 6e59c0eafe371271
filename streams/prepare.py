"""From records of `memory.events` to what the stores take: pure, a batch at a time, for a thread.

A batch may hold an event twice. The first of two with one id is taken; a second that says something else is rejected.
"""

import uuid
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory.dates import find_dates
from memory.errors import ConflictingEvent, Poison
from memory.events import AgentEvent, EventNode, content_digest, decode_event, derive_id, to_us
from memory.names import normal_form, provisional_names
from memory.records import Record, Rejected
from memory.text import document_keywords, document_text
from memory.vectors import VectorRow, vector_row
from streams.admission import trust_of
from streams.identity import accepted_us, stored_id

#: Most resolved phrases of time that are kept of one event.
MAX_DATES = 64


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch ready for both stores but for its vectors: nodes, each once, and what is embedded and indexed of them.

    `records`: for each node every record of the batch that carries it.
    """

    nodes: tuple[EventNode, ...]
    texts: tuple[str, ...]
    keywords: tuple[str, ...]
    records: tuple[tuple[Record, ...], ...]
    rejected: tuple[Rejected, ...]

    def without(self, uids: Set[str]) -> "Prepared":
        """Give the batch without these events."""
        if not uids:
            return self
        kept = [place for place, node in enumerate(self.nodes) if node.uid not in uids]
        return Prepared(
            tuple(self.nodes[place] for place in kept),
            tuple(self.texts[place] for place in kept),
            tuple(self.keywords[place] for place in kept),
            tuple(self.records[place] for place in kept),
            self.rejected,
        )

    def rows(self, vectors: NDArray[np.float32]) -> list[VectorRow]:
        """Give the rows of the vector store; `vectors`: one for each text, in order."""
        return [
            vector_row(node, keywords, vector)
            for node, keywords, vector in zip(self.nodes, self.keywords, vectors, strict=True)
        ]


def prepare(records: Sequence[Record]) -> Prepared:
    """Decode and prepare a batch; what is not a valid event is rejected. Costs 0.1 to 0.2 ms of CPU an event."""
    nodes: dict[str, EventNode] = {}
    carriers: dict[str, list[Record]] = {}
    rejected: list[Rejected] = []
    for record in records:
        if record.value is None:
            continue  # a tombstone: its event was erased
        try:
            event = decode_event(record.value)
            ident = stored_id(event, record)
            uid = f"{event.tenant}|{ident}"
            if uid not in nodes:
                node = event_node(event, ident, arrival=record.offset, ingested_us=accepted_us(record))
                nodes[uid] = replace(node, trust=trust_of(record))
            elif nodes[uid].digest != content_digest(event):
                raise conflict(nodes[uid])
            carriers.setdefault(uid, []).append(record)
        except Poison as error:
            rejected.append(Rejected(record, error))
    return Prepared(
        nodes=tuple(nodes.values()),
        texts=tuple(document_text(node) for node in nodes.values()),
        keywords=tuple(document_keywords(node) for node in nodes.values()),
        records=tuple(tuple(carriers[uid]) for uid in nodes),
        rejected=tuple(rejected),
    )


def event_node(event: AgentEvent, ident: str, *, arrival: int, ingested_us: int) -> EventNode:
    """Give the node of an event. `parent` and `caused_by` become stored ids, the parent first, each once."""
    tenant, source = event.tenant, event.source
    offset = event.occurred_at.utcoffset()
    named = [] if event.parent is None else [event.parent]
    parents = (derive_id(tenant, source, name) for name in (*named, *event.caused_by))
    return EventNode(
        tenant=tenant,
        id=ident,
        ref=event.id if event.id is not None else ident.replace("-", "")[:12],
        source=source or "",
        session=event.session,
        agent=event.agent,
        kind=event.kind,
        text=event.text,
        speaker=event.speaker or "",
        occurred_us=to_us(event.occurred_at),
        offset_minutes=0 if offset is None else int(offset.total_seconds() // 60),
        sequence=-1 if event.sequence is None else event.sequence,
        ingested_us=ingested_us,
        arrival=arrival,
        digest=content_digest(event),
        parents=tuple(parent for parent in dict.fromkeys(parents) if parent != ident),
        entities=event.entities,
        mentions=tuple(_mentions(event)),
        dates=tuple(find_dates(event.text, event.occurred_at)[:MAX_DATES]),
        attributes=event.attributes,
        trace=event.trace or "",
        derived_from=tuple(dict.fromkeys(_origin(tenant, source, name) for name in event.derived_from)),
    )


def conflict(stored: EventNode) -> ConflictingEvent:
    """Give the error for an event that has the id of another one."""
    return ConflictingEvent(
        f"the id {stored.ref!r} is taken by another event of session {stored.session!r}; the first one stays"
    )


def _origin(tenant: str, source: str | None, name: str) -> str:
    """Give the stored id of an origin: as an answer shows it, for an origin may be another source's, or the producer's.

    Stored ids are UUIDs of version 5; producers make others.
    """
    try:
        given = uuid.UUID(name)
    except ValueError:
        return derive_id(tenant, source, name)
    return str(given) if given.version == 5 else derive_id(tenant, source, name)


def _mentions(event: AgentEvent) -> Iterable[str]:
    """Give the normal forms of the names in an event: given by the producer, the speaker's, found in the text."""
    given = [*event.entities] if event.speaker is None else [*event.entities, event.speaker]
    keys = [normal_form(name) for name in given]
    keys += (span.key for span in provisional_names(event.text, known=frozenset(keys)))
    return (key for key in dict.fromkeys(keys) if key)
