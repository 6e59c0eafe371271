"""Where the causal edges come from over which an answer was reached: read for an explanation only."""

from collections.abc import Iterable

from memory.graph import GraphReader
from memory.relations import CausalEdge, EdgeType
from query_api.models import CauseView, HopView, QueryResult


async def with_reasons(reader: GraphReader, result: QueryResult) -> QueryResult:
    """Give the result with the provenance of every causal hop; one query, none without such a hop."""
    hops = [hop for event in result.events for hop in event.path if hop.edge is EdgeType.CAUSES]
    if not hops:
        return result
    edges = _by_ends(await reader.causes(sorted({_ends(hop)[1] for hop in hops})))

    def told(hop: HopView) -> HopView:
        edge = edges.get(_ends(hop)) if hop.edge is EdgeType.CAUSES else None
        return hop if edge is None else hop.model_copy(update={"cause": _view(edge)})

    events = [event.model_copy(update={"path": [told(hop) for hop in event.path]}) for event in result.events]
    return result.model_copy(update={"events": events})


def _ends(hop: HopView) -> tuple[str, str]:
    return (hop.from_, hop.to) if hop.forward else (hop.to, hop.from_)


def _by_ends(edges: Iterable[CausalEdge]) -> dict[tuple[str, str], CausalEdge]:
    """Give of each pair the surest edge: it is the one that was walked."""
    found: dict[tuple[str, str], CausalEdge] = {}
    for edge in sorted(edges, key=lambda edge: edge.provenance.confidence):
        found[edge.cause, edge.effect] = edge
    return found


def _view(edge: CausalEdge) -> CauseView:
    source = edge.provenance
    return CauseView(
        kind=edge.kind,
        confidence=source.confidence,
        rule=source.rule,
        model=source.model,
        prompt_version=source.prompt_version,
        rationale=source.rationale,
        evidence=list(source.evidence),
    )
