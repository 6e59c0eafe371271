"""Measures of a ranking against its evidence, and their intervals. Pure; all values in [0, 1].

Questions of one conversation share their memory, so they are not independent: intervals resample conversations.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: Resamples of the bootstrap, its seed, and the share of them inside the interval.
RESAMPLES = 2_000
SEED = 20_260_103
LEVEL = 0.95


def recall_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Give the share of the evidence among the first k; the evidence is not empty."""
    return len(set(ranking[:k]) & set(evidence)) / len(set(evidence))


def hit_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Give 1 when all of the evidence stands among the first k, else 0."""
    return float(set(evidence) <= set(ranking[:k]))


def ndcg_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Give the discounted gain of the first k over that of a perfect order: gain 1 at rank r weighs 1/log2(r + 1)."""
    wanted = set(evidence)
    gain = sum(1 / math.log2(rank + 1) for rank, ref in enumerate(ranking[:k], start=1) if ref in wanted)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))


@dataclass(frozen=True, slots=True)
class Spread:
    """A mean and its bootstrap interval."""

    mean: float
    low: float
    high: float


def spread(clusters: Mapping[str, Sequence[float]]) -> Spread:
    """Give the mean over all values, with the interval of resampled clusters; one cluster is resampled by value."""
    sums, counts = _totals(_units(clusters))
    drawn = _draws(len(sums))
    return _spread(float(sums.sum() / counts.sum()), sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))


def ratio(ours: Mapping[str, Sequence[float]], theirs: Mapping[str, Sequence[float]]) -> Spread | None:
    """Give mean(ours) / mean(theirs) with its interval, both resampled together; None when theirs is 0.

    Both hold values for the same questions in the same order.
    """
    ours_sums, _ = _totals(_units(ours))
    theirs_sums, _ = _totals(_units(theirs))
    if theirs_sums.sum() == 0:
        return None
    drawn = _draws(len(ours_sums))
    below = theirs_sums[drawn].sum(axis=1)
    above = ours_sums[drawn].sum(axis=1)
    return _spread(float(ours_sums.sum() / theirs_sums.sum()), above[below > 0] / below[below > 0])


def percentile(values: Sequence[float], share: float) -> float:
    """Give the value below which that share of the values lies; 0 for none."""
    return float(np.percentile(values, share * 100)) if values else 0.0


def _units(clusters: Mapping[str, Sequence[float]]) -> list[Sequence[float]]:
    filled = [values for values in clusters.values() if values]
    return [[value] for value in filled[0]] if len(filled) == 1 else filled


def _totals(units: Sequence[Sequence[float]]) -> "tuple[np.ndarray, np.ndarray]":
    return np.array([math.fsum(unit) for unit in units]), np.array([len(unit) for unit in units], dtype=float)


def _draws(units: int) -> np.ndarray:
    return np.random.default_rng(SEED).integers(0, units, size=(RESAMPLES, units))


def _spread(mean: float, resampled: np.ndarray) -> Spread:
    tail = (1 - LEVEL) / 2 * 100
    low, high = np.percentile(resampled, [tail, 100 - tail])
    return Spread(mean, float(low), float(high))
