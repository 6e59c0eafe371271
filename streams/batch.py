"""A batch on its way from the log to its acknowledgement."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from memory.records import Record
from streams.attempts import Worked
from streams.scope import Scope

#: Bound on the keys and values of one batch, in bytes; one larger record is a batch of its own.
BATCH_BYTES = 8 * 1024 * 1024


class Batch:
    """Records in order for each partition, and what becomes of them.

    `ends`: for each partition the offset to commit, that of its last record plus one. `worked`: settled by the agent.
    """

    __slots__ = ("ends", "handling", "records", "settling", "started", "worked")

    def __init__(self, records: Sequence[Record], ends: Mapping[TopicPartition, int]) -> None:
        self.records = records
        self.ends = ends
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


def batches_of(read: Mapping[TopicPartition, Sequence[ConsumerRecord]]) -> Iterator[Batch]:
    """Make batches within `BATCH_BYTES` of what one poll gave."""
    records: list[Record] = []
    ends: dict[TopicPartition, int] = {}
    total_bytes = 0
    for place, found in read.items():
        topic, number = place
        for raw in found:
            value = raw.value
            size_bytes = (len(value) if value is not None else 0) + (len(raw.key) if raw.key is not None else 0)
            if total_bytes + size_bytes > BATCH_BYTES and records:
                yield Batch(records, ends)
                records, ends, total_bytes = [], {}, 0
            total_bytes += size_bytes
            records.append(Record(topic, number, raw.offset, raw.timestamp, raw.key, value, raw.headers))
            ends[place] = raw.offset + 1
    if records:
        yield Batch(records, ends)
