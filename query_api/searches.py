"""The ranked lists that anchors are fused from, asked of the vector store (arXiv 2601.03236, eq. 4).

A window of time is a hard filter. When it would leave fewer nodes than the policy demands, it becomes a soft signal
(the time list alone) and the caller is told.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field

from memory.graph import GraphReader
from memory.vectors import Hit, VectorReader
from query_api.anchors import ListName, Ranked, RankedList, best_first, keep
from query_api.policy import AnchorPolicy
from query_api.pool import POOL_SIZE, Pool
from query_api.ranking.window import overlap
from query_api.remembered import Known, Remembered
from query_api.router import Route
from query_api.surroundings import Vector, rounded

_DAY_US = 86_400_000_000
#: Most named entities that get a list of their own.
MAX_NAMED = 3
#: Events asked for by their words: they are ranked, not only fused.
WORDS_SIZE = 80


@dataclass(frozen=True, slots=True)
class Scope:
    """What bounds every search of one question; `fresh`: see what was written an instant ago."""

    session: str | None = None
    agent: str | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What the searches brought: the lists to fuse, the pool of nearest events, and every hit.

    `words`: BM25 by id; `events`: what is stored of the hits; `window_soft`: the window left too few.
    """

    lists: tuple[RankedList, ...]
    pool: Pool
    words: Mapping[str, float] = field(default_factory=dict)
    events: Mapping[str, Known] = field(default_factory=dict)
    window_soft: bool = False


class Searches:
    """Asks the lists of one question; `vector` is None when it has none, then words alone search.

    `nearest`: gives the `POOL_SIZE` events nearest to it in the scope, whenever they are; none without a vector.
    """

    def __init__(
        self,
        vectors: VectorReader,
        graph: GraphReader,
        route: Route,
        vector: Vector | None,
        scope: Scope,
        remembered: Remembered,
        nearest: Awaitable[list[Hit]],
    ) -> None:
        self._vectors = vectors
        self._graph = graph
        self._route = route
        self._vector = vector
        self._scope = scope
        self._remembered = remembered
        self._pool = nearest

    async def run(self, policy: AnchorPolicy) -> Found:
        """Ask all lists at once; raises `Retryable` and `Misconfigured` as the stores do."""
        window = self._route.window
        bounds = None
        if window is not None:
            bounds = (window.start_us, window.end_us + policy.window_grace_days * _DAY_US)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._pooled()),
                group.create_task(self._words(WORDS_SIZE, None)),
            ]
            if bounds is not None:
                tasks.append(group.create_task(self._nearest(POOL_SIZE, bounds)))
                tasks.append(group.create_task(self._words(policy.list_size, bounds)))
        hits = [task.result() for task in tasks]
        events = await self._remembered.events(self._graph, sorted({hit.id for found in hits for hit in found}))
        pool = Pool.of(hits[0], events)
        bm25 = {hit.id: rounded(hit.score) for found in (*hits[3:], hits[1]) for hit in found}
        if window is None or bounds is None:
            return Found(tuple(await self._lists(policy, pool, hits[1], None)), pool, bm25, events)
        lists = await self._lists(policy, Pool.of(hits[2], events), hits[3], bounds)
        more = {place.id for ranked in lists for place in ranked.places} - events.keys()
        events = {**events, **await self._remembered.events(self._graph, sorted(more))}
        overlaps = {id_: overlap(known.node, window) for id_, known in events.items()}
        inside = {id_ for id_, share in overlaps.items() if share > 0}
        cosines = {hit.id: rounded(hit.score) for hit in (*hits[0], *hits[2])}
        time = RankedList(ListName.TIME, _by_overlap(inside, overlaps, cosines, policy), policy.weights.time)
        if len(inside) >= policy.min_in_window:
            return Found((*(keep(ranked, inside.__contains__) for ranked in lists), time), pool, bm25, events)
        plain = await self._lists(policy, pool, hits[1], None)
        return Found((*plain, time), pool, bm25, events, window_soft=True)

    async def _lists(
        self, policy: AnchorPolicy, pool: Pool, words: Sequence[Hit], bounds: tuple[int, int] | None
    ) -> list[RankedList]:
        weights, size = policy.weights, policy.list_size
        lists = [
            _listed(ListName.KEYWORD, words[:size], weights.keyword),
            _listed(ListName.VECTOR, pool.hits[:size], weights.vector),
        ]
        for name in self._route.names[:MAX_NAMED] if weights.entity > 0 else ():
            known = pool.best_of(name, size)
            hits = await self._nearest(size, bounds, name) if known is None else known
            lists.append(_listed(ListName.ENTITY, hits, weights.entity))
        return lists

    async def _words(self, size: int, bounds: tuple[int, int] | None) -> list[Hit]:
        scope, (start_us, end_us) = self._scope, bounds or (None, None)
        return await self._vectors.keywords(
            self._route.keywords,
            size,
            session=scope.session,
            agent=scope.agent,
            start_us=start_us,
            end_us=end_us,
            bare=True,
            fresh=scope.fresh,
        )

    async def _pooled(self) -> list[Hit]:
        return await self._pool

    async def _nearest(self, size: int, bounds: tuple[int, int] | None, entity: str | None = None) -> list[Hit]:
        if self._vector is None:
            return []
        return await nearest_events(self._vectors, self._vector, size, self._scope, bounds, entity)


async def nearest_events(
    vectors: VectorReader,
    vector: Vector,
    size: int,
    scope: Scope,
    bounds: tuple[int, int] | None = None,
    entity: str | None = None,
) -> list[Hit]:
    """Give the events nearest to a vector in a scope, ids and cosines alone; `bounds`: microseconds, half-open."""
    start_us, end_us = bounds or (None, None)
    return await vectors.nearest(
        vector,
        size,
        session=scope.session,
        agent=scope.agent,
        start_us=start_us,
        end_us=end_us,
        entities=() if entity is None else (entity,),
        bare=True,
        fresh=scope.fresh,
    )


def _listed(name: ListName, hits: Sequence[Hit], weight: float) -> RankedList:
    # equal scores come in the store's order, which may change between two runs
    scores = {hit.id: rounded(hit.score) for hit in hits}
    return RankedList(name, best_first(scores, len(scores)), weight)


def _by_overlap(
    inside: set[str], overlaps: Mapping[str, float], cosines: Mapping[str, float], policy: AnchorPolicy
) -> tuple[Ranked, ...]:
    ordered = sorted(inside, key=lambda id_: (-overlaps[id_], -cosines.get(id_, 0.0), id_))
    return tuple(Ranked(id_, overlaps[id_]) for id_ in ordered[: policy.list_size])
