"""Small array functions that features are written with. All are deterministic and safe for empty input."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix = NDArray[np.float32]

Reducer = Callable[..., Floats]


def over_best(values: Floats) -> Floats:
    """Divide by the largest value; zeros when nothing is positive."""
    best = values.max() if values.size else 0.0
    return values / best if best > 0 else np.zeros_like(values)


def standardised(values: Floats) -> Floats:
    """Give z-scores; zeros when the values do not differ."""
    spread = values.std() if values.size else 0.0
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros(len(values))


def falling_rank(values: Floats) -> Floats:
    """Give each value's place, 0 for the largest; equal values stand in the order they are given in."""
    places = np.empty(len(values))
    places[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return places


def per_segment(values: Floats, starts: Ints, lengths: Ints) -> Floats:
    """Add up values that stand segment by segment; 0 for an empty segment."""
    sums = np.zeros((len(lengths), *values.shape[1:]))
    filled = lengths > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values, starts[filled], axis=0)
    return sums


def best_per_segment(values: Matrix, starts: Ints, lengths: Ints) -> Matrix:
    """Give the maxima of values that stand segment by segment; 0 for an empty segment."""
    best = np.zeros((len(lengths), *values.shape[1:]), dtype=np.float32)
    filled = lengths > 0
    if filled.any():
        best[filled] = np.maximum.reduceat(values, starts[filled], axis=0)
    return best


def sum_by_group(values: Floats, groups: Ints) -> Floats:
    """Add up by group number; groups are numbered without gaps."""
    return _by_group(values, groups, np.add)


def best_by_group(values: Floats, groups: Ints) -> Floats:
    """Give the maxima by group number; groups are numbered without gaps."""
    return _by_group(values, groups, np.maximum)


def mean_of_best(values: Floats, groups: Ints, count: int) -> Floats:
    """Give the mean of the `count` largest values of each group; groups are numbered without gaps."""
    order = np.lexsort((-values, groups))
    ordered = groups[order]
    number = int(groups.max()) + 1
    first = np.searchsorted(ordered, np.arange(number))
    taken = np.arange(len(groups)) - first[ordered] < count
    sums = np.bincount(ordered[taken], values[order][taken], minlength=number)
    found: Floats = sums / np.maximum(np.bincount(ordered[taken], minlength=number), 1)
    return found


def _by_group(values: Floats, groups: Ints, ufunc: np.ufunc) -> Floats:
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
    found: Floats = ufunc.reduceat(values[order], starts, axis=0)
    return found
