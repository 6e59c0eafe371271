"""What a relation is worth to a ranking that was fitted without it: the fair value, beside that of merely missing it.

A ranking that leans on a relation suffers more from losing it than one that never had it. So each ablation is also
fitted anew, leave one conversation out, on what its own retrieval finds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from bench.datasets import Conversation
from bench.metrics import ratio, spread
from bench.tables import Interval
from bench.tune import Fold, TrainingQuestion
from bench.tune.folds import recall
from query_api.ranking import NAMES

#: The key of all questions in `Refitted.worth`, beside the categories.
OVERALL = "overall"


class Refitted(BaseModel):
    """Recall@10 of a variant whose ranking was fitted without what it lacks.

    `worth`: the whole's recall@10, fitted in the same way, over this one's: for all questions and by category.
    """

    recall: Interval
    by_category: dict[str, float]
    worth: dict[str, Interval] = {}


@dataclass(frozen=True, slots=True)
class Anew:
    """Recall@10 of every question by trees fitted on other conversations, in the order of the questions."""

    recalls: Mapping[str, Sequence[float]]
    categories: Mapping[str, Sequence[str]]

    def of(self, category: str) -> dict[str, list[float]]:
        """Give the recalls of one category, by conversation."""
        return {
            name: [value for value, own in zip(values, self.categories[name], strict=True) if own == category]
            for name, values in self.recalls.items()
        }

    @property
    def names(self) -> list[str]:
        """The categories there are."""
        return sorted({name for names in self.categories.values() for name in names})


def fitted_anew(
    conversations: Sequence[Conversation], sets: Mapping[str, Sequence[TrainingQuestion]], folds: Sequence[Fold]
) -> Anew:
    """Rank each conversation's questions by the fold that left it out."""
    recalls = {fold.left_out: [_recall(question, fold) for question in sets[fold.left_out]] for fold in folds}
    return Anew(recalls, {one.id: [question.category for question in one.questions] for one in conversations})


def refitted(one: Anew, whole: Anew | None) -> Refitted:
    """Sum up a variant; `whole`: Magma with nothing taken away, None when it is this one or was not measured."""
    means = {
        name: float(np.mean([value for values in one.of(name).values() for value in values])) for name in one.names
    }
    worth = {}
    if whole is not None:
        pairs = {OVERALL: (whole.recalls, one.recalls), **{name: (whole.of(name), one.of(name)) for name in one.names}}
        found = {name: ratio(*pair) for name, pair in pairs.items()}
        worth = {name: Interval.of(value) for name, value in found.items() if value is not None}
    return Refitted(
        recall=Interval.of(spread(one.recalls)),
        by_category={name: round(mean, 4) for name, mean in means.items()},
        worth=worth,
    )


def _recall(question: TrainingQuestion, fold: Fold) -> float:
    scores = fold.trees.score(question.matrix[:, fold.trees.columns(NAMES)])
    return recall(question, np.argsort(-scores, kind="stable"))
