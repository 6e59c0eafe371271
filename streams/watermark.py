"""What may be acknowledged: of each partition, everything before the first record that is read and not yet settled.

Batches settle in the order in which they were made, but a record that waits for others of its session, or for its
tenant's budget, is overtaken by later ones. Its offset, and all after it, stay uncommitted until it is settled too.
"""

from collections.abc import Iterable

from aiokafka import TopicPartition

from memory.records import Record


class Watermark:
    """The records of one assignment of partitions; the next assignment gets its own, for it reads again."""

    def __init__(self) -> None:
        self._open: dict[TopicPartition, dict[int, None]] = {}
        self._next: dict[TopicPartition, int] = {}
        self._told: dict[TopicPartition, int] = {}

    def read(self, record: Record) -> None:
        """Note a record that was read; those of a partition come in rising order."""
        place = TopicPartition(record.topic, record.partition)
        self._open.setdefault(place, {})[record.offset] = None
        self._next[place] = record.offset + 1

    def settle(self, records: Iterable[Record]) -> dict[TopicPartition, int]:
        """Note records as settled; gives the offsets to commit, for each partition whose watermark has moved."""
        places: set[TopicPartition] = set()
        for record in records:
            place = TopicPartition(record.topic, record.partition)
            places.add(place)
            self._open.get(place, {}).pop(record.offset, None)
        ends = {place: next(iter(self._open[place]), self._next[place]) for place in places if place in self._next}
        moved = {place: end for place, end in ends.items() if end != self._told.get(place)}
        self._told |= moved
        return moved
