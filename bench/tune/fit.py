"""From training questions to trees: LambdaMART, kept small, because a few hundred questions teach little more."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bench.tune.sets import CANDIDATES, TrainingQuestion
from memory.errors import BadSetting, MissingExtra
from query_api.ranking import NAMES, Trees
from query_api.ranking.trees import FORMAT

_DIGITS = 9
_MIN_ROWS = 2


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of the boosting; `seeds`: one run each, added up; `rounds`: trees of a run."""

    seeds: tuple[int, ...] = (1, 2)
    rounds: int = 150
    learning_rate: float = 0.1
    num_leaves: int = 7
    max_depth: int = 4
    min_data_in_leaf: int = 60
    feature_fraction: float = 0.25
    bagging_fraction: float = 0.7
    bagging_freq: int = 1
    lambda_l2: float = 5.0
    lambdarank_truncation_level: int = 20
    max_bin: int = 63

    def for_lightgbm(self, seed: int) -> dict[str, Any]:
        """Give the parameters of one run, as lightgbm names them; one thread, so that two runs give equal trees."""
        own = {name: value for name, value in asdict(self).items() if name not in ("seeds", "rounds")}
        fixed = {"objective": "lambdarank", "label_gain": [0, 1], "num_threads": 1, "verbosity": -1}
        return {**own, **fixed, "deterministic": True, "force_col_wise": True, "seed": seed}


def boosters(questions: Sequence[TrainingQuestion], parameters: Parameters | None = None) -> list[Any]:
    """Train one booster for each seed; raises `MissingExtra` without lightgbm, `BadSetting` when too little is left."""
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("fitting needs lightgbm", hint="run pip install 'magma-memory[tune]'") from error
    chosen = parameters or Parameters()
    used = [question for question in questions if question.teaches]
    if sum(len(question.labels[:CANDIDATES]) for question in used) < _MIN_ROWS * chosen.min_data_in_leaf:
        raise BadSetting("too few questions with evidence among their candidates to fit anything")
    matrix = np.concatenate([question.matrix[:CANDIDATES] for question in used])
    labels = np.concatenate([question.labels[:CANDIDATES] for question in used])
    groups = [len(question.labels[:CANDIDATES]) for question in used]
    trained = []
    for seed in chosen.seeds:
        data = lightgbm.Dataset(matrix, labels, group=groups)
        trained.append(lightgbm.train(chosen.for_lightgbm(seed), data, chosen.rounds))
    return trained


def fit(
    questions: Sequence[TrainingQuestion], parameters: Parameters | None = None, *, about: str = "", encoder: str = ""
) -> Trees:
    """Fit trees; `about`: in words what they were fitted on, kept in the file. Raises as `boosters` does."""
    chosen = parameters or Parameters()
    taught = sum(question.teaches for question in questions)
    facts = {"on": about, "encoder": encoder, "questions": taught, "candidates": CANDIDATES, **asdict(chosen)}
    return export(boosters(questions, chosen), {**facts, "seeds": list(chosen.seeds)})


def export(trained: Sequence[Any], facts: dict[str, Any]) -> Trees:
    """Join boosters, each a sum of trees, to one; values are rounded to nine digits."""
    nodes = _Nodes()
    for booster in trained:
        for tree in booster.dump_model()["tree_info"]:
            nodes.roots.append(nodes.add(tree["tree_structure"], 0))
    return Trees.of(
        {
            "format": FORMAT,
            "features": list(NAMES),
            "depth": nodes.depth,
            "feature": nodes.feature,
            "threshold": nodes.threshold,
            "left": nodes.left,
            "right": nodes.right,
            "value": nodes.value,
            "root": nodes.roots,
            "fit": facts,
        }
    )


class _Nodes:
    """The nodes of all trees, in one list; a leaf leads to itself."""

    def __init__(self) -> None:
        self.depth = 0
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[float] = []
        self.roots: list[int] = []

    def add(self, node: dict[str, Any], depth: int) -> int:
        """Add a node and all below it; give its place."""
        place = len(self.feature)
        self.feature.append(0)
        self.threshold.append(0.0)
        self.left.append(place)
        self.right.append(place)
        self.value.append(0.0)
        if "leaf_value" in node:
            self.value[place] = round(node["leaf_value"], _DIGITS)
            self.depth = max(self.depth, depth)
            return place
        self.feature[place] = node["split_feature"]
        self.threshold[place] = node["threshold"]
        self.left[place] = self.add(node["left_child"], depth + 1)
        self.right[place] = self.add(node["right_child"], depth + 1)
        return place
