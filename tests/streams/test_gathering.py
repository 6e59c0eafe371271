"""When a session's window is due, what is in a batch, and that what is held stays bounded."""

import gc
import tracemalloc
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.records import Ingested, Postponed, Record, session_key
from memory.settings import LlmProvider, load_settings
from streams.batch import BATCH_BYTES
from streams.gathering import HELD_RECORDS, Gathering, Straight, Windows, gathering_of
from streams.topics import CONSOLIDATION, Stage
from streams.watermark import Watermark

POLICY = Gathering(events=4, quiet_s=1.0, age_s=3.0, batch_events=8)


def record(offset: int, session: str = "s", *, events: int = 1, partition: int = 0) -> Record:
    value = Ingested(tenant="t", session=session, ids=tuple(f"{session}-{offset}-{i}" for i in range(events)))
    return Record("memory.ingested", partition, offset, 0, session_key("t", session), value.encode())


def windows(**given_: int) -> Windows:
    return Windows(POLICY, **({"most_records": 512} | given_))


def offsets(records: list[Record]) -> list[int]:
    return [one.offset for one in records]


def test_a_window_is_due_when_its_session_is_quiet() -> None:
    held = windows()
    held.add([record(0)], 0.0)
    held.add([record(1)], 0.5)
    assert held.take(1.4) == []
    assert held.due_in_s(1.4) == pytest.approx(0.1)
    assert offsets(held.take(1.5)) == [0, 1]
    assert held.due_in_s(9.0) is None


def test_a_window_is_due_when_it_has_enough_events_and_others_wait_on() -> None:
    held = windows()
    held.add([record(0, "few"), record(1, "many", events=3), record(2, "many")], 0.0)
    assert offsets(held.take(0.0)) == [1, 2]
    assert held.held == 1
    assert held.take(0.0) == []


def test_a_session_that_is_never_quiet_is_due_by_its_age() -> None:
    held = windows()
    for tenths in range(0, 30, 10):
        held.add([record(tenths)], tenths / 10)
    assert held.take(2.9) == []
    assert offsets(held.take(3.0)) == [0, 10, 20]


def test_a_record_that_cannot_be_read_does_not_wait() -> None:
    held = windows()
    held.add([Record("memory.ingested", 0, 7, 0, b"k", b"not json")], 0.0)
    assert offsets(held.take(0.0)) == [7]


def test_a_batch_is_bounded_and_the_windows_due_longest_come_first() -> None:
    held = windows()
    for number in range(4):
        held.add([record(number, f"s{number}", events=3)], number / 10)
    assert offsets(held.take(5.0)) == [0, 1]
    assert offsets(held.take(5.0)) == [2, 3]


def test_a_postponed_tenant_waits_with_its_new_records_while_others_go_on() -> None:
    held = windows()
    mine = record(0, "mine")
    held.postpone([Postponed(mine, datetime.now(UTC) + timedelta(seconds=60))], 10.0)
    held.add([record(1, "mine"), record(2, "other")], 10.0)
    assert offsets(held.take(20.0)) == [2]
    count, resumes_in_s = held.postponed(20.0)
    assert count == 2
    assert resumes_in_s == pytest.approx(50.0, abs=1.0)
    assert offsets(held.take(71.0)) == [0, 1]
    assert held.postponed(71.0) == (0, 0.0)


def test_what_is_held_is_bounded_and_over_the_bound_nothing_waits_for_more() -> None:
    held = windows(most_records=HELD_RECORDS)
    held.add([record(number, f"s{number}") for number in range(HELD_RECORDS)], 0.0)
    assert held.full
    taken = held.take(0.0)
    assert len(taken) == POLICY.batch_events
    assert not held.full


def test_records_of_the_fast_path_are_given_on_as_they_come_within_the_bound_on_bytes() -> None:
    straight = Straight()
    big = [Record("t", 0, offset, 0, b"k", b"x" * (BATCH_BYTES // 2 + 1)) for offset in range(3)]
    straight.add(big, 0.0)
    straight.add([record(9)], 0.0)
    assert [offsets(straight.take(0.0)) for _ in range(5)] == [[0], [1], [2], [9], []]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 6), st.floats(0.0, 2.0)), max_size=60))
def test_every_record_is_given_once_and_a_sessions_records_in_order(
    arrivals: list[tuple[int, int, int, float]],
) -> None:
    held = windows()
    now_s = 0.0
    sent: dict[str, list[int]] = defaultdict(list)
    came: dict[str, list[int]] = defaultdict(list)

    def drain() -> None:
        while batch := held.take(now_s):
            assert [(one.partition, one.offset) for one in batch] == sorted(
                (one.partition, one.offset) for one in batch
            )
            for one in batch:
                came[f"{one.partition}-{one.key!r}"].append(one.offset)

    for offset, (session, partition, events, later_s) in enumerate(arrivals):
        now_s += later_s
        one = record(offset, f"s{session}-{partition}", events=events, partition=partition)
        sent[f"{partition}-{one.key!r}"].append(offset)
        held.add([one], now_s)
        drain()
    now_s += POLICY.age_s
    drain()
    assert came == sent
    assert held.held == 0


def test_only_stages_that_ask_a_model_wait_long_and_the_fast_path_never() -> None:
    rules = load_settings()
    model = rules.model_copy(update={"llm_provider": LlmProvider.OPENAI})
    assert gathering_of(Stage.INGEST, model) is None
    for stage in CONSOLIDATION:
        quick, slow = gathering_of(stage, rules), gathering_of(stage, model)
        assert quick is not None
        assert slow is not None
        assert quick.quiet_s == pytest.approx(0.2)
        assert slow.quiet_s == pytest.approx(2.0 if stage in {Stage.ENTITIES, Stage.CAUSAL} else 0.2)


def test_what_is_kept_does_not_grow_with_what_has_gone_through() -> None:
    held, watermark = windows(), Watermark()

    def through(start: int, number: int) -> None:
        for offset in range(start, start + number):
            one = record(offset, f"s{offset // 20}")
            watermark.read(one)
            held.add([one], offset / 10)
            while batch := held.take(offset / 10):
                watermark.settle(batch)

    mine = [tracemalloc.Filter(True, "*/streams/*"), tracemalloc.Filter(True, "*/memory/records.py")]

    def kept_bytes() -> int:
        gc.collect()
        return sum(found.size for found in tracemalloc.take_snapshot().filter_traces(mine).statistics("filename"))

    tracemalloc.start()
    try:
        through(0, 3_000)
        before_bytes = kept_bytes()
        through(3_000, 9_000)
        assert kept_bytes() - before_bytes < 50_000
    finally:
        tracemalloc.stop()
