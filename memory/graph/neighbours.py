"""From the answer of the neighbours query to typed, deduplicated edges: pure.

The same edge may be stored twice (concurrent writers on a server that does not hold relationships unique), so the
answer is keyed here: an edge counts once.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory.graph.model import Hub, NeighbourEdge, Neighbourhood
from memory.relations import EdgeType, Origin

#: Most direct edges and most entities of one event that are followed. NEXT, CAUSES of inference and SIMILAR are bounded
#: where they are written; causes that producers name, and names in a long text, are not.
MAX_DIRECT = 256
MAX_ENTITIES = 128
#: Enum members by value: a look-up costs a tenth of a call of the enum.
_EDGES = {edge.value: edge for edge in EdgeType}
_ORIGINS = {origin.value: origin for origin in Origin}
_RULES = {EdgeType.NEXT: "event time", EdgeType.SIMILAR: "cosine"}


def neighbourhood(parts: Mapping[str, Sequence[Sequence[Any]]], strip: int) -> Neighbourhood:
    """Build the neighbourhood from the parts of `Query.NEIGHBOURS`; `strip`: length of the tenant's prefix of uids."""
    edges: dict[tuple[Any, ...], NeighbourEdge] = {}
    for row in _bounded(parts.get("direct", ()), MAX_DIRECT, _surest):
        key = (row[0], row[1], row[2], bool(row[3]), row[7] or "")
        if key not in edges:
            edges[key] = _direct(row, strip)
    members: dict[str, list[Sequence[Any]]] = {}
    for row in parts.get("members", ()):
        members.setdefault(row[0], []).append(row)
    hubs: dict[tuple[str, str], Hub] = {}
    for row in _bounded(parts.get("touched", ()), MAX_ENTITIES, _rarest):
        event, entity, name, events = row[0], row[1], row[2], row[3]
        if entity not in members:
            hubs[(event, entity)] = Hub(event[strip:], entity[strip:], name, events)
            continue
        for member in members[entity]:
            if member[1] == event:
                continue
            joint, edge = (event, member[1], "entity", entity), _joined(row, member, strip)
            if joint not in edges or edges[joint].strength < edge.strength:
                edges[joint] = edge
    return Neighbourhood(
        edges=tuple(edges[key] for key in sorted(edges)), hubs=tuple(hubs[key] for key in sorted(hubs))
    )


def _bounded(
    rows: Sequence[Sequence[Any]], most: int, rank: Callable[[Sequence[Any]], tuple[Any, ...]]
) -> Sequence[Sequence[Any]]:
    """Keep the `most` best rows of each event by `rank`; hardly any event has more."""
    if max(Counter(row[0] for row in rows).values(), default=0) <= most:
        return rows
    taken: Counter[str] = Counter()
    kept = []
    for row in sorted(rows, key=rank):
        taken[row[0]] += 1
        if taken[row[0]] <= most:
            kept.append(row)
    return kept


def _surest(row: Sequence[Any]) -> tuple[Any, ...]:
    """Order direct edges: the chain, then by falling strength."""
    _, target, name, forward, _, strength, _, kind, _ = row
    weight = 1.0 if strength is None else float(strength)
    return (name != EdgeType.NEXT.value, -weight, target, name, bool(forward), kind or "")


def _rarest(row: Sequence[Any]) -> tuple[Any, ...]:
    """Order entities by rarity: what few events share tells most."""
    return (row[3], row[1], row[4])


def _direct(row: Sequence[Any], strip: int) -> NeighbourEdge:
    source, target, name, forward, gap_us, strength, origin, kind, rule = row
    edge = _EDGES[name]
    weight = 1.0 if strength is None else float(strength)
    return NeighbourEdge(
        source=source[strip:],
        target=target[strip:],
        edge=edge,
        forward=bool(forward),
        strength=min(1.0, max(0.0, weight)),
        origin=_ORIGINS[origin] if origin else Origin.RULE,
        confidence=weight if edge is EdgeType.CAUSES else 1.0,
        kind=kind or "",
        rule=rule or _RULES.get(edge, ""),
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
        origin=_ORIGINS[near_origin if near <= far else far_origin],
        confidence=min(near, far),
        rule=(near_rule if near <= far else far_rule) or "",
        via=entity[strip:],
        via_events=events,
    )
