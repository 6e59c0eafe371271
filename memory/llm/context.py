"""What a model is shown around the events that it reads (arXiv 2601.03236, alg. 3: the neighbourhood of an event).

A function of these events and of what was stored before them, never of who asks: one call serves all stages, so what
it is shown must not depend on which of them came first, in which process, or on edges that they have yet to write.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.events import EventNode
from memory.graph import Graph
from memory.vectors import Vectors

#: Events before each new one in its session's chain (magma.md, slow path).
HISTORY_EVENTS = 5
#: Events near the new ones in meaning, of any session, none later than the last of them (magma.md, slow path).
NEIGHBOURS = 10
#: Most events of context in one call.
CONTEXT_EVENTS = 20


@dataclass(frozen=True, slots=True)
class Nearness:
    """Where events near in meaning are found; `theta`: the cosine that random pairs of the encoder do not reach."""

    vectors: Vectors
    theta: float


class Context:
    """Finds the context of calls. Without `nearness` it is the history and the causes that producers named."""

    def __init__(self, graph: Graph, nearness: Nearness | None) -> None:
        self._graph = graph
        self._nearness = nearness

    async def around(self, tenant: str, new: Sequence[EventNode]) -> list[EventNode]:
        """Give at most `CONTEXT_EVENTS` stored events for the new events of one session, in the order of their chain.

        First the history of the first new event, then the causes that producers named, the history of the others, and
        what is near in meaning. Text that the memory itself gave back (`derived_from`) is never among them.
        Raises `StoreUnavailable`.
        """
        reader = self._graph.reader(tenant)
        ordered = sorted(new, key=lambda event: event.order)
        windows = await reader.window([event.id for event in ordered], HISTORY_EVENTS, 0)
        first = windows[ordered[0].id].before if ordered[0].id in windows else ()
        wanted = dict.fromkeys(first)
        wanted |= dict.fromkeys(parent for event in ordered for parent in event.parents)
        wanted |= dict.fromkeys(ident for event in ordered if event.id in windows for ident in windows[event.id].before)
        wanted |= dict.fromkeys(await self._near(tenant, ordered))
        known = {event.id for event in ordered}
        stored = await reader.events([ident for ident in wanted if ident not in known])
        usable = [stored[ident] for ident in wanted if ident in stored and not stored[ident].derived_from]
        return sorted(usable[:CONTEXT_EVENTS], key=lambda event: event.order)

    async def _near(self, tenant: str, new: Sequence[EventNode]) -> list[str]:
        """Give the nearest events to the middle of the new ones: one search for a call, not one for each event."""
        if self._nearness is None:
            return []
        vectors = self._nearness.vectors.reader(tenant)
        own = await vectors.vectors([event.id for event in new], fresh=True)
        if not own:
            return []
        middle = np.mean([own[ident] for ident in sorted(own)], axis=0)
        length = float(np.linalg.norm(middle))
        if length == 0.0:
            return []
        last_us = max(event.occurred_us for event in new)
        found = await vectors.nearest(
            (middle / length).astype(np.float32), NEIGHBOURS + len(own), end_us=last_us, fresh=True
        )
        return [hit.id for hit in found if hit.id not in own and hit.score > self._nearness.theta][:NEIGHBOURS]
