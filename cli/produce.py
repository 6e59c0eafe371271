"""Sends the events of a file to `agent.events`, batched, in the file's order for each session."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError, KafkaError, MessageSizeTooLargeError

from cli.readers import ReadItem
from memory.errors import StoreUnavailable
from memory.events import content_id, derive_id
from memory.records import session_key
from memory.settings import Settings
from streams.topics import Topic

#: Most records that wait for the broker's acknowledgement at one time.
IN_FLIGHT = 5_000
#: Largest record that is sent, in bytes; the topics are created with the same bound.
MAX_RECORD_BYTES = 8 * 1024 * 1024
ACK_TIMEOUT_S = 60.0


@dataclass(slots=True)
class Produced:
    """What was sent. `ids`: stored ids of the valid events by tenant, in the file's order, each once."""

    accepted: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)
    ids: dict[str, dict[str, None]] = field(default_factory=dict)

    @property
    def distinct(self) -> int:
        """Number of distinct valid events."""
        return sum(len(ids) for ids in self.ids.values())


async def produce(
    settings: Settings,
    items: Iterable[ReadItem],
    *,
    rate_per_s: float | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Produced:
    """Send every item and wait until the broker has acknowledged all of them.

    Invalid lines are sent untouched: the pipeline dead-letters them with the reason; only what no broker would take is
    left out. `rate_per_s` bounds the events sent each second. Raises `StoreUnavailable` when the broker is away.
    """
    topic = Topic.AGENT_EVENTS.name_in(settings)
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.kafka_bootstrap,
        acks="all",
        linger_ms=5,
        max_batch_size=256 * 1024,
        max_request_size=MAX_RECORD_BYTES + 64 * 1024,
        enable_idempotence=settings.kafka_idempotent,
    )
    try:
        await producer.start()
    except KafkaConnectionError as error:
        await producer.stop()
        raise _away(settings) from error
    produced = Produced()
    waiting: deque[asyncio.Future[object]] = deque()
    started = time.monotonic()
    sent = 0
    try:
        for item in items:
            _account(produced, item)
            if not item.producible or len(item.raw) > MAX_RECORD_BYTES:
                continue
            key = session_key(item.event.tenant, item.event.session) if item.event else None
            waiting.append(await producer.send(topic, item.raw, key=key))
            sent += 1
            if len(waiting) >= IN_FLIGHT:
                await asyncio.wait_for(waiting.popleft(), ACK_TIMEOUT_S)
            if sent % 100 == 0:
                progress(sent)
            if rate_per_s:
                ahead_s = sent / rate_per_s - (time.monotonic() - started)
                if ahead_s > 0.002:
                    await asyncio.sleep(ahead_s)
        while waiting:
            await asyncio.wait_for(waiting.popleft(), ACK_TIMEOUT_S)
        progress(sent)
    except MessageSizeTooLargeError as error:
        raise StoreUnavailable(
            f"the broker refuses a record of this size on {topic}", hint="raise max.message.bytes of the topic to 8 MiB"
        ) from error
    except (KafkaError, TimeoutError) as error:
        raise _away(settings) from error
    finally:
        await producer.stop()
    return produced


def _account(produced: Produced, item: ReadItem) -> None:
    """Count an item, and note the id under which it will be stored."""
    event = item.event
    if event is None:
        produced.rejected += 1
        produced.problems.append(f"line {item.line}: {item.problem}")
        return
    produced.accepted += 1
    if event.id is not None:
        stored = derive_id(event.tenant, event.source, event.id)
    elif event.sequence is not None:
        stored = content_id(event, str(event.sequence))
    else:  # readers give every event an id, so that a second ingest of the same file is recognised
        raise AssertionError(f"line {item.line}: the reader gave an event without an id")
    produced.ids.setdefault(event.tenant, {})[stored] = None


def _away(settings: Settings) -> StoreUnavailable:
    return StoreUnavailable(
        f"Kafka at {settings.kafka_bootstrap} does not answer", hint="start it, or `magma up` for the local stack"
    )
