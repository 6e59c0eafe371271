"""How far behind the log's end a stage is, and whether it reads at all."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError, KafkaError

from memory.settings import Settings
from streams import metrics
from streams.clients import REQUEST_TIMEOUT_S, kafka_away
from streams.state import DeliveryState, Need

#: How often the ends of the partitions are asked for, in seconds.
EVERY_S = 5.0


async def watch_lag(consumer: AIOKafkaConsumer, state: DeliveryState, settings: Settings) -> None:
    """Keep the lag metric, and note in the state since when there have been records that nobody reads.

    An end that is too low, as the local broker gives it, can hide lag and never invents it.
    """
    before: dict[TopicPartition, int] = {}
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                places = consumer.assignment()
                ends = await consumer.end_offsets(places) if places else {}
                positions = {place: await consumer.position(place) for place in places}
        except IllegalStateError:
            continue  # a rebalance: no number is better than a wrong one
        except (KafkaError, TimeoutError, OSError) as error:
            state.wait_for(Need.INPUT, kafka_away(settings, error))
            continue
        state.resume(Need.INPUT)
        lag = {place: max(0, end - positions[place]) for place, end in ends.items()}
        for place, records in lag.items():
            metrics.LAG.labels(state.stage.value, str(place.partition)).set(records)
        unread = any(records and positions[place] == before.get(place) for place, records in lag.items())
        if not unread or state.pending or state.held:  # what is held may be why nothing is read
            state.unread_since_s = None
        elif state.unread_since_s is None:
            state.unread_since_s = time.monotonic()
        before = positions
