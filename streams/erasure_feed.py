"""The orders of `memory.erasures` for a process that only has to know of them: no group, no offsets."""

import asyncio
from collections.abc import AsyncGenerator

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from memory.erasure import Erasure, decode_erasure
from memory.errors import Poison
from memory.records import Record
from memory.settings import Settings
from streams.admin import topic_partitions
from streams.batch import records_of
from streams.clients import REQUEST_TIMEOUT_S, kafka_away, make_consumer
from streams.topics import Topic

#: Longest wait for records before an empty turn is given, in milliseconds.
TURN_MS = 1_000
#: Wait for a topic that nobody has made yet, in seconds.
_NO_TOPIC_S = 10.0


async def orders(settings: Settings) -> AsyncGenerator[tuple[Erasure, ...], None]:
    """Give every order from the earliest on, and go on as they come; an empty turn about once a second.

    What is no order is left out: the stage that carries orders out dead-letters it. Raises `StoreUnavailable`.
    """
    topic = Topic.MEMORY_ERASURES.name_in(settings)
    while not (count := (await topic_partitions(settings)).get(topic, 0)):
        yield ()
        await asyncio.sleep(_NO_TOPIC_S)
    consumer = make_consumer(settings, group=None)
    try:
        places = [TopicPartition(topic, number) for number in range(count)]
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            await consumer.start()
            consumer.assign(places)
            await consumer.seek_to_beginning(*places)
        while True:
            read = await consumer.getmany(timeout_ms=TURN_MS)
            yield tuple(order for record in records_of(read) if (order := _decoded(record)) is not None)
    except (KafkaError, TimeoutError, OSError) as error:
        raise kafka_away(settings, error) from error
    finally:
        await consumer.stop()


def _decoded(record: Record) -> Erasure | None:
    try:
        return decode_erasure(record.value)
    except Poison:
        return None
