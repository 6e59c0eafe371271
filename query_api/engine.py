"""A question to one tenant's memory, from words to context (arXiv 2601.03236, section 3.3).

route + embed → anchors → traverse → synthesize. Everything that decides is in the pure rooms beside this one; here
they meet the stores.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from memory.embedding import Encoder
from memory.errors import MagmaError, MalformedEvent, StoreUnavailable
from memory.events import EventNode, from_us
from memory.graph import Graph, GraphReader
from memory.relations import Relation
from memory.vectors import Hit, VectorReader, Vectors
from query_api.anchors import Anchor, fuse
from query_api.beside import Beside, around, beside, strong_hits
from query_api.models import QueryRequest, QueryResult
from query_api.policy import Policy, Steering, shipped_policy
from query_api.pool import POOL_SIZE
from query_api.ranking import Candidate, Documents, Evidence, Ranker, Scored, Trees, in_window
from query_api.ranking.choice import Rankers
from query_api.ranking.pool import REACH
from query_api.ranking.trust import heed_trust
from query_api.reading import Degraded, Reading
from query_api.reasons import with_reasons
from query_api.remembered import Remembered
from query_api.router import Route, Router, RuleRouter, name_candidates
from query_api.searches import Found, Scope, Searches, nearest_events
from query_api.sizes import Sizes
from query_api.stopwatch import Stopwatch
from query_api.surroundings import COSINE_DECIMALS, MemorySurroundings, Vector, rounded
from query_api.synthesis import Context, synthesize
from query_api.traversal import Walk, walk
from query_api.views import explained, result_view

#: Context budget when neither the request nor the caller says one, in tokens.
DEFAULT_BUDGET_TOKENS = 3_000
#: Bound on a whole query, in seconds.
QUERY_TIMEOUT_S = 30.0


class Retriever:
    """Answers questions from the memory. Safe for concurrent queries on one loop.

    It remembers events and vectors, which never change, and nothing of a question. `graph`, `vectors`, `encoder` are
    opened and closed by the caller, on the loop that queries. `ranker`: ranks whatever the policy says, else the policy
    chooses (see `ranking.choice`), with `trees` instead of the shipped ones.
    """

    def __init__(
        self,
        graph: Graph,
        vectors: Vectors,
        encoder: Encoder,
        policy: Policy | None = None,
        *,
        router: Router | None = None,
        ranker: Ranker | None = None,
        trees: Trees | None = None,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        timeout_s: float = QUERY_TIMEOUT_S,
    ) -> None:
        self._graph = graph
        self._vectors = vectors
        self._encoder = encoder
        self._policy = policy or shipped_policy("default")
        self._router = router or RuleRouter()
        self._documents = Documents.open()
        self._rankers = Rankers(encoder.name, self._documents, ranker, trees)
        self._budget_tokens = budget_tokens
        self._timeout_s = timeout_s
        self._sizes = Sizes()
        self._remembered = Remembered()

    async def query(self, tenant: str, request: QueryRequest) -> QueryResult:
        """Retrieve for a question.

        Raises `StoreUnavailable` when a store does not answer or the whole takes too long, and what the stores and the
        encoder raise besides. A memory without events gives a result without events.
        """
        reading = await self.read(tenant, request)
        result = result_view(reading, request)
        if request.explain:
            told = await asyncio.to_thread(explained, result, reading)
            return await with_reasons(self._graph.reader(tenant), told)
        return result

    async def read(self, tenant: str, request: QueryRequest) -> Reading:
        """Do the whole retrieval and give everything it found out; raises as `query` does."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._read(tenant, request)
        except TimeoutError as error:
            raise StoreUnavailable(f"the query took longer than {self._timeout_s:g} s", hint="try again") from error
        except ExceptionGroup as group:
            raise _leading(group) from group

    def forget(self, tenant: str, ids: frozenset[str] | None = None) -> None:
        """Forget what is remembered of erased events, or of a whole tenant."""
        self._remembered.forget(tenant, ids)
        self._documents.forget(tenant, ids)

    async def _read(self, tenant: str, request: QueryRequest) -> Reading:
        graph, vectors = self._graph.reader(tenant), self._vectors.reader(tenant)
        policy = shipped_policy(request.policy) if request.policy else self._policy
        watch = Stopwatch()
        scope = Scope(request.session, request.agent, request.fresh)
        async with asyncio.TaskGroup() as group:
            embedded = group.create_task(self._embed(request.question, watch))
            # needs nothing of the route: under way while the graph is asked for names
            nearest = group.create_task(_nearest(vectors, embedded, scope))
            route, reference, stored = await group.create_task(self._route(graph, request, watch))
            vector = await embedded
            steering = policy.steering(
                route.intents, frozenset(Relation) if request.relations is None else request.relations
            )
            with watch.stage("anchors"):
                searches = Searches(vectors, graph, route, vector, scope, self._remembered, nearest)
                found = await searches.run(policy.anchors)
        with watch.stage("anchors"):
            anchors = tuple(fuse(found.lists, policy.anchors.rrf_k)[: policy.anchors.count])
        with watch.stage("traverse"):
            surroundings = MemorySurroundings(
                graph,
                vectors,
                vector=vector,
                remembered=self._remembered,
                policy=policy.walk,
                events_stored=stored,
                pool=found.pool,
                names=route.names,
                session=request.session,
                agent=request.agent,
            )
            top = anchors[0].rrf if anchors else 1.0
            starts = {anchor.id: anchor.rrf / top for anchor in anchors}
            async with asyncio.TaskGroup() as group:
                walking = group.create_task(walk(starts, surroundings, steering, policy.walk))
                looking = group.create_task(self._beside(graph, found, steering))
            walked, near = walking.result(), looking.result()
            nodes, stored_vectors = await self._contents(graph, vectors, found, walked, near)
        with watch.stage("synthesize"):
            hard = steering.window_binds_all and not found.window_soft
            admitted = {id_: node for id_, node in nodes.items() if _admitted(node, request, route, hard)}
            evidence = Evidence(
                route,
                steering,
                walked,
                usual=[rounded(hit.score) for hit in found.pool.hits],
                question=request.question,
                vector=vector,
                vectors=stored_vectors,
                chains=near.runs,
                events_stored=stored,
            )
            candidates = _candidates(found, anchors, admitted, evidence)
            ranker = self._rankers.of(policy)
            # ranking a few hundred events and counting their tokens is CPU work that would hold the loop up; what
            # supersedes an event changes, so it is asked for each time, and the answer comes while they are ranked
            async with asyncio.TaskGroup() as group:
                superseding = group.create_task(graph.superseding(sorted(nodes)))
                ranking = group.create_task(asyncio.to_thread(ranker.rank, candidates, evidence, policy))
            scored = heed_trust(ranking.result(), policy.ranking)
            newer = {id_: by[0].ref for id_, by in superseding.result().items()}
            context = await asyncio.to_thread(self._context, request, scored, evidence, newer)
        degraded = _degraded(route, found, vector, walked, nodes, surroundings, context)
        return Reading(
            route=route,
            reference=reference,
            policy=policy,
            steering=steering,
            anchors=anchors,
            walk=walked,
            beside=near,
            candidates=tuple(candidates),
            evidence=evidence,
            ranker=ranker,
            scored=tuple(scored),
            context=context,
            degraded=degraded,
            stopwatch=watch,
        )

    async def _beside(self, graph: GraphReader, found: Found, steering: Steering) -> Beside:
        """Look around the best hits in time, and bring what stands there; nothing when time may not be used."""
        if Relation.TEMPORAL not in steering.relation:
            return Beside()
        hits = strong_hits(found.words, {hit.id: rounded(hit.score) for hit in found.pool.hits})
        windows = await graph.window(hits, REACH, REACH)
        known = found.events
        read = await self._remembered.events(graph, [id_ for id_ in around(windows) if id_ not in known])
        return beside(hits, windows, {id_: one.node for events in (known, read) for id_, one in events.items()})

    async def _contents(
        self, graph: GraphReader, vectors: VectorReader, found: Found, walked: Walk, near: Beside
    ) -> tuple[dict[str, EventNode], dict[str, Vector]]:
        """Give the candidates' events and vectors."""
        nodes = {**near.nodes, **{id_: known.node for id_, known in found.events.items()}}
        ids = sorted({*found.events, *walked.visits, *near.ways})
        async with asyncio.TaskGroup() as group:
            read = group.create_task(self._remembered.events(graph, [id_ for id_ in ids if id_ not in nodes]))
            stored = group.create_task(self._remembered.vectors(vectors, ids))
        nodes.update((id_, known.node) for id_, known in read.result().items())
        return {id_: nodes[id_] for id_ in ids if id_ in nodes}, stored.result()

    async def _route(
        self, graph: GraphReader, request: QueryRequest, watch: Stopwatch
    ) -> tuple[Route, datetime | None, int]:
        with watch.stage("route"):
            candidates = name_candidates(request.question)
            async with asyncio.TaskGroup() as group:
                known = group.create_task(graph.entities(candidates))
                sized = group.create_task(self._sizes.of(graph, fresh=request.fresh))
            totals = sized.result()
            reference = request.as_of
            if reference is None and totals.last_us is not None:
                reference = from_us(totals.last_us)
            route = await self._router.route(request.question, reference=reference, known=frozenset(known.result()))
        return route, reference, totals.events

    async def _embed(self, question: str, watch: Stopwatch) -> Vector | None:
        with watch.stage("embed"):
            try:
                vector: Vector = (await self._encoder.encode([question]))[0]
            except MalformedEvent:  # nothing in it to embed: words alone search, and the result says so
                return None
            return vector

    def _context(
        self, request: QueryRequest, scored: Sequence[Scored], evidence: Evidence, newer: Mapping[str, str]
    ) -> Context:
        return synthesize(
            scored if request.top_k is None else scored[: request.top_k],
            evidence.route.intents.top,
            budget_tokens=request.budget_tokens or self._budget_tokens,
            causes=evidence.walk.causes,
            names=evidence.route.names,
            superseded=newer,
        )


