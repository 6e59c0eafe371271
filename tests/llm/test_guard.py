"""What stands between a process and a provider: absence, buckets, a circuit breaker."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import CircuitOpen, RateLimited, StoreUnavailable
from memory.llm.guard import BREAKER, LONGEST_WAIT_S, Guard, guard_of
from memory.llm.limiter import MAX_TENANTS, Buckets
from memory.llm.openai_errors import Unanswered, retry_after_s
from memory.settings import Settings, load_settings
from streams.state import DeliveryState, Need, Phase
from streams.topics import Stage

NOW = datetime(2026, 3, 3, 8, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    now_s = 1.0

    def monotonic(self) -> float:
        return self.now_s


def settings(**given: object) -> Settings:
    return load_settings(openai_base_url="http://127.0.0.1:9/v1", **given)


def refusal(**headers: str) -> openai.RateLimitError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx.Response(429, headers=named, request=httpx.Request("POST", "http://127.0.0.1:9/v1"))
    return openai.RateLimitError("no", response=response, body=None)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0.25"}, 0.25),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry_after": format_datetime(NOW - timedelta(days=1), usegmt=True)}, 0.0),
        ({"retry_after": "Tue, 03 Mar 2026 08:00:30 -0000"}, 30.0),
        ({"retry_after": "-3"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
def test_a_wish_to_wait_is_read_in_seconds_milliseconds_and_as_a_date(
    headers: dict[str, str], wait_s: float | None
) -> None:
    assert retry_after_s(refusal(**headers), now=NOW) == wait_s


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40))
def test_no_header_whatever_it_says_breaks_the_reading_of_it(value: str) -> None:
    wait_s = retry_after_s(refusal(retry_after=value), now=NOW)
    assert wait_s is None or 0 <= wait_s < float("inf")


async def fail(guard: Guard, error: Exception, tenant: str = "t") -> None:
    with pytest.raises(type(error)):
        async with guard.call(tenant, 10):
            raise error


async def test_a_provider_that_asked_to_be_left_alone_is_called_by_nobody() -> None:
    guard = Guard(settings())
    await fail(guard, RateLimited("no", retry_after_s=500))
    with pytest.raises(RateLimited, match="asked for no calls") as caught:
        async with guard.call("another", 10):
            pytest.fail("nobody may call")
    assert caught.value.retry_after_s == LONGEST_WAIT_S


async def test_failures_open_the_circuit_one_probe_closes_it_and_a_failed_probe_makes_the_wait_longer() -> None:
    clock = Clock()
    guard = Guard(settings(), clock=clock)
    for _ in range(BREAKER.minimum_number_of_calls):
        await fail(guard, Unanswered("down"))
    with pytest.raises(CircuitOpen, match=r"127\.0\.0\.1:9") as caught:
        async with guard.call("t", 10):
            pytest.fail("the circuit is open")
    assert caught.value.retry_after_s == pytest.approx(15)
    assert "down" in str(caught.value)
    clock.now_s += 16
    await fail(guard, Unanswered("still down"))
    with pytest.raises(CircuitOpen) as caught:
        async with guard.call("t", 10):
            pytest.fail("the circuit is open again")
    assert caught.value.retry_after_s == pytest.approx(30)
    clock.now_s += 31
    async with guard.call("t", 10):
        with pytest.raises(CircuitOpen):  # one probe at a time
            async with guard.call("t", 10):
                pytest.fail("a second probe")
    async with guard.call("t", 10):
        pass


async def test_what_a_provider_says_of_itself_is_no_failure_of_it_and_neither_is_our_stop() -> None:
    guard = Guard(settings())
    for error in (RateLimited("no"), StoreUnavailable("the graph is away"), ValueError("ours")) * 4:
        await fail(guard, error)
    for _ in range(6):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0), guard.call("t", 10):
                await asyncio.sleep(60)
    async with guard.call("t", 10):
        pass


async def test_a_tenant_that_has_used_its_minute_waits_and_another_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.llm.guard.PATIENCE_S", 0.05)
    guard = Guard(settings(llm_requests_per_minute=2))
    for _ in range(2):
        async with guard.call("busy", 10):
            pass
    with pytest.raises(RateLimited, match="tenant busy"):
        async with guard.call("busy", 10):
            pytest.fail("over the rate")
    async with guard.call("other", 10):
        pass


async def test_tokens_of_a_minute_are_bounded_and_one_huge_call_still_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.llm.guard.PATIENCE_S", 0.05)
    guard = Guard(settings(llm_tokens_per_minute=100))
    async with guard.call("t", 100_000):
        pass
    with pytest.raises(RateLimited):
        async with guard.call("t", 1):
            pytest.fail("the minute is used up")


async def test_no_more_calls_than_allowed_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(settings(llm_concurrency=2))
    open_now = most = 0

    async def one() -> None:
        nonlocal open_now, most
        async with guard.call("t", 1):
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0)
            open_now -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(one())
    assert most == 2


async def test_buckets_are_bounded_in_number() -> None:
    buckets = Buckets(60, None)
    for at in range(MAX_TENANTS + 10):
        await buckets.take(f"t{at}", 1)
    assert len(buckets._of) == MAX_TENANTS


async def test_one_loop_has_one_guard_for_a_provider() -> None:
    assert guard_of(settings()) is guard_of(settings())
    assert guard_of(settings()) is not guard_of(load_settings(openai_base_url="http://127.0.0.1:10/v1"))


async def test_a_worker_that_waits_for_a_provider_says_for_which_and_why_when_asked_whether_it_is_ready() -> None:
    guard = Guard(settings())
    for _ in range(BREAKER.minimum_number_of_calls):
        await fail(guard, Unanswered("down"))
    state = DeliveryState(Stage.CAUSAL, Phase.RUNNING)
    with pytest.raises(CircuitOpen) as caught:
        async with guard.call("t", 10):
            pytest.fail("the circuit is open")
    state.wait_for(Need.STORES, caught.value)
    (waiting,) = state.report()["waiting"]
    assert not state.ready
    assert waiting["code"] == "circuit_open"
    assert "127.0.0.1:9" in waiting["missing"]
