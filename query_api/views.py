"""From what a query found out to what it shows."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from memory.dates import DateSpan
from query_api.anchors import Anchor
from query_api.models import (
    DEFAULT_TOP_K,
    AnchorView,
    Explanation,
    QueryRequest,
    QueryResult,
    ResultEvent,
    SpanView,
    event_fields,
)
from query_api.ranking import NAMES, FittedRanker, Scored
from query_api.reading import Reading
from query_api.traversal import Arrival, transition

# a list is made in one call of the validator: several times as fast as model by model
_ANCHORS = TypeAdapter(list[AnchorView])
_EVENTS = TypeAdapter(list[ResultEvent])


def result_view(reading: Reading, request: QueryRequest) -> QueryResult:
    """Show a reading as `POST /v1/query` answers it; making the views counts into `synthesize`."""
    with reading.stopwatch.stage("synthesize"):
        shown = reading.scored[: request.top_k or DEFAULT_TOP_K]
        events = event_views(shown, reading, request.explain)
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
    return _ANCHORS.validate_python(
        [
            {
                "id": anchor.id,
                "rrf": anchor.rrf,
                "lists": {
                    name: {"rank": share.rank, "score": share.score, "term": share.term}
                    for name, share in anchor.shares.items()
                },
            }
            for anchor in anchors
        ]
    )


def event_views(scored: Sequence[Scored], reading: Reading, explain: bool) -> list[ResultEvent]:
    """Show events by falling salience, each with the path that led to it; with `explain` the terms of its salience.

    What the walk did not visit was found by a search, or stands beside such a hit: then its path leads from that hit.
    """
    views: list[dict[str, object]] = []
    cosines = {item.candidate.node.id: item.candidate.cosine for item in reading.scored}
    for item in scored:
        node = item.candidate.node
        path = reading.walk.path(node.id) if node.id in reading.walk.visits else _way(node.id, reading, cosines)
        fields = event_fields(node)
        fields["salience"] = item.salience
        fields["depth"] = len(path)
        fields["path"] = [_hop_fields(arrival, reading, explain) for arrival in path]
        if explain:
            fields["terms"] = {str(term): value for term, value in item.terms.items()}
        views.append(fields)
    return _EVENTS.validate_python(views)


def explained(result: QueryResult, reading: Reading) -> QueryResult:
    """Add what the ranker measured of each event, and what each relation gives it; for rankers that measure.

    Measures everything again a few times: a few tens of milliseconds.
    """
    ranker = reading.ranker
    if not isinstance(ranker, FittedRanker):
        return result
    measured = ranker.measure(reading.candidates, reading.evidence, reading.policy)
    relations = ranker.contributions(reading.candidates, reading.evidence, reading.policy)
    row = {id_: index for index, id_ in enumerate(measured.ids)}
    events = [
        event.model_copy(
            update={
                "features": dict(zip(NAMES, (round(float(x), 6) for x in measured.matrix[row[event.id]]), strict=True)),
                "relations": relations[event.id],
            }
        )
        for event in result.events
    ]
    return result.model_copy(update={"events": events})


def _way(id_: str, reading: Reading, cosines: Mapping[str, float]) -> list[Arrival]:
    """Score the steps in time from a hit to an event beside it by eq. 5-6, as if the walk had taken them."""
    found: list[Arrival] = []
    for hop in reading.beside.ways.get(id_, ()):
        cosine = cosines.get(hop.target, 0.0)
        phi, s = transition(reading.steering, reading.policy.walk, hop, cosine)
        score = found[-1].score if found else _start(hop.source, reading)
        found.append(Arrival(hop, phi, cosine, s, reading.policy.walk.gamma * score + s))
    return found


def _start(id_: str, reading: Reading) -> float:
    visit = reading.walk.visits.get(id_)
    return 0.0 if visit is None else visit.score


def _hop_fields(arrival: Arrival, reading: Reading, explain: bool) -> dict[str, object]:
    hop = arrival.hop
    return {
        "from": hop.source,
        "edge": hop.edge,
        "to": hop.target,
        "score": arrival.score,
        "origin": hop.origin,
        "forward": hop.forward,
        "via": hop.via,
        "terms": _hop_terms(arrival, reading) if explain else None,
    }


def _hop_terms(arrival: Arrival, reading: Reading) -> dict[str, object]:
    gamma = reading.policy.walk.gamma
    return {
        "relation": arrival.hop.relation,
        "phi": arrival.phi,
        "strength": arrival.hop.strength,
        "cosine": arrival.cosine,
        "lambda1": reading.policy.walk.lambda1,
        "lambda2": reading.steering.lambda2,
        "gamma": gamma,
        "s": arrival.s,
        "score_from": round((arrival.score - arrival.s) / gamma, 9) if gamma else 0.0,
    }


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
