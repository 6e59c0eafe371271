"""Which language a record is in."""

from dataclasses import dataclass

from memory.errors import MalformedEvent
from memory.events import AgentEvent, decode_event
from memory.records import Record
from memory.settings import Settings
from memory.settings_intake import OtherSpans
from memory.settings_privacy import SourceBy
from streams.dialects import cloudevents, otel, otlp
from streams.dialects.message import Message
from streams.identity import CONTENT_TYPE_HEADER
from streams.topics import Topic

_JSON = "application/json"
#: What a record's content type may be.
UNDERSTOOD = (_JSON, cloudevents.STRUCTURED, cloudevents.BATCH, *otlp.PROTOBUF)


@dataclass(frozen=True, slots=True)
class Dialects:
    """The languages under these settings. `otlp_topic`: every record there is OTLP."""

    otlp_topic: str
    otlp_source: str | None
    otlp_tenant: str
    otlp_observe: bool

    @classmethod
    def of(cls, settings: Settings) -> "Dialects":
        """Give what the settings say."""
        return cls(
            otlp_topic=Topic.AGENT_OTLP.name_in(settings),
            # where a header says which source counts, telemetry claims none
            otlp_source=None if settings.trust_source is SourceBy.HEADER else otel.SOURCE,
            otlp_tenant=settings.otlp_tenant_attribute,
            otlp_observe=settings.otlp_other is OtherSpans.OBSERVE,
        )

    def read(self, record: Record, tenant: str | None) -> AgentEvent | Message:
        """Read a record; `tenant` is its header's or topic's, for a payload that names none.

        Raises `MalformedEvent`, `OversizeEvent`, `TenantMismatch`.
        """
        of_otlp = record.topic == self.otlp_topic
        if not record.headers and not of_otlp:
            return decode_event(record.value, tenant=tenant)
        content_type, binary = _headers(record)
        if content_type in otlp.PROTOBUF:
            return self._otlp(record, tenant, json=False)
        if of_otlp and content_type in ("", _JSON):
            return self._otlp(record, tenant, json=True if content_type else None)
        if content_type == cloudevents.STRUCTURED:
            return cloudevents.read_structured(record, tenant)
        if content_type == cloudevents.BATCH:
            return cloudevents.read_batch(record, tenant)
        if binary and not content_type.startswith("application/cloudevents"):
            return cloudevents.read_binary(record, content_type, tenant)
        if content_type in ("", _JSON):
            return decode_event(record.value, tenant=tenant)
        raise MalformedEvent(f"content-type {content_type[:80]!r} is not understood: send {', '.join(UNDERSTOOD)}")

    def _otlp(self, record: Record, tenant: str | None, *, json: bool | None) -> Message:
        return otel.read_otlp(
            record,
            tenant,
            source=self.otlp_source,
            tenant_attribute=self.otlp_tenant,
            observe=self.otlp_observe,
            json=json,
        )


def _headers(record: Record) -> tuple[str, bool]:
    """Give the last content type, and whether the headers are those of a CloudEvent in binary mode."""
    content_type, binary = "", False
    for name, value in record.headers:
        if name == CONTENT_TYPE_HEADER:
            content_type = value.decode(errors="replace").partition(";")[0].strip().lower()
        elif name == cloudevents.VERSION_HEADER:
            binary = True
    return content_type, binary
