"""The growing table of features of one question, with what every family needs at hand."""

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memory.relations import Relation
from query_api.ranking.arrays import Floats, Ints, Matrix, best_per_segment, per_segment
from query_api.ranking.model import Vector
from query_api.ranking.pool import REACH, Pool
from query_api.ranking.questions import Question
from query_api.ranking.words import Words

F = TypeVar("F", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Family:
    """Features that are computed together; `relation`: whose edges they need, None for none."""

    names: tuple[str, ...]
    relation: Relation | None = None


#: Events that stand for the answer so far.
SEEDS = 10
#: Words less near to each other than this are strangers.
STRANGERS = np.float32(0.25)


@dataclass(frozen=True, slots=True)
class Seeds:
    """The best rows by `base`, and their weights; `others`, `elsewhere` (n, seeds): another event, another session."""

    rows: Ints
    weights: Matrix
    others: NDArray[np.bool_]
    elsewhere: NDArray[np.bool_]


@dataclass(slots=True)
class Table:
    """Columns by name, one row for each event of the pool."""

    question: Question
    vector: Vector | None
    pool: Pool
    words: Words
    columns: dict[str, Floats] = field(default_factory=dict)
    _nearness: tuple[Matrix, NDArray[np.bool_]] | None = None
    _seeds: Seeds | None = None

    def __getitem__(self, name: str) -> Floats:
        return self.columns[name]

    def __setitem__(self, name: str, values: Floats) -> None:
        self.columns[name] = values

    def constant(self, name: str, value: float) -> None:
        """Set a column that is the same for all rows: a property of the question."""
        self.columns[name] = np.full(len(self.pool), float(value))

    def signal(self, column: int) -> Floats:
        """Give one signal of the texts."""
        return self.words.signals[:, column]

    def at(self, values: NDArray[F], step: int) -> NDArray[F]:
        """Give the values of the neighbours so many steps later (earlier when negative), 0 where there is none."""
        padded = np.concatenate([values, np.zeros((1, *values.shape[1:]), dtype=values.dtype)])
        found: NDArray[F] = padded[self.pool.chain[:, REACH + step]]
        return found

    def around(self, values: Floats, reach: int, *, itself: bool = True) -> Floats:
        """Give the largest value within so many steps both ways."""
        steps = [step for step in range(-reach, reach + 1) if itself or step]
        return self.best_of(values, steps)

    def best_of(self, values: Floats, steps: list[int]) -> Floats:
        """Give the largest value at the given steps."""
        found: Floats = np.maximum.reduce([self.at(values, step) for step in steps])
        return found

    def around_matrix(self, values: Matrix, reach: int) -> Matrix:
        """Give the largest values by column within so many steps both ways."""
        padded = np.concatenate([values, np.zeros((1, values.shape[1]), dtype=values.dtype)])
        found: Matrix = padded[self.pool.chain[:, REACH - reach : REACH + reach + 1]].max(axis=1)
        return found

    def allows(self, relation: Relation) -> bool:
        """Say whether edges of a relation may be used."""
        return relation in self.pool.relations

    def words_per_row(self, values: Floats) -> Floats:
        """Add up by row what is given for each word of each row."""
        return per_segment(values, self.words.starts, self.words.sizes)

    def nearness(self) -> tuple[Matrix, NDArray[np.bool_]]:
        """Give how near the nearest word of each row is to each term, and which terms it has exactly; (n, terms)."""
        if self._nearness is None:
            words = self.words
            exact = np.zeros((len(self.pool), len(words.soft_idf)), dtype=bool)
            found = words.soft_column >= 0
            exact[:, found] = words.counts[:, words.soft_column[found]] > 0
            near = words.vectors @ words.soft_vectors.T
            near = np.where(near > STRANGERS, near, np.float32(0))
            best = best_per_segment(near[words.word], words.starts, words.sizes)
            self._nearness = np.where(exact, np.float32(1), best), exact
        return self._nearness

    def seeds(self) -> Seeds:
        """Give the best rows by `base`."""
        if self._seeds is None:
            base, session = self["base"], self.pool.session
            rows = np.argsort(-base, kind="stable")[:SEEDS]
            weights = ((base[rows] / max(base.max(), 1e-9)) ** 2).astype(np.float32)
            others = np.arange(len(base))[:, None] != rows[None]
            self._seeds = Seeds(rows, weights, others, session[:, None] != session[rows][None])
        return self._seeds
