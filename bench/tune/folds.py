"""Leave one conversation out: each is ranked by trees that never saw it, so a measurement is never of its own fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.tune.fit import Parameters, fit
from bench.tune.sets import TrainingQuestion
from query_api.ranking import NAMES, Trees

RANK = 10


@dataclass(frozen=True, slots=True)
class Fold:
    """One conversation left out. `recall`: share of its evidence among the first ten, by `trees` that never saw it;

    `base`: the same by the unfitted order.
    """

    left_out: str
    questions: int
    trees: Trees
    recall: float
    base: float


def cross_fit(
    sets: Mapping[str, Sequence[TrainingQuestion]], parameters: Parameters | None = None, *, encoder: str = ""
) -> list[Fold]:
    """Fit for each conversation on all others; raises as `fit` does."""
    folds = []
    for left_out, questions in sets.items():
        others = [question for name, kept in sets.items() if name != left_out for question in kept]
        trees = fit(others, parameters, about=f"all conversations but {left_out}", encoder=encoder)
        columns = trees.columns(NAMES)
        by_trees, by_base = [], []
        for question in questions:
            scores = trees.score(question.matrix[:, columns])
            by_trees.append(recall(question, np.argsort(-scores, kind="stable")))
            by_base.append(recall(question, np.arange(len(scores))))
        folds.append(Fold(left_out, len(questions), trees, float(np.mean(by_trees)), float(np.mean(by_base))))
    return folds


def recall(question: TrainingQuestion, order: NDArray[np.int64]) -> float:
    """Give the share of a question's evidence among the first `RANK` of an order of its candidates."""
    return float(question.labels[order[:RANK]].sum()) / max(question.evidence, 1)
