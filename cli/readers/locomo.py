"""LoCoMo samples (snap-research/locomo): a document with one sample or a list of them -> events.

Only the conversation is read. The sample's questions and its annotations (`qa`, `event_summary`, `observation`,
`session_summary`) are never looked at: a memory may not know them.

A sample is a tenant, `session_N` a session, the speaker is speaker and agent, the dialogue id ("D1:3") is the id, the
turn's number in its session the sequence. The file gives one time a session and no zone: each turn carries it, as UTC.
"""

import re
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO

import orjson

from cli.readers.items import BYTE_ORDER_MARK, ReadItem, encode_event
from memory.errors import Poison, UnreadableInput
from memory.events import validate_event

#: `source` of every event read from a sample.
SOURCE = "locomo"
#: A document is held whole, so it is bounded; the public file has about 3 MB.
MAX_DOCUMENT_BYTES = 256_000_000

_SESSION = re.compile(r"session_(0|[1-9][0-9]{0,8})")
_TIME = re.compile(
    r"\s*([0-9]{1,2}):([0-9]{2})\s*(am|pm)\s+on\s+([0-9]{1,2})\s+([a-z]+),?\s+([0-9]{4})\s*", re.IGNORECASE
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_locomo(stream: BinaryIO, tenant: str | None = None) -> Generator[ReadItem]:
    """Yield one item for each turn, session by session.

    With `tenant`, all samples go to that tenant; when there is more than one, ids and sessions are prefixed with the
    sample's id, because every sample has its own `session_1` and `D1:1`. Raises `UnreadableInput` when the document
    is not LoCoMo.
    """
    samples = _samples(stream)
    line = 0
    for sample in samples:
        name = _sample_id(sample, tenant)
        prefix = f"{name}/" if tenant is not None and len(samples) > 1 else ""
        for number, when, session in _sessions(sample["conversation"]):
            for sequence, turn in enumerate(session, start=1):
                line += 1
                yield _item(line, _event(turn, tenant or name, prefix, number, sequence, when))


def parse_session_time(text: str) -> datetime:
    """Parse a session's time, such as "1:56 pm on 8 May, 2023", as UTC; raises `ValueError` for anything else."""
    if (match := _TIME.fullmatch(text)) is None:
        raise ValueError(f"not a session time: {text!r}")
    hour, minute, half, day, month, year = match.groups()
    if not 1 <= int(hour) <= 12 or month[:3].lower() not in _MONTHS:
        raise ValueError(f"not a session time: {text!r}")
    hour24 = int(hour) % 12 + (12 if half.lower() == "pm" else 0)
    return datetime(int(year), _MONTHS.index(month[:3].lower()) + 1, int(day), hour24, int(minute), tzinfo=UTC)


def _samples(stream: BinaryIO) -> list[dict[str, Any]]:
    document = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(document) > MAX_DOCUMENT_BYTES:
        raise UnreadableInput(f"the document is over {MAX_DOCUMENT_BYTES} bytes", hint="split it by sample")
    try:
        found = orjson.loads(document.removeprefix(BYTE_ORDER_MARK))
    except orjson.JSONDecodeError as error:
        raise UnreadableInput(f"not a JSON document: {error.msg} at line {error.lineno}") from error
    samples = found if isinstance(found, list) else [found]
    if not samples or not all(isinstance(s, dict) and isinstance(s.get("conversation"), dict) for s in samples):
        raise UnreadableInput(
            "a JSON document that is not LoCoMo: it has no sample with a `conversation`",
            hint="events of our own format stand one a line; `jq -c '.[]' FILE` makes lines of a list",
        )
    return samples


def _sample_id(sample: dict[str, Any], tenant: str | None) -> str:
    name = sample.get("sample_id")
    if isinstance(name, str) and name:
        return name
    if tenant is None:
        raise UnreadableInput("a sample has no `sample_id`", hint="give its events a tenant with --tenant")
    return tenant


def _sessions(conversation: dict[str, object]) -> Iterator[tuple[int, object, list[object]]]:
    """Yield (number, time, turns) of each session that has turns, in order of its number."""
    numbers = sorted(int(match.group(1)) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        turns = conversation[f"session_{number}"]
        if isinstance(turns, list):
            yield number, conversation.get(f"session_{number}_date_time"), turns


def _event(turn: object, tenant: str, prefix: str, number: int, sequence: int, when: object) -> dict[str, object]:
    """Lay out the event of one turn; what the turn lacks is left out, for validation to name."""
    fields = turn if isinstance(turn, dict) else {}
    speaker = fields.get("speaker")
    event = {
        "id": f"{prefix}{fields['dia_id']}" if "dia_id" in fields else None,
        "source": SOURCE,
        "tenant": tenant,
        "agent": speaker,
        "session": f"{prefix}session_{number}",
        "kind": "message",
        "text": _text(fields),
        "speaker": speaker,
        "occurred_at": _occurred_at(when),
        "sequence": sequence,
    }
    return {name: value for name, value in event.items() if value is not None}


def _text(fields: dict[str, object]) -> str:
    """Give what was said, with the caption of a shared picture as part of it, marked."""
    text = str(fields.get("text") or "").strip()
    caption = str(fields.get("blip_caption") or "").strip()
    return f"{text} [photo: {caption}]".strip() if caption else text


def _occurred_at(when: object) -> str | None:
    """Give the session's time; None when the file has none or it is not one: a time is never invented."""
    try:
        return parse_session_time(when).isoformat() if isinstance(when, str) else None
    except ValueError:
        return None


def _item(line: int, laid_out: dict[str, object]) -> ReadItem:
    try:
        event = validate_event(laid_out)
    except Poison as error:
        return ReadItem(line, orjson.dumps(laid_out), None, str(error))
    return ReadItem(line, encode_event(event), event)
