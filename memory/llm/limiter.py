"""Token buckets for each tenant: requests and tokens a minute, in this process (aiolimiter's leaky bucket)."""

from collections import OrderedDict

from aiolimiter import AsyncLimiter

_MINUTE_S = 60.0
#: Tenants whose buckets are kept; one that comes back later starts with empty buckets.
MAX_TENANTS = 1_000


class Buckets:
    """The buckets of one provider's tenants. Used on one event loop."""

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._of: OrderedDict[str, tuple[AsyncLimiter | None, AsyncLimiter | None]] = OrderedDict()

    async def take(self, tenant: str, tokens: int) -> None:
        """Wait until the tenant may make one request of so many tokens; one over a whole minute's takes them all."""
        requests, of_tokens = self._buckets(tenant)
        if requests is not None:
            await requests.acquire(min(1.0, requests.max_rate))
        if of_tokens is not None:
            await of_tokens.acquire(min(float(tokens), of_tokens.max_rate))

    def _buckets(self, tenant: str) -> tuple[AsyncLimiter | None, AsyncLimiter | None]:
        found = self._of.get(tenant)
        if found is None:
            found = self._of[tenant] = (_bucket(self._requests), _bucket(self._tokens))
            if len(self._of) > MAX_TENANTS:
                self._of.popitem(last=False)
        self._of.move_to_end(tenant)
        return found


def _bucket(rate: float | None) -> AsyncLimiter | None:
    return None if rate is None else AsyncLimiter(rate, _MINUTE_S)
