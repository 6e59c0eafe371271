"""A batch on its way from the log to its acknowledgement."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from memory.records import Record
from streams.attempts import Worked
from streams.scope import Scope
from streams.watermark import Watermark

#: Bound on the keys and values of one batch, in bytes; one larger record is a batch of its own.
BATCH_BYTES = 8 * 1024 * 1024


class Batch:
    """Records in order for each partition, and what becomes of them.

    `watermark`: that of the assignment they were read in. `worked`: settled by the agent.
    """

    __slots__ = ("handling", "records", "settling", "started", "watermark", "worked")

    def __init__(self, records: Sequence[Record], watermark: Watermark) -> None:
        self.records = records
        self.watermark = watermark
        self.worked: asyncio.Future[Worked] = asyncio.get_running_loop().create_future()
        self.handling = Scope()
        self.settling = Scope()
        self.started = False

    @property
    def abandoned(self) -> bool:
        """Whether the batch was given up; it is never acknowledged and its records come again."""
        return self.settling.is_cut

    def abandon(self) -> None:
        """Give the batch up, whatever is being done with it."""
        self.handling.cut()
        self.settling.cut()


def size_bytes(record: Record) -> int:
    """Give the size of a record's key and value."""
    return (len(record.value) if record.value is not None else 0) + (len(record.key) if record.key is not None else 0)


def records_of(read: Mapping[TopicPartition, Sequence[ConsumerRecord]]) -> Iterator[Record]:
    """Give what one poll gave as records, partition by partition."""
    for (topic, partition), found in read.items():
        for raw in found:
            yield Record(topic, partition, raw.offset, raw.timestamp, raw.key, raw.value, raw.headers)
