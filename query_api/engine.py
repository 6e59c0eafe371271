"""A question to one tenant's memory, from words to context (arXiv 2601.03236, section 3.3).

route + embed → anchors → traverse → synthesize. Everything that decides is in the pure rooms beside this one; here
they meet the stores.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from memory.embedding import Encoder
from memory.errors import MagmaError, MalformedEvent, StoreUnavailable
from memory.events import EventNode, from_us
from memory.graph import Graph, GraphReader
from memory.relations import Relation
from memory.vectors import Vectors
from query_api.anchors import Anchor, ListName, fuse
from query_api.models import QueryRequest, QueryResult
from query_api.policy import Policy, shipped_policy
from query_api.ranking import Candidate, Evidence, Ranker, SalienceRanker, Scored, in_window
from query_api.reading import Degraded, Reading
from query_api.router import Route, Router, RuleRouter, name_candidates
from query_api.searches import Found, Scope, Searches
from query_api.sizes import Sizes
from query_api.stopwatch import Stopwatch
from query_api.surroundings import MemorySurroundings, Vector, rounded
from query_api.synthesis import Context, synthesize
from query_api.traversal import Walk, walk
from query_api.views import result_view

#: Context budget when neither the request nor the caller says one, in tokens.
DEFAULT_BUDGET_TOKENS = 3_000
#: Bound on a whole query, in seconds.
QUERY_TIMEOUT_S = 30.0


class Retriever:
    """Answers questions from the memory. Safe for concurrent queries; holds no state of any of them.

    `graph`, `vectors`, `encoder` are opened and closed by the caller, on the loop that queries.
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
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        timeout_s: float = QUERY_TIMEOUT_S,
    ) -> None:
        self._graph = graph
        self._vectors = vectors
        self._encoder = encoder
        self._policy = policy or shipped_policy("default")
        self._router = router or RuleRouter()
        self._ranker = ranker or SalienceRanker()
        self._budget_tokens = budget_tokens
        self._timeout_s = timeout_s
        self._sizes = Sizes()

    async def query(self, tenant: str, request: QueryRequest) -> QueryResult:
        """Retrieve for a question.

        Raises `StoreUnavailable` when a store does not answer or the whole takes too long, and what the stores and the
        encoder raise besides. A memory without events gives a result without events.
        """
        return result_view(await self.read(tenant, request), request)

    async def read(self, tenant: str, request: QueryRequest) -> Reading:
        """Do the whole retrieval and give everything it found out; raises as `query` does."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._read(tenant, request)
        except TimeoutError as error:
            raise StoreUnavailable(f"the query took longer than {self._timeout_s:g} s", hint="try again") from error
        except ExceptionGroup as group:
            raise _leading(group) from group

    async def _read(self, tenant: str, request: QueryRequest) -> Reading:
        graph, vectors = self._graph.reader(tenant), self._vectors.reader(tenant)
        policy = shipped_policy(request.policy) if request.policy else self._policy
        watch = Stopwatch()
        async with asyncio.TaskGroup() as group:
            embedded = group.create_task(self._embed(request.question, watch))
            sized = group.create_task(self._sizes.events(tenant, graph))
            routed = group.create_task(self._route(graph, request, watch))
        vector, (route, reference) = embedded.result(), routed.result()
        steering = policy.steering(route.intents, request.relations or frozenset(Relation))
        with watch.stage("anchors"):
            scope = Scope(request.session, request.agent, request.fresh)
            found = await Searches(vectors, graph, route, vector, scope).run(policy.anchors)
            anchors = tuple(fuse(found.lists, policy.anchors.rrf_k)[: policy.anchors.count])
        with watch.stage("traverse"):
            around = MemorySurroundings(
                graph,
                vectors,
                vector=vector,
                policy=policy.walk,
                events_stored=sized.result(),
                pool=found.pool,
                names=route.names,
                session=request.session,
                agent=request.agent,
            )
            top = anchors[0].rrf if anchors else 1.0
            walked = await walk({anchor.id: anchor.rrf / top for anchor in anchors}, around, steering, policy.walk)
            nodes = await _nodes(graph, walked, found.nodes)
        with watch.stage("synthesize"):
            hard = steering.window_binds_all and not found.window_soft
            admitted = {id_: node for id_, node in nodes.items() if _admitted(node, request, route, hard)}
            # scoring a few hundred events and counting their tokens is CPU work that would hold the loop up
            usual = [rounded(hit.score) for hit in found.pool.hits]
            evidence = Evidence(route, steering, walked, usual)
            scored, context = await asyncio.to_thread(self._finish, request, evidence, policy, found, anchors, admitted)
        degraded = _degraded(found, vector, walked, nodes, around, context)
        return Reading(route, reference, policy, steering, anchors, walked, tuple(scored), context, degraded, watch)

    async def _route(
        self, graph: GraphReader, request: QueryRequest, watch: Stopwatch
    ) -> tuple[Route, datetime | None]:
        with watch.stage("route"):
            candidates = name_candidates(request.question)
            async with asyncio.TaskGroup() as group:
                known = group.create_task(graph.entities(candidates))
                last = group.create_task(graph.last_event_us()) if request.as_of is None else None
            reference = request.as_of
            if last is not None and (last_us := last.result()) is not None:
                reference = from_us(last_us)
            route = await self._router.route(request.question, reference=reference, known=frozenset(known.result()))
        return route, reference

    async def _embed(self, question: str, watch: Stopwatch) -> Vector | None:
        with watch.stage("embed"):
            try:
                vector: Vector = (await self._encoder.encode([question]))[0]
            except MalformedEvent:  # nothing in it to embed: words alone search, and the result says so
                return None
            return vector

    def _finish(
        self,
        request: QueryRequest,
        evidence: Evidence,
        policy: Policy,
        found: Found,
        anchors: tuple[Anchor, ...],
        nodes: Mapping[str, EventNode],
    ) -> tuple[list[Scored], Context]:
        by_id = {anchor.id: anchor for anchor in anchors}
        words = {
            place.id: place.score
            for ranked in found.lists
            if ranked.name is ListName.KEYWORD
            for place in ranked.places
        }
        walked, route = evidence.walk, evidence.route
        candidates = [
            Candidate(
                node,
                walked.visits[id_],
                walked.cosines[id_],
                words.get(id_, 0.0),
                by_id.get(id_),
                walked.best.get(id_),
            )
            for id_, node in nodes.items()
        ]
        scored = self._ranker.rank(candidates, evidence, policy)
        context = synthesize(
            scored if request.top_k is None else scored[: request.top_k],
            route.intents.top,
            budget_tokens=request.budget_tokens or self._budget_tokens,
            causes=walked.causes,
            names=route.names,
        )
        return scored, context


async def _nodes(graph: GraphReader, walked: Walk, known: Mapping[str, EventNode]) -> dict[str, EventNode]:
    missing = [id_ for id_ in walked.visits if id_ not in known]
    read = await graph.events(missing) if missing else {}
    return {id_: node for id_ in walked.visits if (node := known.get(id_) or read.get(id_)) is not None}


def _admitted(node: EventNode, request: QueryRequest, route: Route, hard: bool) -> bool:
    if request.session is not None and node.session != request.session:
        return False
    if request.agent is not None and node.agent != request.agent:
        return False
    return route.window is None or not hard or in_window(node, route)


def _degraded(
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
        Degraded.NODES_MISSING: len(nodes) < len(walked.visits),
        Degraded.HUBS_LEFT_OUT: around.hubs_left_out > 0,
        Degraded.CUT: bool(context.cut),
        Degraded.BUDGET: context.left_out > 0 and not context.shown,
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
