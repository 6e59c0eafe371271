"""From what a query found out to what it shows."""

from collections.abc import Sequence
from datetime import datetime

from memory.dates import DateSpan
from query_api.anchors import Anchor
from query_api.models import (
    DEFAULT_TOP_K,
    AnchorView,
    Explanation,
    HopTerms,
    HopView,
    ListShare,
    QueryRequest,
    QueryResult,
    ResultEvent,
    SpanView,
    event_fields,
)
from query_api.policy import Policy, Steering
from query_api.ranking import Scored
from query_api.reading import Reading
from query_api.traversal import Arrival, Walk


def result_view(reading: Reading, request: QueryRequest) -> QueryResult:
    """Show a reading as `POST /v1/query` answers it; making the views counts into `synthesize`."""
    with reading.stopwatch.stage("synthesize"):
        shown = reading.scored[: request.top_k or DEFAULT_TOP_K]
        events = event_views(shown, reading.walk, reading.steering, reading.policy, request.explain)
        anchors = anchor_views(reading.anchors)
    return QueryResult(
        intent={intent.value: round(share, 6) for intent, share in reading.route.intents.shares().items()},
        window=window_view(reading.route.window, reading.reference),
        anchors=anchors,
        events=events,
        context=reading.context.text,
        tokens=reading.context.tokens,
        degraded=[name.value for name in reading.degraded],
        timings_ms=reading.stopwatch.timings(),
        explanation=explanation(reading) if request.explain else None,
    )


def window_view(window: DateSpan | None, reference: datetime | None) -> SpanView | None:
    """Show the question's window on the calendar of its reference."""
    if window is None or reference is None:
        return None
    offset = reference.utcoffset()
    return SpanView.of(window, round(offset.total_seconds() / 60) if offset is not None else 0)


def anchor_views(anchors: Sequence[Anchor]) -> list[AnchorView]:
    """Show the anchors, best first, with what each list gave them."""
    return [
        AnchorView(
            id=anchor.id,
            rrf=anchor.rrf,
            lists={
                name: ListShare(rank=share.rank, score=share.score, term=share.term)
                for name, share in anchor.shares.items()
            },
        )
        for anchor in anchors
    ]


def event_views(
    scored: Sequence[Scored], walk: Walk, steering: Steering, policy: Policy, explain: bool
) -> list[ResultEvent]:
    """Show events by falling salience, each with the path that led to it; with `explain` every term."""
    views = []
    for item in scored:
        node = item.candidate.node
        path = walk.path(node.id)
        views.append(
            ResultEvent(
                **event_fields(node),
                salience=item.salience,
                depth=len(path),
                path=[_hop_view(arrival, walk, steering, policy, explain) for arrival in path],
                terms={term.value: value for term, value in item.terms.items()} if explain else None,
            )
        )
    return views


def _hop_view(arrival: Arrival, walk: Walk, steering: Steering, policy: Policy, explain: bool) -> HopView:
    hop = arrival.hop
    terms = HopTerms(
        relation=hop.relation,
        phi=arrival.phi,
        strength=hop.strength,
        cosine=arrival.cosine,
        lambda1=policy.walk.lambda1,
        lambda2=steering.lambda2,
        gamma=policy.walk.gamma,
        s=arrival.s,
        score_from=walk.visits[hop.source].score,
    )
    return HopView(
        from_=hop.source,
        edge=hop.edge,
        to=hop.target,
        score=arrival.score,
        origin=hop.origin,
        forward=hop.forward,
        via=hop.via,
        terms=terms if explain else None,
    )


def explanation(reading: Reading) -> Explanation:
    """Show how the question was understood and what the walk was steered by."""
    return Explanation(
        policy=reading.policy.name,
        cues=list(reading.route.cues),
        names=list(reading.route.names),
        keywords=reading.route.keywords,
        reference=reading.reference,
        relation_weights=dict(reading.steering.relation),
        lambda2=reading.steering.lambda2,
        beam=reading.steering.beam,
        visited=len(reading.walk.visits),
        exhausted=reading.walk.exhausted,
    )