async def _nearest(vectors: VectorReader, embedded: asyncio.Task[Vector | None], scope: Scope) -> list[Hit]:
    vector = await embedded
    return [] if vector is None else await nearest_events(vectors, vector, POOL_SIZE, scope)


def _candidates(
    found: Found, anchors: tuple[Anchor, ...], nodes: Mapping[str, EventNode], evidence: Evidence
) -> list[Candidate]:
    walked = evidence.walk
    cosines = {**_cosines(evidence), **{hit.id: rounded(hit.score) for hit in found.pool.hits}, **walked.cosines}
    by_id = {anchor.id: anchor for anchor in anchors}
    return [
        Candidate(
            node,
            walked.visits.get(id_),
            cosines.get(id_, 0.0),
            found.words.get(id_, 0.0),
            by_id.get(id_),
            walked.best.get(id_),
        )
        for id_, node in nodes.items()
    ]


def _cosines(evidence: Evidence) -> dict[str, float]:
    if evidence.vector is None or not evidence.vectors:
        return {}
    ids = sorted(evidence.vectors)
    rows = np.stack([evidence.vectors[id_] for id_ in ids]).astype(np.float64)
    cosines = np.round(rows @ evidence.vector.astype(np.float64), COSINE_DECIMALS) + 0.0
    return dict(zip(ids, cosines.tolist(), strict=True))


