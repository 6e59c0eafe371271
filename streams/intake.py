"""Intake: whatever producers send becomes a valid event in one form, keyed so that one partition owns its session."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType

from memory.errors import MalformedEvent, Poison
from memory.events import AgentEvent, decode_event
from memory.records import Handled, Outgoing, Record, Rejected, session_key
from memory.settings import Settings
from streams.identity import (
    CONTENT_TYPE_HEADER,
    ID_HEADER,
    INGESTED_HEADER,
    TRACE_HEADERS,
    accepted_id,
    accepted_us,
    header,
)

Decoder = Callable[[Record], AgentEvent]


def _own_json(record: Record) -> AgentEvent:
    return decode_event(record.value)


#: What a record may be, by its content type; a record without one is our JSON.
DECODERS: Mapping[str, Decoder] = MappingProxyType({"": _own_json, "application/json": _own_json})


class IntakeHandler:
    """Stage `intake`. It keeps nothing: a batch is durable once what it gives out is acknowledged."""

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Give the valid events out on `memory.events` and reject the others; raises nothing."""
        return await asyncio.to_thread(take_in, records)


@asynccontextmanager
async def open_intake(settings: Settings) -> AsyncIterator[IntakeHandler]:  # noqa: ARG001  the factories' signature
    """Open the handler of stage `intake`."""
    yield IntakeHandler()


def take_in(records: Sequence[Record]) -> Handled:
    """Validate each record and give it its stored id; the same record gives the same bytes at every delivery."""
    outgoing: list[Outgoing] = []
    rejected: list[Rejected] = []
    for record in records:
        try:
            event = _decoder(record)(record)
            outgoing.append(_canonical(event, record))
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
    passed = tuple((name, value) for name, value in record.headers if name in TRACE_HEADERS)
    return Outgoing(
        key=session_key(event.tenant, event.session),
        value=event.model_dump_json(exclude_defaults=True).encode(),
        headers=(
            (ID_HEADER, accepted_id(event, record).encode()),
            (INGESTED_HEADER, str(accepted_us(record)).encode()),
            *passed,
        ),
    )
