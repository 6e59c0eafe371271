"""From the answer of the neighbours query to typed, deduplicated edges: pure.

The same edge may be stored twice (concurrent writers on a server that does not hold relationships unique), so the
answer is keyed here: an edge counts once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from memory.graph.model import Hub, NeighbourEdge, Neighbourhood
from memory.relations import EdgeType, Origin


def neighbourhood(parts: Mapping[str, Sequence[Sequence[Any]]], strip: int) -> Neighbourhood:
    """Build the neighbourhood from the parts of `Query.NEIGHBOURS`; `strip`: length of the tenant's prefix of uids."""
    edges: dict[tuple[str, ...], NeighbourEdge] = {}
    for row in parts.get("direct", ()):
        edge = _direct(row, strip)
        edges.setdefault((edge.source, edge.target, edge.edge, str(edge.forward), edge.kind), edge)
    members: dict[str, list[Sequence[Any]]] = {}
    for row in parts.get("members", ()):
        members.setdefault(row[0], []).append(row)
    hubs: dict[tuple[str, str], Hub] = {}
    for row in parts.get("touched", ()):
        event, entity, name, events = row[0][strip:], row[1], row[2], row[3]
        if entity not in members:
            hubs[(event, entity)] = Hub(event, entity[strip:], name, events)
            continue
        for member in members[entity]:
            edge = _joined(row, member, strip)
            key = (edge.source, edge.target, "entity", edge.via)
            if edge.source != edge.target and (key not in edges or edges[key].strength < edge.strength):
                edges[key] = edge
    return Neighbourhood(
        edges=tuple(edges[key] for key in sorted(edges)), hubs=tuple(hubs[key] for key in sorted(hubs))
    )


def _direct(row: Sequence[Any], strip: int) -> NeighbourEdge:
    source, target, name, forward, gap_us, strength, origin, kind, rule = row
    edge = EdgeType(name)
    weight = 1.0 if strength is None else float(strength)
    return NeighbourEdge(
        source=source[strip:],
        target=target[strip:],
        edge=edge,
        forward=bool(forward),
        strength=min(1.0, max(0.0, weight)),
        origin=Origin(origin) if origin else Origin.RULE,
        confidence=weight if edge is EdgeType.CAUSES else 1.0,
        kind=kind or "",
        rule=rule or ("event time" if edge is EdgeType.NEXT else "cosine" if edge is EdgeType.SIMILAR else ""),
        gap_us=gap_us or 0,
    )


def _joined(touched: Sequence[Any], member: Sequence[Any], strip: int) -> NeighbourEdge:
    """One step over an entity: as sure as the less sure of its two edges, and that one's origin is shown."""
    source, entity, _, events, near_name, near_confidence, near_origin, near_rule = touched
    _, target, far_name, far_confidence, far_origin, far_rule = member
    near, far = float(near_confidence), float(far_confidence)
    spoken = near_name == far_name == EdgeType.SPOKEN_BY.value
    return NeighbourEdge(
        source=source[strip:],
        target=target[strip:],
        edge=EdgeType.SPOKEN_BY if spoken else EdgeType.MENTIONS,
        forward=True,
        strength=min(near, far),
        origin=Origin(near_origin if near <= far else far_origin),
        confidence=min(near, far),
        rule=(near_rule if near <= far else far_rule) or "",
        via=entity[strip:],
        via_events=events,
    )
