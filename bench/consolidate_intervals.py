"""Bootstrap intervals of ratios and their combinations, over documents: events of one are not independent."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.metrics import LEVEL, RESAMPLES, SEED, Spread
from bench.tables import Interval

Sums = NDArray[np.float64]
#: From sums over documents, one a column, to a value; works on rows of them at once.
Statistic = Callable[[Sums], Sums]


def interval(documents: Sequence[Sequence[float]], statistic: Statistic) -> Interval | None:
    """Give the statistic over all documents with its interval; None where it has no value (a division by 0).

    `documents`: for each document the numbers that are summed. Draws without a value are left out.
    """
    rows = np.array(documents, dtype=float)
    drawn = np.random.default_rng(SEED).integers(0, len(rows), size=(RESAMPLES, len(rows)))
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = float(statistic(rows.sum(axis=0, keepdims=True))[0])
        values = statistic(rows[drawn].sum(axis=1))
    values = values[np.isfinite(values)]
    if not np.isfinite(whole) or not len(values):
        return None
    tail = (1 - LEVEL) / 2 * 100
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval.of(Spread(whole, float(low), float(high)))


def share(sums: Sums) -> Sums:
    """The first sum over the second."""
    return np.asarray(sums[:, 0] / sums[:, 1])


def harmonic(sums: Sums) -> Sums:
    """The harmonic mean of two shares: of the first sum in the second, and of the third in the fourth."""
    first, second = sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3]
    return np.asarray(2 * first * second / (first + second))
