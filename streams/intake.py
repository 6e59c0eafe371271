"""Intake: whatever producers send becomes a valid event in one form, keyed so that one partition owns its session."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType

from memory.errors import MalformedEvent, Poison
from memory.events import AgentEvent, decode_event
from memory.records import Handled, Outgoing, Record, Rejected, event_key, session_key
from memory.settings import Settings
from streams.admission import Admission, trust_headers
from streams.bounds import MAX_TRACE_BYTES, check_bounds
from streams.identity import (
    CONTENT_TYPE_HEADER,
    ID_HEADER,
    INGESTED_HEADER,
    TRACE_HEADERS,
    accepted_id,
    accepted_us,
    header,
)
from streams.producers import Producers

#: Reads a record into an event; the tenant is its header's or topic's, for a payload that names none.
Decoder = Callable[[Record, str | None], AgentEvent]


def _own_json(record: Record, tenant: str | None) -> AgentEvent:
    return decode_event(record.value, tenant=tenant)


#: What a record may be, by its content type; a record without one is our JSON.
DECODERS: Mapping[str, Decoder] = MappingProxyType({"": _own_json, "application/json": _own_json})


class IntakeHandler:
    """Stage `intake`. It keeps nothing: a batch is durable once what it gives out is acknowledged."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admission = Admission.of(settings)

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Give the valid events out on `memory.events` and reject the others; raises nothing."""
        return await asyncio.to_thread(take_in, records, self._settings, self._admission)


@asynccontextmanager
async def open_intake(settings: Settings) -> AsyncIterator[IntakeHandler]:
    """Open the handler of stage `intake`; raises `BadSetting` for rules that cannot be read."""
    yield IntakeHandler(settings)


def take_in(records: Sequence[Record], settings: Settings, admission: Admission | None = None) -> Handled:
    """Validate each record and give it its stored id; the same record gives the same bytes at every delivery."""
    admission = admission or Admission.of(settings)
    outgoing: list[Outgoing] = []
    rejected: list[Rejected] = []
    producers = Producers.of(settings)
    for record in records:
        try:
            tenant = producers.tenant_of(record)
            event = _decoder(record)(record, tenant)
            producers.check(event, tenant)
            check_bounds(settings, event, len(record.value or b""))
            event, trust = admission.admit(event, record)
            out = _canonical(event, record)
            outgoing.append(replace(out, headers=out.headers + trust_headers(trust)))
        except Poison as error:
            rejected.append(Rejected(record, error))
    return Handled(tuple(outgoing), tuple(rejected))


def _decoder(record: Record) -> Decoder:
    content_type = (header(record, CONTENT_TYPE_HEADER) or "").partition(";")[0].strip().lower()
    decoder = DECODERS.get(content_type)
    if decoder is None:
        raise MalformedEvent(f"content-type {content_type[:80]!r} is not understood: send {', '.join(DECODERS)[2:]}")
    return decoder


def _canonical(event: AgentEvent, record: Record) -> Outgoing:
    passed = tuple(
        (name, value) for name, value in record.headers if name in TRACE_HEADERS and len(value) <= MAX_TRACE_BYTES
    )
    ident = accepted_id(event, record)
    return Outgoing(
        key=event_key(event.tenant, event.session, ident),
        placed_by=session_key(event.tenant, event.session),
        value=event.model_dump_json(exclude_defaults=True).encode(),
        headers=(
            (ID_HEADER, ident.encode()),
            (INGESTED_HEADER, str(accepted_us(record)).encode()),
            *passed,
        ),
    )