def _admitted(node: EventNode, request: QueryRequest, route: Route, hard: bool) -> bool:
    if request.session is not None and node.session != request.session:
        return False
    if request.agent is not None and node.agent != request.agent:
        return False
    return route.window is None or not hard or in_window(node, route)


def _degraded(
    route: Route,
    found: Found,
    vector: Vector | None,
    walked: Walk,
    nodes: Mapping[str, EventNode],
    around: MemorySurroundings,
    context: Context,
) -> tuple[Degraded, ...]:
    signs = {
        Degraded.WINDOW_SOFT: found.window_soft,
        Degraded.NO_VECTOR: vector is None,
        Degraded.VECTORS_MISSING: bool(walked.missing),
        Degraded.NODES_MISSING: any(id_ not in nodes for id_ in walked.visits),
        Degraded.HUBS_LEFT_OUT: around.hubs_left_out > 0,
        Degraded.CUT: bool(context.cut),
        Degraded.BUDGET: context.left_out > 0 and not context.shown,
        Degraded.ROUTER_FELL_BACK: route.fell_back,
    }
    return tuple(name for name, present in signs.items() if present)


def _leading(group: ExceptionGroup) -> Exception:
    """Give the error that a caller can act on: one of ours when there is one, else the first."""
    leaves: list[Exception] = []
    stack: list[Exception] = [group]
    while stack:
        error = stack.pop()
        if isinstance(error, ExceptionGroup):
            stack += reversed(error.exceptions)
        else:
            leaves.append(error)
    return next((leaf for leaf in leaves if isinstance(leaf, MagmaError)), leaves[0])
