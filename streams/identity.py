"""The ids of events on their way, and the headers that carry what must not change when a record comes again."""

import uuid

from memory.errors import MalformedEvent
from memory.events import AgentEvent, content_id, derive_id
from memory.records import Record

#: On `memory.events`: the stored id, and when the event was first accepted, in microseconds since 1970 UTC.
ID_HEADER = "magma-id"
INGESTED_HEADER = "magma-ingested-us"
#: On a redriven record: the place (`Record.place`) where it stood first, so that it keeps its id.
PLACE_HEADER = "magma-place"
#: W3C trace context, passed through.
TRACE_HEADERS = ("traceparent", "tracestate")
CONTENT_TYPE_HEADER = "content-type"


def header(record: Record, name: str) -> str | None:
    """Give the last header of this name as text, None when there is none."""
    for key, value in reversed(record.headers):
        if key == name:
            return value.decode(errors="replace")
    return None


def accepted_id(event: AgentEvent, record: Record) -> str:
    """Give the id under which an event that comes from outside will be stored.

    An event without an id gets one from its content and its place: the producer's sequence, else where its record
    stands, or stood before it was redriven.
    """
    if event.id is not None:
        return derive_id(event.tenant, event.source, event.id)
    sequence = event.sequence
    place = str(sequence) if sequence is not None else header(record, PLACE_HEADER) or record.place
    return content_id(event, place)


def stored_id(event: AgentEvent, record: Record) -> str:
    """Give the id of an event of `memory.events`: intake's word for an event without an id of its own.

    Raises `MalformedEvent` when that word is not an id.
    """
    given = header(record, ID_HEADER)
    if event.id is not None or given is None:
        return accepted_id(event, record)
    try:
        return str(uuid.UUID(given))
    except ValueError as error:
        raise MalformedEvent(f"the header {ID_HEADER} is not an id") from error


def accepted_us(record: Record) -> int:
    """Give when the record's event was first accepted, in microseconds since 1970 UTC; the same at every delivery."""
    given = header(record, INGESTED_HEADER)
    if given is not None and given.isascii() and given.isdigit() and len(given) < 19:
        return int(given)
    return max(0, record.timestamp_ms) * 1_000
