"""The ranked lists that anchors are fused from, asked of the vector store (arXiv 2601.03236, eq. 4).

A window of time is a hard filter. When it would leave fewer nodes than the policy demands, it becomes a soft signal
(the time list alone) and the caller is told.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.dates import DateSpan
from memory.events import EventNode
from memory.graph import GraphReader
from memory.vectors import Hit, VectorReader
from query_api.anchors import ListName, Ranked, RankedList, best_first, keep
from query_api.policy import AnchorPolicy
from query_api.pool import POOL_SIZE, Pool
from query_api.router import Route
from query_api.surroundings import Vector, rounded

_DAY_US = 86_400_000_000
#: Most named entities that get a list of their own.
MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Scope:
    """What bounds every search of one question; `fresh`: see what was written an instant ago."""

    session: str | None = None
    agent: str | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The lists, the pool of nearest events, the nodes read on the way, and whether the window became soft."""

    lists: tuple[RankedList, ...]
    pool: Pool
    nodes: Mapping[str, EventNode] = field(default_factory=dict)
    window_soft: bool = False


class Searches:
    """Asks the lists of one question; `vector` is None when it has none, then words alone search."""

    def __init__(
        self, vectors: VectorReader, graph: GraphReader, route: Route, vector: Vector | None, scope: Scope
    ) -> None:
        self._vectors = vectors
        self._graph = graph
        self._route = route
        self._vector = vector
        self._scope = scope

    async def run(self, policy: AnchorPolicy) -> Found:
        """Ask all lists at once; raises `Retryable` and `Misconfigured` as the stores do."""
        window = self._route.window
        bounds = None
        if window is not None:
            bounds = (window.start_us, window.end_us + policy.window_grace_days * _DAY_US)
        async with asyncio.TaskGroup() as group:
            pooled = group.create_task(self._nearest(POOL_SIZE, None))
            words = group.create_task(self._words(policy.list_size, bounds))
            within = group.create_task(self._nearest(policy.list_size, bounds)) if bounds is not None else None
        pool = Pool.of(pooled.result())
        if window is None or within is None:
            return Found(tuple(await self._lists(policy, pool, words.result(), pool.hits, None)), pool)
        lists = await self._lists(policy, pool, words.result(), within.result(), bounds)
        ids = sorted({place.id for ranked in lists for place in ranked.places})
        nodes = await self._graph.events(ids)
        overlaps = {id_: overlap(node, window) for id_, node in nodes.items()}
        inside = {id_ for id_, share in overlaps.items() if share > 0}
        cosines = {hit.id: rounded(hit.score) for hit in within.result()}
        time = RankedList(ListName.TIME, _by_overlap(inside, overlaps, cosines, policy), policy.weights.time)
        if len(inside) >= policy.min_in_window:
            return Found((*(keep(ranked, inside.__contains__) for ranked in lists), time), pool, nodes)
        everywhere = await self._words(policy.list_size, None)
        lists = await self._lists(policy, pool, everywhere, pool.hits, None)
        return Found((*lists, time), pool, nodes, window_soft=True)

    async def _lists(
        self,
        policy: AnchorPolicy,
        pool: Pool,
        words: Sequence[Hit],
        alike: Sequence[Hit],
        bounds: tuple[int, int] | None,
    ) -> list[RankedList]:
        weights, size = policy.weights, policy.list_size
        lists = [
            _listed(ListName.KEYWORD, words, weights.keyword),
            _listed(ListName.VECTOR, alike[:size], weights.vector),
        ]
        for name in self._route.names[:MAX_NAMED] if weights.entity > 0 else ():
            known = pool.best_of(name, size) if bounds is None else None
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
            fresh=scope.fresh,
        )

    async def _nearest(self, size: int, bounds: tuple[int, int] | None, entity: str | None = None) -> list[Hit]:
        if self._vector is None:
            return []
        scope, (start_us, end_us) = self._scope, bounds or (None, None)
        return await self._vectors.nearest(
            self._vector,
            size,
            session=scope.session,
            agent=scope.agent,
            start_us=start_us,
            end_us=end_us,
            entities=() if entity is None else (entity,),
            fresh=scope.fresh,
        )


def overlap(node: EventNode, window: DateSpan) -> float:
    """Say how much of an event lies in a window, in [0, 1].

    1 when it happened in the window, else the largest part of a time that it talks about.
    """
    if window.start_us <= node.occurred_us < window.end_us:
        return 1.0
    parts = (
        max(0, min(span.end_us, window.end_us) - max(span.start_us, window.start_us))
        / max(1, span.end_us - span.start_us)
        for span in node.dates
    )
    return max(parts, default=0.0)


def _listed(name: ListName, hits: Sequence[Hit], weight: float) -> RankedList:
    # equal scores come in the store's order, which may change between two runs
    scores = {hit.id: rounded(hit.score) for hit in hits}
    return RankedList(name, best_first(scores, len(scores)), weight)


def _by_overlap(
    inside: set[str], overlaps: Mapping[str, float], cosines: Mapping[str, float], policy: AnchorPolicy
) -> tuple[Ranked, ...]:
    ordered = sorted(inside, key=lambda id_: (-overlaps[id_], -cosines.get(id_, 0.0), id_))
    return tuple(Ranked(id_, overlaps[id_]) for id_ in ordered[: policy.list_size])
