"""What surrounds a node, read from the stores: the walk's view of graph and vectors for one question.

One graph round trip for the neighbours of a frontier, one vector round trip for the cosines not known yet. The events
of a hub are found by a filtered vector search, never by listing the hub; its rarity weighs them:
idf = log(N / df) / log N.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.graph import GraphReader, Hub, NeighbourEdge
from memory.relations import EdgeType
from memory.vectors import Hit, VectorReader
from query_api.policy import WalkPolicy
from query_api.pool import Pool
from query_api.remembered import Remembered
from query_api.traversal import Hop

Vector = NDArray[np.float32]

#: The least an entity's rarity can be: even who is in every event joins them a little.
LEAST_RARITY = 0.01
#: Decimals that two servers, or a server and this process, agree on.
COSINE_DECIMALS = 6


def rounded(value: float) -> float:
    """Round a score so that two servers, or a server and this process, agree on it."""
    return round(float(value), COSINE_DECIMALS) + 0.0


def rarity(events_of_entity: int, events_stored: int) -> float:
    """Give idf = log(N/df)/log N in [`LEAST_RARITY`, 1]."""
    if events_stored <= 1 or events_of_entity <= 0:
        return 1.0
    idf = math.log(events_stored / events_of_entity) / math.log(events_stored)
    return min(1.0, max(LEAST_RARITY, idf))


class MemorySurroundings:
    """Graph and vectors around one question (implements `traversal.Surroundings`).

    `vector`: the question's, None when it has none; then every cosine is 0 and hubs are not expanded.
    `events_stored`: N of the rarity; `pool`: the nearest events, found before; `names`: the question's entities.
    """

    def __init__(
        self,
        graph: GraphReader,
        vectors: VectorReader,
        *,
        vector: Vector | None,
        remembered: Remembered,
        policy: WalkPolicy,
        events_stored: int,
        pool: Pool,
        names: Sequence[str] = (),
        session: str | None = None,
        agent: str | None = None,
    ) -> None:
        self._graph = graph
        self._vectors = vectors
        self._vector = None if vector is None else np.asarray(vector, dtype=np.float64)
        self._asked = vector
        self._remembered = remembered
        self._policy = policy
        self._stored = events_stored
        self._pool = pool
        self._cosines = {hit.id: rounded(hit.score) for hit in pool.hits}
        self._names = frozenset(names)
        self._session = session
        self._agent = agent
        self._hubs: dict[str, list[Hit]] = {}
        self._searched = 0
        self.hubs_left_out = 0

    async def hops(self, frontier: Sequence[str]) -> list[Hop]:
        """Give every hop out of the frontier: direct edges, events sharing a rare entity, best events of hubs."""
        around = await self._graph.neighbours(frontier, hub_limit=self._policy.hub_limit)
        await self._expand(around.hubs)
        hops = [self._hop(edge) for edge in around.edges]
        place = {id_: index for index, id_ in enumerate(frontier)}
        doors: dict[str, list[Hub]] = {}
        for hub in sorted(around.hubs, key=lambda hub: place[hub.event]):
            doors.setdefault(hub.key, []).append(hub)
        for hubs in doors.values():
            # whatever event a hub is entered by, the same events lie behind it: the best of the frontier is enough, and
            # the second best for the step to the first itself
            for hub in hubs[:2]:
                strength = rarity(hub.events, self._stored)
                hops += [
                    Hop(hub.event, hit.id, EdgeType.MENTIONS, True, strength, None, hub.key)
                    for hit in self._hubs.get(hub.key, ())
                    if hit.id != hub.event
                ]
        return hops

    async def cosines(self, ids: Sequence[str]) -> Mapping[str, float]:
        """Give cos(v, q), from what searches brought along or from the stored vectors; nothing is encoded again."""
        if self._vector is None:
            return dict.fromkeys(ids, 0.0)
        missing = [id_ for id_ in ids if id_ not in self._cosines]
        if missing:
            stored = await self._remembered.vectors(self._vectors, missing)
            for id_, row in stored.items():
                self._cosines[id_] = rounded(float(np.dot(row.astype(np.float64), self._vector)))
        return {id_: self._cosines[id_] for id_ in ids if id_ in self._cosines}

    def known(self, id_: str) -> float | None:
        """Give a cosine that a search or a read brought along."""
        return 0.0 if self._vector is None else self._cosines.get(id_)

    @property
    def ceiling(self) -> float:
        """No event outside the pool is nearer than the last one in it, when the pool was drawn from all events."""
        if self._session is not None or self._agent is not None or not self._pool.hits:
            return 1.0
        return rounded(self._pool.hits[-1].score) + 10.0**-COSINE_DECIMALS

    def _hop(self, edge: NeighbourEdge) -> Hop:
        strength = edge.strength * rarity(edge.via_events, self._stored) if edge.via else edge.strength
        return Hop(edge.source, edge.target, edge.edge, edge.forward, strength, edge.origin, edge.via)

    async def _expand(self, hubs: Sequence[Hub]) -> None:
        """Find the best events of hubs not met before: from the pool, else by a search while the policy allows one.

        Searched are those the question names, then the rarest.
        """
        unknown: dict[str, Hub] = {}
        for hub in hubs:
            if hub.key in self._hubs:
                continue
            known = self._pool.best_of(hub.key, self._policy.hub_limit)
            if known is None:
                unknown.setdefault(hub.key, hub)
            else:
                self._hubs[hub.key] = known
        ordered = sorted(unknown.values(), key=lambda hub: (hub.key not in self._names, hub.events, hub.key))
        chosen = ordered[: self._policy.hubs - self._searched] if self._asked is not None else []
        self._searched += len(chosen)
        for hub in ordered[len(chosen) :]:
            self._hubs[hub.key] = []
            self.hubs_left_out += 1
        async with asyncio.TaskGroup() as group:
            tasks = {hub.key: group.create_task(self._best_of(hub)) for hub in chosen}
        for key, task in tasks.items():
            self._hubs[key] = task.result()
            self._cosines.update((hit.id, rounded(hit.score)) for hit in self._hubs[key])

    async def _best_of(self, hub: Hub) -> list[Hit]:
        assert self._asked is not None
        return await self._vectors.nearest(
            self._asked,
            self._policy.hub_limit,
            session=self._session,
            agent=self._agent,
            entities=(hub.key,),
            bare=True,
        )
