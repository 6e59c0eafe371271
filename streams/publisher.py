"""Publishing: records go out in batches of their partition, and count only when the broker has acknowledged them.

The partition is the murmur2 hash of the key modulo their number, as every Kafka client has it, so a key stays on the
same partition number across the `memory.*` topics. Whole batches cost a tenth of the CPU of sending record by record.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    MessageSizeTooLargeError,
    TopicAuthorizationFailedError,
)
from aiokafka.partitioner import DefaultPartitioner

from memory.errors import Misconfigured
from memory.settings import Settings
from streams.clients import REQUEST_TIMEOUT_S, kafka_away, make_producer
from streams.scope import apart

#: Bound on the acknowledgement of one call's records, in seconds; the client itself retries within it.
ACK_TIMEOUT_S = 2 * REQUEST_TIMEOUT_S
CLOSE_TIMEOUT_S = 2.0

_log = logging.getLogger(__name__)


class Sendable(Protocol):
    """What can be published: an `Outgoing`, or a `Record` again. A value of None is a tombstone."""

    @property
    def key(self) -> bytes | None:
        """The record's key."""
        ...

    @property
    def value(self) -> bytes | None:
        """The record's value."""
        ...

    @property
    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """The record's headers."""
        ...


class Publisher:
    """Sends records and waits for all acknowledgements; a producer that failed for good is replaced by a new one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()
        self._partitioner = DefaultPartitioner()
        self._spread = count()

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator["Publisher"]:
        """Give a publisher for the running loop, closed after use; it connects when it first has something to send."""
        publisher = cls(settings)
        try:
            yield publisher
        finally:
            await publisher._close()

    async def publish(self, topic: str, records: Sequence[Sendable]) -> None:
        """Send the records to their key's partition and wait until all are acknowledged by all replicas.

        Raises `StoreUnavailable` when that did not happen (some may have arrived), `Misconfigured` when the topic
        refuses records of this size.
        """
        if not records:
            return
        async with self._acknowledged(topic) as producer:
            partitions = sorted(await producer.partitions_for(topic))
            placed: dict[int, list[Sendable]] = {}
            for record in records:
                key = getattr(record, "placed_by", None) or record.key
                placed.setdefault(self._partition(key, partitions), []).append(record)
            await apart(_send(producer, topic, placed))

    async def publish_to(self, topic: str, pairs: Sequence[tuple[int, Sendable]]) -> None:
        """As `publish`, but each record comes with the number of its partition (modulo the topic's)."""
        if not pairs:
            return
        async with self._acknowledged(topic) as producer:
            partitions = sorted(await producer.partitions_for(topic))
            grouped: dict[int, list[Sendable]] = {}
            for number, record in pairs:
                grouped.setdefault(partitions[number % len(partitions)], []).append(record)
            await apart(_send(producer, topic, grouped))

    def _partition(self, key: bytes | None, partitions: list[int]) -> int:
        if key is None:
            return partitions[next(self._spread) % len(partitions)]
        return int(self._partitioner(key, partitions, partitions))

    @asynccontextmanager
    async def _acknowledged(self, topic: str) -> AsyncIterator[AIOKafkaProducer]:
        """Give a connected producer, and say in our own errors what went wrong with it."""
        try:
            async with asyncio.timeout(ACK_TIMEOUT_S):
                yield await self._connected()
        except (KafkaError, TimeoutError, OSError, BaseExceptionGroup) as error:
            problem = _first(error)
            if isinstance(problem, MessageSizeTooLargeError):
                raise Misconfigured(
                    f"topic {topic} refuses a record of this size", hint="raise its max.message.bytes"
                ) from error
            if isinstance(problem, TopicAuthorizationFailedError | ClusterAuthorizationFailedError):
                raise Misconfigured(f"not allowed to write to topic {topic}", hint="grant it on the broker") from error
            if not isinstance(problem, KafkaError | TimeoutError | OSError):
                raise
            if not (isinstance(problem, KafkaError) and problem.retriable):
                await self._close()
            raise kafka_away(self._settings, problem) from error

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                producer = make_producer(self._settings)
                try:
                    await producer.start()
                except BaseException:  # also a cancellation: a producer that did not start still holds sockets
                    await _stop(producer)
                    raise
                self._producer = producer
            return self._producer

    async def _close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await _stop(producer)


async def _send(producer: AIOKafkaProducer, topic: str, placed: Mapping[int, Sequence[Sendable]]) -> None:
    async with asyncio.TaskGroup() as group:
        for partition, records in placed.items():
            group.create_task(_send_partition(producer, topic, partition, records))


async def _send_partition(producer: AIOKafkaProducer, topic: str, partition: int, records: Sequence[Sendable]) -> None:
    """Send one partition's records in order: a batch goes when the one before it is on its way."""
    acknowledgements = []
    batch = producer.create_batch()
    for record in records:
        fields = {"key": record.key, "value": record.value, "timestamp": None, "headers": list(record.headers)}
        if batch.append(**fields) is None:
            batch.close()
            acknowledgements.append(await producer.send_batch(batch, topic, partition=partition))
            batch = producer.create_batch()
            batch.append(**fields)  # an empty batch takes a record of any size
    batch.close()
    acknowledgements.append(await producer.send_batch(batch, topic, partition=partition))
    for acknowledgement in acknowledgements:
        await acknowledgement


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _stop(producer: AIOKafkaProducer) -> None:
    """Close the producer; nothing waits in it, for every call waits for its acknowledgements."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await producer.stop()
    except (KafkaError, TimeoutError, OSError) as error:
        _log.debug("the producer did not close: %r", error)  # the broker is away: nobody is left to tell
