"""Builders for tests of pure retrieval: nodes, hops and a small world to walk in."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memory.events import EventKind, EventNode, derive_id
from memory.relations import EdgeType, Origin
from query_api.policy import Steering
from query_api.ranking import Candidate, Scored, Term
from query_api.traversal import Hop, Visit

TENANT = "t"
DAY_US = 86_400_000_000
#: 8 May 2023 13:56 UTC
START_US = 1_683_554_160_000_000


def node(
    name: str, *, text: str = "something", at_us: int = START_US, session: str = "s1", **given: object
) -> EventNode:
    base = EventNode(
        tenant=TENANT,
        id=name,
        ref=name,
        source="",
        session=session,
        agent="Ann",
        kind=EventKind.MESSAGE,
        text=text,
        speaker="Ann",
        occurred_us=at_us,
        offset_minutes=0,
        sequence=0,
        ingested_us=at_us,
        arrival=0,
        digest=derive_id(TENANT, "", name),
    )
    return replace(base, **given)  # type: ignore[arg-type]


def scored(found: EventNode, salience: float) -> Scored:
    candidate = Candidate(node=found, visit=Visit(found.id, 0, 1.0), cosine=0.0)
    return Scored(candidate, salience, {Term.RRF: salience})


def hop(source: str, target: str, edge: EdgeType, *, forward: bool = True, strength: float = 1.0) -> Hop:
    return Hop(source, target, edge, forward, strength, Origin.RULE)


class World:
    """Edges and cosines given beforehand; hops come in an order drawn from `seed`. Counts its round trips."""

    def __init__(self, edges: Sequence[tuple[str, str, EdgeType]], cosines: Mapping[str, float], seed: int = 0) -> None:
        self.edges = list(edges)
        self._cosines = dict(cosines)
        self._known: dict[str, float] = {}
        self._ceiling = 1.0
        self._shuffle = random.Random(seed)
        self.hop_calls: list[list[str]] = []
        self.cosine_calls: list[list[str]] = []

    def draw_pool(self, size: int) -> None:
        """Let the best cosines be known beforehand, as a search would."""
        best = sorted(self._cosines.items(), key=lambda item: (-item[1], item[0]))[:size]
        self._known = dict(best)
        self._ceiling = min(self._known.values(), default=1.0)

    async def hops(self, frontier: Sequence[str]) -> Sequence[Hop]:
        self.hop_calls.append(list(frontier))
        here = set(frontier)
        found = [hop(a, b, edge) for a, b, edge in self.edges if a in here]
        found += [hop(b, a, edge, forward=False) for a, b, edge in self.edges if b in here]
        self._shuffle.shuffle(found)
        return found

    def known(self, id_: str) -> float | None:
        return self._known.get(id_)

    @property
    def ceiling(self) -> float:
        return self._ceiling

    async def cosines(self, ids: Sequence[str]) -> Mapping[str, float]:
        self.cosine_calls.append(list(ids))
        return {id_: self._cosines[id_] for id_ in ids if id_ in self._cosines}


def steering(policy_row: Mapping[str, float], *, lambda2: float, beam: int = 10) -> Steering:
    from memory.relations import Relation

    return Steering(
        relation={Relation(name): weight for name, weight in policy_row.items()},
        lambda2=lambda2,
        depth=5,
        beam=beam,
        cause_to_effect=1.0,
        effect_to_cause=1.0,
        window_binds_all=True,
    )
