"""BM25 in memory, for baselines: the store's own has neither the k1 and b nor the exact scores of every event.

Okapi BM25 with the idf of Lucene, ln(1 + (N - n + .5) / (n + .5)).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

#: Tuned for turns of talk: what measured best on LoCoMo.
K1 = 0.9
B = 0.3


class Bm25:
    """An index over token lists."""

    def __init__(self, documents: Sequence[Sequence[str]], k1: float = K1, b: float = B) -> None:
        self._size = len(documents)
        lengths = np.array([len(document) for document in documents], dtype=float)
        mean = float(lengths.mean()) if self._size else 1.0
        norm = k1 * (1 - b + b * lengths / (mean or 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for place, document in enumerate(documents):
            for term, count in Counter(document).items():
                postings.setdefault(term, []).append((place, count))
        self._weights = {term: self._weigh(found, norm) for term, found in postings.items()}

    def scores(self, terms: Iterable[str]) -> Scores:
        """Give the score of every document for the terms of a question; a term given twice counts twice."""
        total = np.zeros(self._size)
        for term in terms:
            if term in self._weights:
                places, weights = self._weights[term]
                total[places] += weights
        return total

    def _weigh(self, found: Sequence[tuple[int, int]], norm: Scores) -> tuple[NDArray[np.int64], Scores]:
        places = np.array([place for place, _ in found], dtype=np.int64)
        counts = np.array([count for _, count in found], dtype=float)
        idf = math.log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
        return places, idf * counts / (counts + norm[places])
