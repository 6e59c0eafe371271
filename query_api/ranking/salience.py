"""The order of what was found: salience, term by term (arXiv 2601.03236, section 3.3; terms are this project's).

The cumulative score of eq. 6 grows with depth, so it steers the walk and does not rank. Every term is kept for the
explanation; another `Ranker` may use any of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import numpy as np

from memory.names import normal_form
from memory.relations import EdgeType, Relation
from query_api.policy import Policy, RankingPolicy
from query_api.ranking.model import Candidate, Evidence, Scored
from query_api.ranking.window import in_window
from query_api.router import Route


class Term(StrEnum):
    """The parts of salience. WORDS + MEANING is an event's base score.

    RRF: the fused anchor score over the best anchor's. WALK: S_max over the highest S of the walk, times γ to the
    depth less one; for an anchor its cosine. WORDS: its BM25 over the best BM25. MEANING: how far its cosine stands
    above the mean of the events nearest to the question, in standard deviations, over the largest such distance.
    NEAR: shares of the base scores of its neighbours in time, one and two steps away: who answers stands beside who
    asked. CHAIN: reached by causal steps alone, a share of the base score of the event where the path starts, times
    γ and the strength of each step and the causal weight of the intent. SPEAKER: the one person the question names
    said it. DATE: it happened in, or talks about, the time the question names.
    """

    RRF = "rrf"
    WALK = "walk"
    WORDS = "words"
    MEANING = "meaning"
    NEAR = "near"
    CHAIN = "chain"
    SPEAKER = "speaker"
    DATE = "date"


class SalienceRanker:
    """Weighted sum of the terms, weights from the policy; equal saliences are ordered by id."""

    def rank(self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience; empty for none."""
        weights, route = policy.ranking, evidence.route
        by_id = {candidate.node.id: candidate for candidate in candidates}
        words = _over_best({id_: candidate.words for id_, candidate in by_id.items()})
        meaning = _over_best(_above_usual(by_id.values(), evidence.usual))
        base = {id_: weights.words * words[id_] + weights.meaning * meaning[id_] for id_ in by_id}
        near = _near(base, evidence.walk.chain, weights)
        rrf = _over_best({id_: candidate.anchor.rrf if candidate.anchor else 0.0 for id_, candidate in by_id.items()})
        top_s = max((candidate.best.s for candidate in candidates if candidate.best), default=0.0)
        speaker = _the_speaker(candidates, route)
        scored = []
        for id_, candidate in by_id.items():
            terms = {
                Term.RRF: weights.rrf * rrf[id_],
                Term.WALK: weights.walk * _walked(candidate, top_s, policy.walk.gamma),
                Term.WORDS: weights.words * words[id_],
                Term.MEANING: weights.meaning * meaning[id_],
                Term.NEAR: near[id_],
                Term.CHAIN: weights.chain * _chained(id_, base, evidence, policy.walk.gamma),
                Term.SPEAKER: weights.speaker * float(speaker is not None and speaker == _speaker(candidate)),
                Term.DATE: weights.date * float(in_window(candidate.node, route)),
            }
            scored.append(Scored(candidate, sum(terms.values()), terms))
        return sorted(scored, key=lambda item: (-item.salience, item.candidate.node.id))


def _over_best(values: Mapping[str, float]) -> dict[str, float]:
    best = max(values.values(), default=0.0)
    return {id_: value / best if best > 0 else 0.0 for id_, value in values.items()}


def _above_usual(candidates: Iterable[Candidate], usual: Sequence[float]) -> dict[str, float]:
    if not usual:
        return {candidate.node.id: max(0.0, candidate.cosine) for candidate in candidates}
    mean, spread = float(np.mean(usual)), float(np.std(usual)) or 1.0
    return {candidate.node.id: max(0.0, (candidate.cosine - mean) / spread) for candidate in candidates}


def _near(base: Mapping[str, float], chain: Iterable[tuple[str, str]], weights: RankingPolicy) -> dict[str, float]:
    """Spread base scores along the chain, one and two steps, both ways."""
    beside: dict[str, set[str]] = {id_: set() for id_ in base}
    for earlier, later in chain:
        if earlier in beside and later in beside:
            beside[earlier].add(later)
            beside[later].add(earlier)
    found = {}
    for id_, ones in beside.items():
        twos = {two for one in ones for two in beside[one]} - ones - {id_}
        # sums in a fixed order: floating point addition is not associative
        one_step = sum(base[one] for one in sorted(ones))
        found[id_] = weights.near * one_step + weights.near_two * sum(base[two] for two in sorted(twos))
    return found


def _chained(id_: str, base: Mapping[str, float], evidence: Evidence, gamma: float) -> float:
    path = evidence.walk.path(id_) if id_ in evidence.walk.visits else []
    if not path or any(arrival.hop.edge is not EdgeType.CAUSES for arrival in path):
        return 0.0
    weight = evidence.steering.relation[Relation.CAUSAL]
    share = weight
    for arrival in path:
        # φ is the weight times direction and strength; over the whole path the weight counts once
        share *= gamma * arrival.phi / weight if weight > 0 else 0.0
    return share * base.get(path[0].hop.source, 0.0)


def _walked(candidate: Candidate, top_s: float, gamma: float) -> float:
    if candidate.visit is None or candidate.visit.depth == 0:
        return max(0.0, candidate.cosine)
    if candidate.best is None or top_s <= 0:
        return 0.0
    return candidate.best.s / top_s * gamma ** (candidate.visit.depth - 1)


def _the_speaker(candidates: Iterable[Candidate], route: Route) -> str | None:
    """Give the one speaker that the question names; None when it names none or several."""
    named = {_speaker(candidate) for candidate in candidates} & set(route.names)
    return next(iter(named)) if len(named) == 1 else None


def _speaker(candidate: Candidate) -> str:
    return normal_form(candidate.node.speaker)
