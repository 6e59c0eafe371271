"""Waiting for what is away: full-jitter backoff without a limit on attempts.

Full jitter: uniform in [0, min(cap, base · 2^n)], so that workers that lost the same store do not come back together.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memory.errors import Retryable
from streams import metrics
from streams.state import DeliveryState, Need

BASE_S = 0.1
CAP_S = 5.0

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Backoff:
    """The waits between a stage's failed attempts to get at one thing it needs, shown in its state."""

    def __init__(self, state: DeliveryState, need: Need) -> None:
        self._state = state
        self._need = need

    async def wait(self, error: Retryable) -> None:
        """Wait before the next attempt; what is asked for (`Retryable.retry_after_s`) is a lower bound."""
        waiting = self._state.wait_for(self._need, error)
        stage = self._state.stage.value
        metrics.RETRIES.labels(stage, error.code).inc()
        if waiting.attempts & (waiting.attempts - 1) == 0:  # at 1, 2, 4, 8, …: for ever must not fill a disk
            _log.warning("%s waits, attempt %d: %s", stage, waiting.attempts, error)
        await asyncio.sleep(delay_s(waiting.attempts, error))

    def over(self) -> None:
        """Note that an attempt succeeded: nothing is missing."""
        self._state.resume(self._need)

    async def until_done(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work again until it succeeds; anything but `Retryable` is raised."""
        while True:
            try:
                result = await work()
            except Retryable as error:
                await self.wait(error)
            else:
                self.over()
                return result


def delay_s(attempts: int, error: Retryable) -> float:
    """Give the wait in seconds after so many failed attempts (1 or more)."""
    jittered = random.uniform(0.0, min(CAP_S, BASE_S * 2 ** min(attempts, 16)))
    return jittered + (error.retry_after_s or 0.0)  # not all at the moment that was named
