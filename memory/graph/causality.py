"""Which causal edges may enter the graph: one place, pure.

Rules (decisions of this project on arXiv 2601.03236, Alg. 3): confidence of at least 0.7; no self-loop; no duplicate of
(cause, effect, kind); no effect before its cause, unless the dates that the two events speak of overlap at their
precision; no edge that closes a cycle; at most 5 inferred edges in and 5 out of an event.

What the producer says itself (`Origin.PRODUCER`: parent span, `caused_by`) is certain: it is exempt from the bounds on
number and confidence and from the clocks, which differ between hosts. It is never exempt from acyclicity.

An edge keeps one provenance: the firmest origin that says it. Edges of rules run forward in a chain, so they close no
cycle by themselves, and they are withdrawn when the rules no longer give them (`memory.graph.rule_causes`).
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum

from memory.relations import CausalEdge, Origin

#: Least confidence of an inferred cause.
MIN_CONFIDENCE = 0.7
#: Most inferred edges into and out of one event.
MAX_EDGES = 5

Key = tuple[str, str, str]


class Refusal(StrEnum):
    """Why an edge was not taken."""

    UNSURE = "unsure"
    SELF_LOOP = "self_loop"
    NOT_STORED = "not_stored"
    DUPLICATE = "duplicate"
    EFFECT_FIRST = "effect_first"
    CROWDED = "crowded"
    CYCLE = "cycle"
    UNPROVEN = "unproven"  # the search for a cycle reached its bound


@dataclass(frozen=True, slots=True)
class End:
    """An event as an end of a causal edge. `spans`: intervals it speaks of; counts are of inferred edges."""

    order: tuple[int, int, str]
    spans: tuple[tuple[int, int], ...] = ()
    causes_out: int = 0
    causes_in: int = 0

    @property
    def times(self) -> tuple[tuple[int, int], ...]:
        """The half-open intervals in which what it tells may have happened, in UTC microseconds."""
        return self.spans or ((self.order[0], self.order[0] + 1),)


@dataclass(frozen=True, slots=True)
class Onward:
    """Stored causal edges that lead onward from the candidates' effects; `complete`: nothing relevant is left out."""

    edges: Mapping[str, Iterable[str]] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Stored:
    """Who says that a stored edge holds, and how surely."""

    origin: Origin
    confidence: float


@dataclass(slots=True)
class Decision:
    """What was taken, in the order of taking, and what was not and why."""

    taken: list[CausalEdge] = field(default_factory=list)
    refused: list[tuple[CausalEdge, Refusal]] = field(default_factory=list)


def key_of(edge: CausalEdge) -> Key:
    """Give the edge's key: writing it twice changes nothing."""
    return (edge.cause, edge.effect, edge.kind.value)


def overlaps(one: End, other: End) -> bool:
    """Tell whether the times that two events speak of overlap, so that their order is open."""
    return any(a < d and c < b for a, b in one.times for c, d in other.times)


def is_loose(cause: End, effect: End) -> bool:
    """Tell whether the edge runs against the chain's order; only such edges can close a cycle."""
    return cause.order > effect.order


def inferred(edge: CausalEdge) -> bool:
    """Tell whether somebody else than the producer says so; only such edges are counted and bounded."""
    return edge.provenance.origin is not Origin.PRODUCER


def firmer(edges: Iterable[CausalEdge], stored: Mapping[Key, Stored]) -> list[CausalEdge]:
    """Give the edges whose provenance takes the place of the stored one: it must outlive the rule that saw it first.

    The producer's word takes the place of any other, a model's that of a rule which is no surer.
    """
    found: dict[Key, CausalEdge] = {}
    for edge in edges:
        known, origin = stored.get(key_of(edge)), edge.provenance.origin
        if known is None or origin is Origin.RULE or known.origin == origin or known.origin == Origin.PRODUCER:
            continue
        surer = edge.provenance.confidence >= max(MIN_CONFIDENCE, known.confidence)
        if origin is Origin.PRODUCER or (known.origin == Origin.RULE and surer):
            found.setdefault(key_of(edge), edge)
    return list(found.values())


