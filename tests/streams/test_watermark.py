"""What may be acknowledged, in whatever order records are settled."""

from aiokafka import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from memory.records import Record
from streams.watermark import Watermark


def record(offset: int, partition: int = 0) -> Record:
    return Record("t", partition, offset, 0, None, b"")


@given(st.data())
def test_no_offset_is_given_before_everything_in_front_of_it_is_settled(data: st.DataObject) -> None:
    offsets = sorted(data.draw(st.sets(st.integers(0, 40), min_size=1)))
    left = list(data.draw(st.permutations(offsets)))
    watermark = Watermark()
    for offset in offsets:
        watermark.read(record(offset))
    committed = offsets[0]
    while left:
        size = data.draw(st.integers(1, len(left)))
        part, left = left[:size], left[size:]
        ends = watermark.settle(record(offset) for offset in part)
        committed = ends.get(TopicPartition("t", 0), committed)
        assert all(committed <= offset for offset in left)
        assert all(
            offset in part or offset < committed or offset > min(left) for offset in offsets if offset not in left
        )
    assert committed == offsets[-1] + 1


def test_partitions_do_not_hold_each_other_back_and_an_end_is_told_once() -> None:
    watermark = Watermark()
    for offset in (0, 1):
        for partition in (0, 1):
            watermark.read(record(offset, partition))
    assert watermark.settle([record(1, 0), record(0, 1)]) == {TopicPartition("t", 1): 1, TopicPartition("t", 0): 0}
    assert watermark.settle([record(0, 0)]) == {TopicPartition("t", 0): 2}
    assert watermark.settle([record(1, 1)]) == {TopicPartition("t", 1): 2}
    watermark.read(record(2, 0))
    watermark.read(record(3, 0))
    assert watermark.settle([record(3, 0)]) == {}
