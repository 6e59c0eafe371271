"""The way into `agent.events` for events that do not come by Kafka: checked as intake will check, then produced."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from memory.events import AgentEvent
from memory.records import Outgoing, Record, session_key
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.admission import Admission
from streams.identity import ID_HEADER
from streams.intake import take_in
from streams.producers import Producers
from streams.publisher import Publisher


@asynccontextmanager
async def open_door(settings: Settings) -> AsyncIterator[Callable[[Sequence[AgentEvent]], Awaitable[list[str]]]]:
    """Give what accepts events, on the running loop; its producer connects when it has something to send.

    Raises `BadSetting` for rules of intake that cannot be read.
    """
    admission = Admission.of(settings)
    async with Publisher.open(settings) as publisher:
        door = _Door(settings, admission, publisher)
        yield door.accept


class _Door:
    def __init__(self, settings: Settings, admission: Admission, publisher: Publisher) -> None:
        self._settings = settings
        self._admission = admission
        self._publisher = publisher
        self._producers = Producers.of(settings)
        self._topics = asyncio.Lock()
        self._ensured = False

    async def accept(self, events: Sequence[AgentEvent]) -> list[str]:
        """Produce the events and give their stored ids, once the brokers have acknowledged all.

        Raises the `Poison` with which intake would refuse the first bad one, and then sends none; `StoreUnavailable`
        when not all were acknowledged: some may have arrived.
        """
        placed, ids = await asyncio.to_thread(self._checked, events)
        async with self._topics:
            if not self._ensured:
                await ensure_topics(self._settings)
                self._ensured = True
        for topic, records in placed.items():
            await self._publisher.publish(topic, records)
        return ids

    def _checked(self, events: Sequence[AgentEvent]) -> tuple[dict[str, list[Outgoing]], list[str]]:
        placed: dict[str, list[Outgoing]] = {}
        records: list[Record] = []
        for event in events:
            # an event must have its id before it is in the log: it is answered with what it will be stored under
            named = event if event.id is not None else event.model_copy(update={"id": str(uuid.uuid4())})
            topic, headers = self._producers.place_for(named.tenant, self._settings)
            out = Outgoing(
                session_key(named.tenant, named.session), named.model_dump_json(exclude_defaults=True).encode(), headers
            )
            placed.setdefault(topic, []).append(out)
            records.append(Record(topic, 0, 0, 0, out.key, out.value, headers))
        handled = take_in(records, self._settings, self._admission)
        if handled.rejected:
            raise handled.rejected[0].error
        return placed, [dict(out.headers)[ID_HEADER].decode() for out in handled.outgoing]
