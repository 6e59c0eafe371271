"""Policy-guided beam search over the four relations (arXiv 2601.03236, Alg. 1, eq. 5-6).

    S(v | u, q) = exp( λ1 · φ(type(u→v), intent) + λ2 · cos(v, q) )
    score(v)    = γ · score(u) + S(v | u, q)

Pure: what surrounds a node comes from a `Surroundings`. Depth and budget are hard. The result depends on the set of
hops only, not on the order they come in: every comparison ends in ids.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.relations import RELATION_OF, EdgeType, Origin, Relation
from query_api.policy import Steering, WalkPolicy


@dataclass(frozen=True, slots=True)
class Hop:
    """One step that can be taken from `source` to `target`; both are events.

    `forward`: along the edge's arrow. `strength` in (0, 1]: causal confidence, cosine, rarity of the entity.
    `via`: normal form of the entity that a step event → entity → event passes through.
    """

    source: str
    target: str
    edge: EdgeType
    forward: bool
    strength: float = 1.0
    origin: Origin | None = None
    via: str = ""

    @property
    def relation(self) -> Relation:
        """Which of the four relations the step belongs to."""
        return RELATION_OF[self.edge]


class Surroundings(Protocol):
    """What the walk sees of the memory; each method is one round trip for a whole frontier."""

    async def hops(self, frontier: Sequence[str]) -> Sequence[Hop]:
        """Give every step out of the frontier's nodes, which stand by falling score.

        Raises `Retryable` when the store does not answer.
        """
        ...

    async def cosines(self, ids: Sequence[str]) -> Mapping[str, float]:
        """Give cos(v, q) for the ids; one without a vector is absent. Raises `Retryable` as `hops` does."""
        ...

    def known(self, id_: str) -> float | None:
        """Give cos(v, q) when it is known already, without asking anybody."""
        ...

    @property
    def ceiling(self) -> float:
        """What no cosine that is not known exceeds; 1 when nothing can be said."""
        ...


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a hop scored: `s` is S(v | u, q) with its factors, `score` the cumulative score of eq. 6."""

    hop: Hop
    phi: float
    cosine: float
    s: float
    score: float


@dataclass(frozen=True, slots=True)
class Visit:
    """A visited node. `arrival` is None for an anchor (depth 0), else the best hop, whose source is the predecessor."""

    id: str
    depth: int
    score: float
    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Walk:
    """The outcome of a walk.

    `visits`: in visiting order; `best`: for each visited node the hop seen with the highest S, anchors included;
    `cosines`: cos(v, q) of the visited nodes; `causes`: (cause, effect) pairs seen between visited nodes;
    `chain`: (earlier, later) pairs of neighbours in time among them;
    `missing`: visited nodes that have no vector; `exhausted`: the budget ended the walk.
    """

    visits: Mapping[str, Visit]
    best: Mapping[str, Arrival]
    cosines: Mapping[str, float]
    causes: frozenset[tuple[str, str]]
    chain: frozenset[tuple[str, str]]
    missing: frozenset[str]
    exhausted: bool

    def path(self, id_: str) -> list[Arrival]:
        """Give the hops from an anchor to the node, in walking order; empty for an anchor."""
        hops: list[Arrival] = []
        arrival = self.visits[id_].arrival
        while arrival is not None:
            hops.append(arrival)
            arrival = self.visits[arrival.hop.source].arrival
        return hops[::-1]


def _phi(steering: Steering, policy: WalkPolicy, hop: Hop) -> float:
    """Give φ of eq. 5, which no cosine changes."""
    phi = steering.relation[hop.relation]
    if hop.edge is EdgeType.CAUSES:
        phi *= steering.cause_to_effect if hop.forward else steering.effect_to_cause
    return phi * hop.strength if policy.strength else phi


def transition(steering: Steering, policy: WalkPolicy, hop: Hop, cosine: float) -> tuple[float, float]:
    """Give (φ, S) of eq. 5; φ is the relation's weight times direction and, if the policy says so, edge strength."""
    phi = _phi(steering, policy, hop)
    return phi, math.exp(policy.lambda1 * phi + steering.lambda2 * cosine)


async def walk(anchors: Mapping[str, float], around: Surroundings, steering: Steering, policy: WalkPolicy) -> Walk:
    """Walk from the anchors (id → start score) and return everything visited.

    Anchors beyond the budget are left out, weakest first. Raises what `around` raises.
    """
    starts = sorted(anchors.items(), key=lambda item: (-item[1], item[0]))[: policy.budget]
    state = _State(steering, policy, {id_: Visit(id_, 0, score) for id_, score in starts})
    frontier = [id_ for id_, _ in starts]
    for depth in range(1, min(steering.depth, policy.depth) + 1):
        room = policy.budget - len(state.visits)
        if not frontier or room <= 0:
            break
        hops = [hop for hop in await around.hops(frontier) if hop.relation in steering.relation]
        state.meet(hops)
        await state.learn(around, [*frontier, *state.contenders(around, hops, min(steering.beam, room))])
        candidates = state.score(hops)
        chosen = sorted(candidates.values(), key=lambda arrival: (-arrival.score, arrival.hop.target))
        frontier = []
        for arrival in chosen[: min(steering.beam, room)]:
            state.visits[arrival.hop.target] = Visit(arrival.hop.target, depth, arrival.score, arrival)
            frontier.append(arrival.hop.target)
    await state.learn(around, list(state.visits))
    return state.walk()


