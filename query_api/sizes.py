"""How many events a tenant has, remembered for a while: the N of an entity's rarity, which may be a minute old."""

import time
from collections import OrderedDict

from memory.graph import GraphReader

#: How long a count is believed, in seconds, and of how many tenants one is remembered.
BELIEVED_S = 60.0
TENANTS = 1_024
#: Sessions read in one page while counting.
_PAGE = 1_000


class Sizes:
    """Counts by tenant; an empty memory is never remembered as empty."""

    def __init__(self, believed_s: float = BELIEVED_S) -> None:
        self._believed_s = believed_s
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def events(self, tenant: str, graph: GraphReader) -> int:
        """Give the number of events of the reader's tenant; raises as the store does."""
        now = time.monotonic()
        known = self._counts.get(tenant)
        if known is not None and now - known[0] < self._believed_s and known[1] > 0:
            return known[1]
        count = await _events(graph)
        self._counts[tenant] = (now, count)
        self._counts.move_to_end(tenant)
        while len(self._counts) > TENANTS:
            self._counts.popitem(last=False)
        return count


async def _events(graph: GraphReader) -> int:
    """Add up what the sessions say of themselves: reads no event."""
    total, after = 0, ""
    while page := await graph.sessions(limit=_PAGE, after=after):
        total += sum(session.events for session in page)
        if len(page) < _PAGE:
            break
        after = page[-1].session
    return total
