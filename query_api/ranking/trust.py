"""Whose word counts less: events of untrusted sources, and those that only repeat earlier ones, under their salience.

Ranking itself knows no trust, so it is the same for whoever sets nothing. What is lowered stays findable: a context
marks it, and where nothing else answers it still comes first.
"""

from collections.abc import Sequence
from enum import StrEnum

from memory.events import Trust
from query_api.policy import RankingPolicy
from query_api.ranking.model import Scored


class TrustPart(StrEnum):
    """The term of salience that trust takes away: 0 or less."""

    TRUST = "trust"


def heed_trust(scored: Sequence[Scored], policy: RankingPolicy) -> list[Scored]:
    """Give the events by falling salience, lowered by the policy's factors; equal saliences are ordered by id."""
    if policy.untrusted == policy.recalled == 1.0:
        return list(scored)
    return sorted((_heeded(item, policy) for item in scored), key=lambda item: (-item.salience, item.candidate.node.id))


def _heeded(item: Scored, policy: RankingPolicy) -> Scored:
    node = item.candidate.node
    factor = policy.untrusted if node.trust is Trust.UNTRUSTED else 1.0
    if node.derived_from:
        factor *= policy.recalled
    lowered = min(item.salience, item.salience * factor)  # what is below 0 is not raised
    if lowered == item.salience:
        return item
    return Scored(item.candidate, lowered, {**item.terms, TrustPart.TRUST: lowered - item.salience})
