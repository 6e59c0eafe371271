"""The order of what was found: salience, term by term (arXiv 2601.03236, section 3.3; terms are this project's).

The cumulative score of eq. 6 grows with depth, so it steers the walk and does not rank. Every term is kept for the
explanation; another `Ranker` may use any of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from memory.events import EventNode
from memory.names import normal_form
from query_api.anchors import Anchor
from query_api.policy import Policy
from query_api.router import Route
from query_api.traversal import Arrival, Visit


class Term(StrEnum):
    """The parts of salience.

    RRF: the fused anchor score over the best anchor's. WALK: S_max over the highest S of the walk, times γ to the
    depth less one; for an anchor its cosine, when that is more. SPEAKER: a person the question names said it.
    DATE: it happened in, or talks about, the time the question names.
    """

    RRF = "rrf"
    WALK = "walk"
    SPEAKER = "speaker"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A visited event and all that is known of how it was found. `cosine`: cos(v, q); `best`: its hop with S_max."""

    node: EventNode
    visit: Visit
    cosine: float
    anchor: Anchor | None = None
    best: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its salience, the weighted sum of `terms`; each term is already weighted."""

    candidate: Candidate
    salience: float
    terms: Mapping[Term, float]


class Ranker(Protocol):
    """Orders candidates. Must be deterministic and independent of their order."""

    def rank(self, candidates: Sequence[Candidate], route: Route, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience."""
        ...


class SalienceRanker:
    """Weighted sum of the terms, weights from the policy; equal saliences are ordered by id."""

    def rank(self, candidates: Sequence[Candidate], route: Route, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience; empty for none."""
        top_rrf = max((candidate.anchor.rrf for candidate in candidates if candidate.anchor), default=0.0)
        top_s = max((candidate.best.s for candidate in candidates if candidate.best), default=0.0)
        weights = policy.ranking
        scored = []
        for candidate in candidates:
            rrf = candidate.anchor.rrf / top_rrf if candidate.anchor and top_rrf > 0 else 0.0
            terms = {
                Term.RRF: weights.rrf * rrf,
                Term.WALK: weights.walk * _walked(candidate, top_s, policy.walk.gamma),
                Term.SPEAKER: weights.speaker * float(normal_form(candidate.node.speaker) in route.names),
                Term.DATE: weights.date * float(in_window(candidate.node, route)),
            }
            scored.append(Scored(candidate, sum(terms.values()), terms))
        return sorted(scored, key=lambda item: (-item.salience, item.candidate.node.id))


def _walked(candidate: Candidate, top_s: float, gamma: float) -> float:
    if candidate.visit.depth == 0:
        return max(0.0, candidate.cosine)
    if candidate.best is None or top_s <= 0:
        return 0.0
    return candidate.best.s / top_s * gamma ** (candidate.visit.depth - 1)


def in_window(node: EventNode, route: Route) -> bool:
    """Say whether the event happened in the question's window or talks about a time in it; False without a window."""
    window = route.window
    if window is None:
        return False
    if window.start_us <= node.occurred_us < window.end_us:
        return True
    return any(span.start_us < window.end_us and window.start_us < span.end_us for span in node.dates)
