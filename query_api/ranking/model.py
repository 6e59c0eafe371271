"""What is ranked, by what evidence, and what comes out: the types every ranker shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.events import EventNode
from query_api.anchors import Anchor
from query_api.policy import Policy, Steering
from query_api.router import Route
from query_api.traversal import Arrival, Visit, Walk

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A found event and how it was found.

    `visit`: None when the walk did not visit it (a hit of a search, or a neighbour in time of one). `cosine`:
    cos(v, q); `words`: its BM25, 0 when it has none; `best`: the hop with S_max.
    """

    node: EventNode
    visit: Visit | None
    cosine: float
    words: float = 0.0
    anchor: Anchor | None = None
    best: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What ranking may use beside the candidates.

    `usual`: the cosines of the events nearest to the question, wherever they stand. `vector`: the question's, None when
    it has none; `vectors`: of the candidates, by id. `chains`: runs of consecutive events of one session, ids in order.
    `events_stored`: N of every rarity.
    """

    route: Route
    steering: Steering
    walk: Walk
    usual: Sequence[float] = ()
    question: str = ""
    vector: Vector | None = None
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    chains: Sequence[Sequence[str]] = ()
    events_stored: int = 0


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its salience and what it was made of.

    For `SalienceRanker` the terms are weighted parts and sum to the salience. For `FittedRanker` they are the parts of
    `ranking.fitted.Part` that the salience is combined from.
    """

    candidate: Candidate
    salience: float
    terms: Mapping[Any, float]


class Ranker(Protocol):
    """Orders candidates. Must be deterministic and independent of their order."""

    def rank(self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience."""
        ...
