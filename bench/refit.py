"""What a relation is worth to a ranking that was fitted without it: the fair value, beside that of merely missing it.

A ranking that leans on a relation suffers more from losing it than one that never had it. So each ablation is also
fitted anew, leave one conversation out, on what its own retrieval finds.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel

from bench.metrics import spread
from bench.rankings import Ranked
from bench.tables import Interval
from bench.tune import TrainingQuestion, cross_fit
from query_api.ranking import NAMES

#: The rank at which refitted ablations are measured.
RANK = 10


class Refitted(BaseModel):
    """Recall@10 of an ablation whose ranking was fitted without what it lacks."""

    recall: Interval
    by_category: dict[str, float]


def refitted(ranked: Sequence[Ranked], taught: Sequence[TrainingQuestion], encoder: str) -> Refitted:
    """Fit for each conversation on the others and measure; `taught` belongs to `ranked`, question by question.

    Raises as `cross_fit` does.
    """
    sets: dict[str, list[TrainingQuestion]] = {}
    asked: dict[str, list[Ranked]] = {}
    for one, question in zip(ranked, taught, strict=True):
        sets.setdefault(one.conversation, []).append(question)
        asked.setdefault(one.conversation, []).append(one)
    recalls: dict[str, list[float]] = {}
    categories: dict[str, list[float]] = {}
    for fold in cross_fit(sets, encoder=encoder):
        columns = fold.trees.columns(NAMES)
        for one, question in zip(asked[fold.left_out], sets[fold.left_out], strict=True):
            order = np.argsort(-fold.trees.score(question.matrix[:, columns]), kind="stable")
            recall = float(question.labels[order[:RANK]].sum()) / question.evidence
            recalls.setdefault(fold.left_out, []).append(recall)
            categories.setdefault(one.question.category, []).append(recall)
    return Refitted(recall=Interval.of(spread(recalls)), by_category=_means(categories))


def _means(groups: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: round(float(np.mean(values)), 4) for name, values in sorted(groups.items())}
