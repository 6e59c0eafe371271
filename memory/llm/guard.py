"""What stands between this process and one provider: buckets, a bound on open calls, a circuit breaker.

Every user of a provider on an event loop shares one guard: two stages in a worker are one client to the provider.
The breaker is interlock's: it opens on a share of failures, lets a single probe through after its wait, waits longer
when the probe fails, says when to come again, and takes a clock for tests. (pybreaker knows Tornado only; purgatory
lets everybody through as a probe and counts a cancelled call.)
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from interlock import CircuitBreaker, CircuitOpenError, Clock, Config

from memory.errors import CircuitOpen, RateLimited
from memory.llm import accounting
from memory.llm.limiter import Buckets
from memory.llm.openai_errors import Unanswered
from memory.settings import Settings

#: The breaker opens when half of the last ten calls failed, five at least; it waits 15 s, then twice as long, to 2 min.
BREAKER = Config(
    failure_rate_threshold=0.5,
    minimum_number_of_calls=5,
    window_size=10,
    permitted_calls_in_half_open=1,
    wait_duration_in_open=15.0,
    wait_duration_backoff_multiplier=2.0,
    wait_duration_in_open_max=120.0,
    slow_call_duration_threshold=3_600.0,  # a slow model is no broken one: calls have their own timeout
)
#: Longest wait for a bucket and a free place; then the caller is told to come again, and others get on meanwhile.
PATIENCE_S = 20.0
#: Longest time that a provider may ask us to stay away: whatever a header says, an hour later it is tried again.
LONGEST_ABSENCE_S = 3_600.0
#: Longest wait that is asked of a caller in one go: it comes, is refused at once, and its worker stays seen as alive.
LONGEST_WAIT_S = 60.0


class _Silence:
    """Counts as a failure only what says that the provider is down: no answer, or its own fault."""

    def is_failure(self, *, result: object, exception: Exception | None) -> bool:  # noqa: ARG002  interlock's protocol
        return isinstance(exception, Unanswered)


class Guard:
    """Lets calls to one provider through, or says when to come again."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None) -> None:
        self.where = settings.openai_base_url or "OpenAI"
        self._buckets = Buckets(settings.llm_requests_per_minute, settings.llm_tokens_per_minute)
        self._room = asyncio.Semaphore(settings.llm_concurrency)
        self._breaker = CircuitBreaker(name=self.where, config=BREAKER, classifier=_Silence(), clock=clock)
        self._away_until_s = 0.0

    @asynccontextmanager
    async def call(self, tenant: str, tokens: int) -> AsyncIterator[None]:
        """Hold while one call of about so many tokens runs.

        Raises `RateLimited` when the provider has asked to be left alone, or no place came free in time, and
        `CircuitOpen` after its failures. A `RateLimited` from inside keeps everybody away for as long as it says.
        """
        self._refuse_absent()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._buckets.take(tenant, tokens)
                await self._room.acquire()
        except TimeoutError as error:
            raise RateLimited(
                f"no call to {self.where} was free for tenant {tenant} in {PATIENCE_S:g} s",
                hint="llm_requests_per_minute, llm_tokens_per_minute and llm_concurrency bound the calls",
                retry_after_s=random.uniform(0, 1),
            ) from error
        try:
            self._refuse_absent()
            async with self._closed():
                yield
        except RateLimited as error:
            if error.retry_after_s is not None:
                absence_s = min(error.retry_after_s, LONGEST_ABSENCE_S)
                self._away_until_s = max(self._away_until_s, asyncio.get_running_loop().time() + absence_s)
            raise
        finally:
            self._room.release()

    @asynccontextmanager
    async def _closed(self) -> AsyncIterator[None]:
        gauge = accounting.CIRCUIT_OPEN.labels(self.where)
        try:
            await self._breaker.__aenter__()
        except CircuitOpenError as error:
            gauge.set(1)
            wait_s = min(LONGEST_WAIT_S, error.retry_after or 1.0)
            raise CircuitOpen(
                f"the provider {self.where} failed too often and is left alone, {wait_s:.0f} s more at least",
                hint=f"last failure: {error.__cause__ or self._last(error)}",
                retry_after_s=wait_s,
            ) from error
        try:
            yield
        except BaseException as error:
            await self._breaker.__aexit__(type(error), error, error.__traceback__)
            raise
        await self._breaker.__aexit__(None, None, None)
        gauge.set(0)

    @staticmethod
    def _last(error: CircuitOpenError) -> str:
        return str(getattr(error, "last_failure", "") or "unknown")

    def _refuse_absent(self) -> None:
        left_s = self._away_until_s - asyncio.get_running_loop().time()
        if left_s > 0:
            raise RateLimited(
                f"the provider {self.where} asked for no calls for {left_s:.0f} s more",
                retry_after_s=min(left_s, LONGEST_WAIT_S),
            )


_guards: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[object, ...], Guard]] = WeakKeyDictionary()


def guard_of(settings: Settings) -> Guard:
    """Give the guard of the settings' provider on the running loop."""
    here = _guards.setdefault(asyncio.get_running_loop(), {})
    key = (
        settings.openai_base_url,
        settings.llm_concurrency,
        settings.llm_requests_per_minute,
        settings.llm_tokens_per_minute,
    )
    if key not in here:
        here[key] = Guard(settings)
    return here[key]
