"""Which language a record is in."""

from dataclasses import dataclass

from memory.errors import MalformedEvent
from memory.events import AgentEvent, decode_event
from memory.records import Record
from memory.settings import Settings
from streams.dialects import cloudevents
from streams.dialects.message import Message
from streams.identity import CONTENT_TYPE_HEADER

_JSON = "application/json"
#: What a record's content type may be.
UNDERSTOOD = (_JSON, cloudevents.STRUCTURED, cloudevents.BATCH)


@dataclass(frozen=True, slots=True)
class Dialects:
    """The languages under these settings."""

    @classmethod
    def of(cls, _: Settings) -> "Dialects":
        """Give what the settings say."""
        return cls()

    def read(self, record: Record, tenant: str | None) -> AgentEvent | Message:
        """Read a record; `tenant` is its header's or topic's, for a payload that names none.

        Raises `MalformedEvent`, `OversizeEvent`, `TenantMismatch`.
        """
        if not record.headers:
            return decode_event(record.value, tenant=tenant)
        content_type, binary = _headers(record)
        if content_type == cloudevents.STRUCTURED:
            return cloudevents.read_structured(record, tenant)
        if content_type == cloudevents.BATCH:
            return cloudevents.read_batch(record, tenant)
        if binary and not content_type.startswith("application/cloudevents"):
            return cloudevents.read_binary(record, content_type, tenant)
        if content_type in ("", _JSON):
            return decode_event(record.value, tenant=tenant)
        raise MalformedEvent(f"content-type {content_type[:80]!r} is not understood: send {', '.join(UNDERSTOOD)}")


def _headers(record: Record) -> tuple[str, bool]:
    """Give the last content type, and whether the headers are those of a CloudEvent in binary mode."""
    content_type, binary = "", False
    for name, value in record.headers:
        if name == CONTENT_TYPE_HEADER:
            content_type = value.decode(errors="replace").partition(";")[0].strip().lower()
        elif name == cloudevents.VERSION_HEADER:
            binary = True
    return content_type, binary
