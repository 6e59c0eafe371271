"""Reading a topic from its earliest record to its present end, outside of any group."""

import asyncio
import time
from collections.abc import AsyncIterator

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from memory.records import Record
from memory.settings import Settings
from streams.admin import topic_partitions
from streams.batch import records_of
from streams.clients import REQUEST_TIMEOUT_S, kafka_away, make_consumer

#: A poll that gives nothing for so long has reached the end, in milliseconds.
QUIET_MS = 1_000


async def scan(settings: Settings, topic: str, *, most: int = 512) -> AsyncIterator[list[Record]]:
    """Give all records that the topic had when the scan began, in order for each partition, at most `most` at once.

    Records that come meanwhile may be among them. The end is where the broker says it is and nothing more comes: the
    local broker says less than there is. Raises `StoreUnavailable`; a topic that does not exist has no records.
    """
    begun_ms = time.time_ns() // 1_000_000
    places = [TopicPartition(topic, number) for number in range((await topic_partitions(settings)).get(topic, 0))]
    if not places:
        return
    consumer = make_consumer(settings, group=None)
    try:
        async with asyncio.timeout(REQUEST_TIMEOUT_S):
            await consumer.start()
            consumer.assign(places)
            await consumer.seek_to_beginning(*places)
            ends = await consumer.end_offsets(places)
        while True:
            read = await consumer.getmany(timeout_ms=QUIET_MS, max_records=most)
            records = list(records_of(read))
            if records:
                yield records
            if all(record.timestamp_ms > begun_ms for record in records):  # also when there are none
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    if all([await consumer.position(place) >= ends[place] for place in places]):
                        return
    except (KafkaError, TimeoutError, OSError) as error:
        raise kafka_away(settings, error) from error
    finally:
        await consumer.stop()
