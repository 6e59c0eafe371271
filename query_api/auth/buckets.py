"""How often each credential may ask: a bucket of tokens that fills up at a steady rate."""

import time
from collections import OrderedDict
from collections.abc import Callable

#: Most buckets kept; the one unused for longest goes first, and would be full again by then.
MAX_BUCKETS = 10_000


class Buckets:
    """One bucket a name: holds `burst` requests, gets `rate_per_s` back each second. For one event loop."""

    def __init__(self, rate_per_s: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate_per_s = rate_per_s
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        """Give the number of buckets kept."""
        return len(self._buckets)

    def take(self, name: str) -> float:
        """Take one request from the bucket; gives 0, or the seconds until there is one to take."""
        now_s = self._clock()
        level, at_s = self._buckets.pop(name, (self._burst, now_s))
        level = min(self._burst, level + (now_s - at_s) * self._rate_per_s)
        wait_s = 0.0 if level >= 1.0 else (1.0 - level) / self._rate_per_s
        self._buckets[name] = (level if wait_s else level - 1.0, now_s)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return wait_s
