"""Fitting: the exported trees are lightgbm's, folds never see what they are measured on, too little is refused."""

import numpy as np
import pytest

from bench.tune import Parameters, TrainingQuestion, cross_fit, fit
from bench.tune.fit import boosters
from memory.errors import BadSetting
from query_api.ranking import NAMES, Trees

SMALL = Parameters(seeds=(1, 2), rounds=20, min_data_in_leaf=5)


def questions(count: int, seed: int) -> list[TrainingQuestion]:
    """Questions whose evidence is what has the largest `bm`, in noise."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        matrix = draw.normal(size=(30, len(NAMES))).astype(np.float32)
        labels = np.zeros(30, dtype=np.int64)
        labels[np.argmax(matrix[:, NAMES.index("bm")])] = 1
        found.append(TrainingQuestion(matrix, labels, 1))
    return found


def test_trees_score_as_the_boosters_they_were_made_of() -> None:
    data = questions(30, 1)
    trees = fit(data, SMALL)
    rows = np.concatenate([question.matrix for question in questions(5, 2)])
    expected = sum(booster.predict(rows, num_threads=1) for booster in boosters(data, SMALL))
    assert trees.score(rows) == pytest.approx(expected, abs=1e-6)
    assert np.std(expected) > 0.1


def test_two_fits_give_the_same_file() -> None:
    assert fit(questions(20, 1), SMALL).document() == fit(questions(20, 1), SMALL).document()


def test_the_file_says_what_it_was_fitted_on() -> None:
    facts = Trees.of(fit(questions(20, 1), SMALL, about="made up", encoder="none").document()).fit
    assert (facts["on"], facts["encoder"], facts["questions"]) == ("made up", "none", 20)


def test_each_conversation_is_measured_by_trees_that_never_saw_it() -> None:
    sets = {name: questions(15, seed) for seed, name in enumerate("abc")}
    folds = cross_fit(sets, SMALL)
    assert [fold.left_out for fold in folds] == ["a", "b", "c"]
    others = fit([*sets["b"], *sets["c"]], SMALL)
    assert folds[0].trees.score(sets["a"][0].matrix).tolist() == others.score(sets["a"][0].matrix).tolist()
    assert all(fold.recall > fold.base for fold in folds), "what was put in is learned"


def test_questions_without_evidence_among_their_candidates_teach_nothing_and_are_measured() -> None:
    lost = [TrainingQuestion(one.matrix, np.zeros_like(one.labels), 1) for one in questions(5, 9)]
    data = questions(20, 1)
    assert fit([*data, *lost], SMALL).score(data[0].matrix).tolist() == fit(data, SMALL).score(data[0].matrix).tolist()
    folds = {fold.left_out: fold for fold in cross_fit({"lost": lost, "a": data, "b": questions(20, 3)}, SMALL)}
    assert folds["lost"].questions == 5
    assert folds["lost"].recall == 0.0


def test_too_little_is_refused() -> None:
    with pytest.raises(BadSetting, match="too few questions"):
        fit([], SMALL)
