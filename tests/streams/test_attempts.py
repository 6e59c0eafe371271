"""Working a batch off: what is retried, what is halved, what becomes a letter; no broker needed."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import MalformedEvent, Misconfigured, Poison, RateLimited, StoreConflict, StoreUnavailable
from memory.records import Handled, Outgoing, Record, Rejected
from streams import retry
from streams.attempts import Attempts, Worked, leading
from streams.retry import Backoff, delay_s
from streams.state import DeliveryState, Need
from streams.topics import Stage


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "CAP_S", 0.001)


def record(number: int, value: bytes | None = b"v") -> Record:
    return Record("agent.events", 0, number, 0, b"k", value)


class Scripted:
    """Raises `Poison` when a bad record is in the call; before, fails as often as it was told."""

    def __init__(self, bad: set[int] = frozenset(), failures: Sequence[Exception] = ()) -> None:  # type: ignore[assignment]
        self.bad = bad
        self.failures = list(failures)
        self.durable: list[int] = []
        self.calls = 0

    async def handle(self, records: Sequence[Record]) -> Handled:
        self.calls += 1
        if self.failures:
            raise self.failures.pop()
        offsets = [record.offset for record in records]
        if self.bad & set(offsets):
            raise Poison("bad")
        self.durable += offsets
        return Handled(tuple(Outgoing(b"k", str(offset).encode()) for offset in offsets))


def attempts(handler: object, *, timeout_s: float = 5.0) -> tuple[Attempts, DeliveryState]:
    state = DeliveryState(Stage.INTAKE)
    return Attempts(handler, Backoff(state, Need.STORES), timeout_s=timeout_s), state  # type: ignore[arg-type]


def run(handler: object, records: Sequence[Record]) -> Worked:
    return asyncio.run(attempts(handler)[0].work_off(records))


@given(st.integers(1, 60), st.sets(st.integers(0, 59)))
@settings(max_examples=60, deadline=None)
def test_exactly_the_bad_records_become_letters_and_the_good_stay_in_order(count: int, bad: set[int]) -> None:
    handler = Scripted(bad)
    worked = run(handler, [record(number) for number in range(count)])
    expected = sorted(bad & set(range(count)))
    good = [number for number in range(count) if number not in bad]
    assert [letter.record.offset for letter in worked.letters] == expected
    assert handler.durable == good
    assert [int(outgoing.value) for outgoing in worked.outgoing] == good


def test_one_bad_record_costs_a_logarithm_of_calls() -> None:
    handler = Scripted({300})
    worked = run(handler, [record(number) for number in range(512)])
    assert len(worked.letters) == 1
    assert worked.letters[0].attempts == 10
    assert handler.calls == 19


@given(st.lists(st.sampled_from([StoreUnavailable, StoreConflict, RateLimited]), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_retryable_errors_never_make_a_letter(kinds: list[type[Exception]]) -> None:
    handler = Scripted(failures=[kind("away") for kind in kinds])
    worked = run(handler, [record(1), record(2)])
    assert worked.letters == ()
    assert handler.durable == [1, 2]
    assert handler.calls == len(kinds) + 1


async def test_what_is_missing_is_told_until_it_is_back() -> None:
    class Away(Scripted):
        async def handle(self, records: Sequence[Record]) -> Handled:
            if self.failures:
                self.seen = state.report()["waiting"]
            return await super().handle(records)

    handler = Away(failures=[StoreUnavailable("first"), StoreUnavailable("second"), StoreUnavailable("third")])
    working, state = attempts(handler)
    await working.work_off([record(1)])
    (waiting,) = handler.seen
    assert (waiting["missing"], waiting["attempts"], waiting["need"]) == ("second", 2, "stores")
    assert state.waiting == {}


async def test_a_batch_too_large_for_its_time_is_halved_until_it_fits() -> None:
    class Slow(Scripted):
        async def handle(self, records: Sequence[Record]) -> Handled:
            await asyncio.sleep(0.0 if len(records) <= 2 else 60.0)
            return await super().handle(records)

    handler = Slow()
    working, _ = attempts(handler, timeout_s=0.05)
    worked = await working.work_off([record(number) for number in range(8)])
    assert handler.durable == list(range(8))
    assert worked.letters == ()


async def test_a_timeout_of_the_handlers_own_is_not_taken_for_ours() -> None:
    working, _ = attempts(Scripted(failures=[TimeoutError("its own")]))
    with pytest.raises(TimeoutError, match="its own"):
        await working.work_off([record(1)])


async def test_what_the_handler_rejects_becomes_a_letter_with_its_error() -> None:
    class Picky(Scripted):
        async def handle(self, records: Sequence[Record]) -> Handled:
            return Handled(rejected=(Rejected(records[1], MalformedEvent("no session")),))

    working, _ = attempts(Picky())
    worked = await working.work_off([record(1), record(2)])
    (letter,) = worked.letters
    assert (letter.record.offset, letter.error.code, letter.attempts) == (2, "malformed_event", 1)


@pytest.mark.parametrize("error", [Misconfigured("a person"), ZeroDivisionError("nobody")])
async def test_what_waiting_cannot_mend_is_raised(error: Exception) -> None:
    working, _ = attempts(Scripted(failures=[error]))
    with pytest.raises(type(error)):
        await working.work_off([record(1)])


def test_of_several_errors_at_once_the_gravest_decides() -> None:
    bug, config, away, poison = KeyError("x"), Misconfigured("m"), StoreUnavailable("s"), Poison("p")
    assert leading(ExceptionGroup("", [poison, away, config, ExceptionGroup("", [bug])])) is bug
    assert leading(ExceptionGroup("", [poison, away, config])) is config
    assert leading(ExceptionGroup("", [poison, away])) is away


@given(st.integers(1, 10_000))
def test_a_wait_is_bounded_and_a_providers_wish_is_kept(tried: int) -> None:
    assert 0 <= delay_s(tried, StoreUnavailable("s")) <= max(retry.CAP_S, 5.0)
    assert delay_s(tried, RateLimited("r", retry_after_s=7.5)) >= 7.5