def screen(edges: Sequence[CausalEdge], ends: Mapping[str, End], stored: AbstractSet[Key]) -> Decision:
    """Apply every rule that needs neither counts nor paths. `ends` by event id; `stored`: keys of stored edges.

    What is taken comes in the order in which it should be considered: the producer's, then edges along time, then
    loose ones, each by falling confidence.
    """
    decision = Decision()
    seen = set(stored)
    for edge in edges:
        refusal = _screened(edge, ends, seen)
        if refusal is None:
            seen.add(key_of(edge))
            decision.taken.append(edge)
        else:
            decision.refused.append((edge, refusal))
    decision.taken.sort(
        key=lambda edge: (
            edge.provenance.origin is not Origin.PRODUCER,
            is_loose(ends[edge.cause], ends[edge.effect]),
            -edge.provenance.confidence,
            key_of(edge),
        )
    )
    return decision


def _screened(edge: CausalEdge, ends: Mapping[str, End], seen: set[Key]) -> Refusal | None:
    if edge.cause == edge.effect:
        return Refusal.SELF_LOOP
    if edge.cause not in ends or edge.effect not in ends:
        return Refusal.NOT_STORED
    if key_of(edge) in seen:
        return Refusal.DUPLICATE
    if edge.provenance.origin is Origin.PRODUCER:
        return None
    if not edge.provenance.confidence >= MIN_CONFIDENCE:  # also refuses NaN
        return Refusal.UNSURE
    cause, effect = ends[edge.cause], ends[edge.effect]
    if is_loose(cause, effect) and not overlaps(cause, effect):
        return Refusal.EFFECT_FIRST
    return None


def slack_us(edges: Iterable[CausalEdge], ends: Mapping[str, End]) -> tuple[int, int]:
    """Count the loose edges, and add up how far back in time they lead, in microseconds."""
    loose = [edge for edge in edges if is_loose(ends[edge.cause], ends[edge.effect])]
    return len(loose), sum(ends[edge.cause].order[0] - ends[edge.effect].order[0] for edge in loose)


def admit(candidates: Sequence[CausalEdge], ends: Mapping[str, End], onward: Onward, *, stored_loose: bool) -> Decision:
    """Take candidates (from `screen`) one after the other while the bounds hold and no cycle closes.

    `stored_loose`: loose edges are stored already. Without any loose edge no cycle is possible and none is searched.
    """
    decision = Decision()
    out = {ident: end.causes_out for ident, end in ends.items()}
    into = {ident: end.causes_in for ident, end in ends.items()}
    paths: dict[str, set[str]] = {source: set(targets) for source, targets in onward.edges.items()}
    any_loose = stored_loose
    for edge in candidates:
        counted = inferred(edge)
        loose = is_loose(ends[edge.cause], ends[edge.effect])
        if counted and (out[edge.cause] >= MAX_EDGES or into[edge.effect] >= MAX_EDGES):
            decision.refused.append((edge, Refusal.CROWDED))
            continue
        if any_loose or loose:
            if _reaches(paths, edge.effect, edge.cause):
                decision.refused.append((edge, Refusal.CYCLE))
                continue
            if not onward.complete:
                decision.refused.append((edge, Refusal.UNPROVEN))
                continue
        any_loose = any_loose or loose
        out[edge.cause] += counted
        into[edge.effect] += counted
        paths.setdefault(edge.cause, set()).add(edge.effect)
        decision.taken.append(edge)
    return decision


def _reaches(paths: Mapping[str, set[str]], start: str, goal: str) -> bool:
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        fresh = paths.get(node, set()) - seen
        seen |= fresh
        stack.extend(fresh)
    return False