class _State:
    """What a walk knows so far."""

    def __init__(self, steering: Steering, policy: WalkPolicy, visits: dict[str, Visit]) -> None:
        self.visits = visits
        self._steering = steering
        self._policy = policy
        self._hops: list[Hop] = []
        self._cosines: dict[str, float] = {}
        self._asked: set[str] = set()
        self._arrows: dict[EdgeType, set[tuple[str, str]]] = {EdgeType.CAUSES: set(), EdgeType.NEXT: set()}

    async def learn(self, around: Surroundings, ids: Iterable[str]) -> None:
        """Fetch the cosines that are not known yet, in one call and in a fixed order."""
        wanted = sorted(set(ids) - self._asked)
        if wanted:
            self._cosines.update(await around.cosines(wanted))
            self._asked.update(wanted)

    def meet(self, hops: Iterable[Hop]) -> None:
        """Remember the hops: the arrows between events, and what may turn out the best way to an event."""
        for hop in hops:
            if hop.edge in self._arrows:
                self._arrows[hop.edge].add((hop.source, hop.target) if hop.forward else (hop.target, hop.source))
            if hop.target != hop.source:
                self._hops.append(hop)

    def contenders(self, around: Surroundings, hops: Sequence[Hop], beam: int) -> set[str]:
        """Give the targets whose cosine must be known to choose the beam: the others cannot get in, whatever it is.

        The highest score each can have is compared with the `beam`-th best of the least each must have.
        """
        least: dict[str, float] = {}
        most: dict[str, float] = {}
        gamma, lambda1, lambda2 = self._policy.gamma, self._policy.lambda1, self._steering.lambda2
        ceiling = around.ceiling
        for hop in hops:
            if hop.target in self.visits or hop.target == hop.source:
                continue
            known = around.known(hop.target)
            so_far = gamma * self.visits[hop.source].score
            if known is None:
                phi = _phi(self._steering, self._policy, hop)
                low = so_far + math.exp(lambda1 * phi - lambda2)
                high = so_far + math.exp(lambda1 * phi + lambda2 * ceiling)
            else:
                low = high = so_far + transition(self._steering, self._policy, hop, known)[1]
            least[hop.target] = max(least.get(hop.target, 0.0), low)
            most[hop.target] = max(most.get(hop.target, 0.0), high)
        if self._policy.drop_threshold is not None or len(least) <= beam:
            return set(least)
        bar = heapq.nlargest(beam, least.values())[-1]
        return {id_ for id_, score in most.items() if score >= bar}

    def score(self, hops: Iterable[Hop]) -> dict[str, Arrival]:
        """Score the hops to contenders; give the best arrival at each."""
        candidates: dict[str, Arrival] = {}
        for hop in hops:
            if hop.target in self.visits or hop.target not in self._asked or self._drops(hop):
                continue
            candidates[hop.target] = _better(candidates.get(hop.target), self._arrival(hop), _by_score)
        return candidates

    def _arrival(self, hop: Hop) -> Arrival:
        cosine = self._cosines.get(hop.target, 0.0)
        phi, s = transition(self._steering, self._policy, hop, cosine)
        return Arrival(hop, phi, cosine, s, self._policy.gamma * self.visits[hop.source].score + s)

    def _drops(self, hop: Hop) -> bool:
        threshold = self._policy.drop_threshold
        if threshold is None:
            return False
        return self._cosines.get(hop.source, 0.0) - self._cosines.get(hop.target, 0.0) > threshold

    def _between(self, edge: EdgeType) -> frozenset[tuple[str, str]]:
        seen = self.visits.keys()
        return frozenset((start, end) for start, end in self._arrows[edge] if start in seen and end in seen)

    def walk(self) -> Walk:
        """Freeze the outcome."""
        best: dict[str, Arrival] = {}
        for hop in self._hops:
            if hop.target in self.visits and not self._drops(hop):
                best[hop.target] = _better(best.get(hop.target), self._arrival(hop), _by_s)
        seen = self.visits.keys()
        return Walk(
            visits=self.visits,
            best={id_: best[id_] for id_ in self.visits if id_ in best},
            cosines={id_: self._cosines.get(id_, 0.0) for id_ in self.visits},
            causes=self._between(EdgeType.CAUSES),
            chain=self._between(EdgeType.NEXT),
            missing=frozenset(seen - self._cosines.keys()),
            exhausted=len(self.visits) >= self._policy.budget,
        )


_Key = tuple[float, str, str, str, bool]


def _better(old: Arrival | None, new: Arrival, key: Callable[[Arrival], _Key]) -> Arrival:
    return new if old is None or key(new) < key(old) else old


def _by_s(arrival: Arrival) -> _Key:
    return (-arrival.s, *_tie(arrival))


def _by_score(arrival: Arrival) -> _Key:
    return (-arrival.score, *_tie(arrival))


def _tie(arrival: Arrival) -> tuple[str, str, str, bool]:
    return (arrival.hop.edge, arrival.hop.source, arrival.hop.via, arrival.hop.forward)
