"""What a question wants, as a distribution (arXiv 2601.03236, section 3.3, with GENERAL added for "not sure")."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Intent(StrEnum):
    """One of the kinds of question that a policy weighs relations for."""

    WHY = "WHY"
    WHEN = "WHEN"
    ENTITY = "ENTITY"
    GENERAL = "GENERAL"


@dataclass(frozen=True, slots=True)
class IntentMix:
    """A distribution over `Intent`: four shares in [0, 1] that sum to 1."""

    why: float = 0.0
    when: float = 0.0
    entity: float = 0.0
    general: float = 0.0

    def __post_init__(self) -> None:
        shares = tuple(self.shares().values())
        if min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
            raise ValueError(f"not a distribution: {shares}")

    @classmethod
    def of(cls, evidence: Mapping[Intent, float]) -> "IntentMix":
        """Normalise non-negative evidence to a distribution; no evidence at all is GENERAL."""
        total = sum(evidence.values())
        if total <= 0:
            return cls(general=1.0)
        return cls(
            why=evidence.get(Intent.WHY, 0.0) / total,
            when=evidence.get(Intent.WHEN, 0.0) / total,
            entity=evidence.get(Intent.ENTITY, 0.0) / total,
            general=evidence.get(Intent.GENERAL, 0.0) / total,
        )

    @classmethod
    def only(cls, intent: Intent) -> "IntentMix":
        """Be certain of one intent."""
        return cls.of({intent: 1.0})

    def shares(self) -> dict[Intent, float]:
        """Give the share of each intent, in the order of `Intent`."""
        return {
            Intent.WHY: self.why,
            Intent.WHEN: self.when,
            Intent.ENTITY: self.entity,
            Intent.GENERAL: self.general,
        }

    @property
    def top(self) -> Intent:
        """The intent with the largest share; the order of `Intent` breaks ties."""
        shares = self.shares()
        return max(shares, key=lambda intent: shares[intent])
