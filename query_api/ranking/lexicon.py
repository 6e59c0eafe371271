"""Static word vectors: how near two words are, without a model run. A table look-up, no stored text is encoded."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Table]


class Lexicon:
    """Vectors by word number, filled as words are met. `embed` gives unit vectors of single words.

    Without it every word is as far from every other: then only exact matches count.
    """

    def __init__(self, embed: Embed | None = None, dim: int = 1) -> None:
        self._embed = embed
        self._table: Table = np.zeros((1_024, dim), dtype=np.float32)
        self._there = np.zeros(1_024, dtype=bool)

    def clear(self) -> None:
        """Forget all words: their numbers are given anew."""
        self._there[:] = False

    def vectors(self, numbers: NDArray[np.int64], words: Mapping[str, int]) -> Table:
        """Give one row for each number; `words`: number by word."""
        if self._embed is None:
            return np.zeros((len(numbers), self._table.shape[1]), dtype=np.float32)
        self._grow(len(words))
        missing = np.unique(numbers[~self._there[numbers]]) if len(numbers) else numbers
        if len(missing):
            named = list(words)  # numbers are given in the order of insertion
            self._table[missing] = self._embed([named[number] for number in missing])
            self._there[missing] = True
        rows: Table = self._table[numbers]
        return rows

    def _grow(self, size: int) -> None:
        if size > len(self._there):
            room = max(size, 2 * len(self._there)) - len(self._there)
            self._table = np.concatenate([self._table, np.zeros((room, self._table.shape[1]), dtype=np.float32)])
            self._there = np.concatenate([self._there, np.zeros(room, dtype=bool)])
