"""Intake: whatever producers send becomes a valid event in one form, keyed so that one partition owns its session."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from memory.errors import Poison
from memory.events import AgentEvent
from memory.records import Handled, Outgoing, Record, Rejected, event_key, session_key
from memory.settings import Settings
from streams.admission import Admission, trust_headers
from streams.bounds import MAX_TRACE_BYTES, check_bounds
from streams.dialects import Dialects, Message
from streams.identity import ID_HEADER, INGESTED_HEADER, TRACE_HEADERS, accepted_id, accepted_us
from streams.producers import Producers


class IntakeHandler:
    """Stage `intake`. It keeps nothing: a batch is durable once what it gives out is acknowledged."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admission = Admission.of(settings)
        self._dialects = Dialects.of(settings)

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Give the valid events out on `memory.events` and reject the others; raises nothing."""
        return await asyncio.to_thread(take_in, records, self._settings, self._admission, self._dialects)


@asynccontextmanager
async def open_intake(settings: Settings) -> AsyncIterator[IntakeHandler]:
    """Open the handler of stage `intake`; raises `BadSetting` for rules that cannot be read."""
    yield IntakeHandler(settings)


def take_in(
    records: Sequence[Record],
    settings: Settings,
    admission: Admission | None = None,
    dialects: Dialects | None = None,
) -> Handled:
    """Validate each record and give its events their stored ids; the same record gives the same bytes each time."""
    admission = admission or Admission.of(settings)
    dialects = dialects or Dialects.of(settings)
    outgoing: list[Outgoing] = []
    rejected: list[Rejected] = []
    producers = Producers.of(settings)
    gate = _Gate(settings, producers, admission)
    for record in records:
        try:
            tenant = producers.tenant_of(record)
            found = dialects.read(record, tenant)
            if isinstance(found, AgentEvent):
                outgoing.append(gate.let_in(found, record, tenant, len(record.value or b"")))
            else:
                rejected += gate.let_in_each(found, record, tenant, outgoing)
        except Poison as error:
            rejected.append(Rejected(record, error))
    return Handled(tuple(outgoing), tuple(rejected))


@dataclass(frozen=True, slots=True)
class _Gate:
    """What every event must pass, whatever language it came in."""

    settings: Settings
    producers: Producers
    admission: Admission

    def let_in(self, event: AgentEvent, record: Record, tenant: str | None, size_bytes: int | None) -> Outgoing:
        """Give what is published for an event; `size_bytes`: None for one that is a part of its record."""
        self.producers.check(event, tenant)
        if size_bytes is None:
            size_bytes = len(event.model_dump_json(exclude_defaults=True).encode())
        check_bounds(self.settings, event, size_bytes)
        event, trust = self.admission.admit(event, record)
        out = _canonical(event, record)
        return replace(out, headers=out.headers + trust_headers(trust))

    def let_in_each(
        self, message: Message, record: Record, tenant: str | None, outgoing: list[Outgoing]
    ) -> list[Rejected]:
        """Give out a message's good events; its bad units together are one dead letter, with the first one's cause."""
        bad: dict[int, Poison] = {}
        for piece in message.pieces:
            try:
                if isinstance(piece.event, Poison):
                    raise piece.event
                outgoing.append(self.let_in(piece.event, record, tenant, None))
            except Poison as error:
                bad.setdefault(piece.unit, error)
        if not bad:
            return []
        units = len({piece.unit for piece in message.pieces})
        first = min(bad)
        cause = bad[first]
        told = type(cause)(f"{len(bad)} of {units} parts; part {first}: {cause.message}", hint=cause.hint)
        return [Rejected(message.rest(bad.keys()), told)]


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
