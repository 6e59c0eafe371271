"""How large a tenant's memory is and when it ends, remembered for a while.

The number of events is the N of every rarity, the latest event time what "yesterday" is relative to; both may be
seconds old.
"""

import time
from collections import OrderedDict

from memory.graph import GraphReader, Totals

#: How long totals are believed, in seconds, and of how many tenants they are remembered.
BELIEVED_S = 5.0
TENANTS = 1_024


class Sizes:
    """Totals by tenant; an empty memory is never remembered as empty."""

    def __init__(self, believed_s: float = BELIEVED_S) -> None:
        self._believed_s = believed_s
        self._totals: OrderedDict[str, tuple[float, Totals]] = OrderedDict()

    async def of(self, graph: GraphReader, *, fresh: bool = False) -> Totals:
        """Give the totals of the reader's tenant; `fresh` asks anew. Raises as the store does."""
        now = time.monotonic()
        known = self._totals.get(graph.tenant)
        if known is not None and not fresh and now - known[0] < self._believed_s and known[1].events > 0:
            return known[1]
        totals = await graph.totals()
        self._totals[graph.tenant] = (now, totals)
        self._totals.move_to_end(graph.tenant)
        while len(self._totals) > TENANTS:
            self._totals.popitem(last=False)
        return totals
