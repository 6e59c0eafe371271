"""Measures against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.answers import bleu1, f1
from bench.metrics import RESAMPLES, Spread, hit_at, ndcg_at, percentile, ratio, recall_at, spread

RANKING = ["a", "b", "c", "d", "e"]


def test_recall_is_the_share_of_the_evidence_among_the_first() -> None:
    assert recall_at(RANKING, ["b", "e", "z"], 2) == pytest.approx(1 / 3)
    assert recall_at(RANKING, ["b", "e", "z"], 5) == pytest.approx(2 / 3)
    assert recall_at(RANKING, ["z"], 5) == 0


def test_a_hit_wants_all_of_the_evidence() -> None:
    assert hit_at(RANKING, ["a", "c"], 2) == 0
    assert hit_at(RANKING, ["a", "c"], 3) == 1


def test_ndcg_weighs_ranks_by_their_logarithm() -> None:
    # gains at ranks 2 and 4 over a perfect order at ranks 1 and 2
    gained = 1 / math.log2(3) + 1 / math.log2(5)
    assert ndcg_at(RANKING, ["b", "d"], 5) == pytest.approx(gained / (1 + 1 / math.log2(3)))
    assert ndcg_at(RANKING, ["a", "b"], 5) == 1
    # more evidence than places: the first k can be perfect all the same
    assert ndcg_at(RANKING, ["a", "b", "x", "y", "z"], 2) == 1


@given(st.permutations(RANKING), st.sets(st.sampled_from([*RANKING, "x", "y"]), min_size=1), st.integers(1, 6))
def test_measures_stay_in_their_bounds_and_grow_with_k(ranking: list[str], evidence: set[str], k: int) -> None:
    for measure in (recall_at, hit_at):
        assert 0 <= measure(ranking, evidence, k) <= measure(ranking, evidence, k + 1) <= 1
    assert 0 <= ndcg_at(ranking, evidence, k) <= 1 + 1e-12
    assert (hit_at(ranking, evidence, k) == 1) == (recall_at(ranking, evidence, k) == 1)


def test_the_mean_is_over_questions_and_the_interval_over_conversations() -> None:
    found = spread({"one": [1.0, 1.0, 1.0], "two": [0.0]})
    assert found.mean == 0.75
    # two conversations drawn with return: (one, one), (one, two), (two, two) give 1, .75, 0
    assert (found.low, found.high) == (0.0, 1.0)


def test_equal_conversations_leave_no_doubt() -> None:
    assert spread({name: [0.5, 0.5] for name in "abcd"}) == Spread(0.5, 0.5, 0.5)


def test_one_conversation_is_resampled_by_its_questions() -> None:
    found = spread({"only": [0.0, 1.0] * 50})
    assert found.mean == 0.5
    # the standard error of a hundred coin throws is .05
    assert found.low == pytest.approx(0.4, abs=0.02)
    assert found.high == pytest.approx(0.6, abs=0.02)


def test_intervals_are_the_same_in_every_run() -> None:
    values = {name: [0.1 * place, 0.7] for place, name in enumerate("abcdef")}
    assert spread(values) == spread(values)
    assert RESAMPLES >= 1_000


def test_a_ratio_is_of_means_and_resampled_together() -> None:
    found = ratio({"one": [0.8, 0.4], "two": [0.6]}, {"one": [0.4, 0.2], "two": [0.3]})
    assert found is not None
    assert found.mean == pytest.approx(2)
    # twice as good in every conversation: no doubt
    assert (found.low, found.high) == (pytest.approx(2), pytest.approx(2))
    assert ratio({"one": [1.0]}, {"one": [0.0]}) is None


def test_percentiles_of_milliseconds() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0, 5.0], 0.5) == 3
    assert percentile([], 0.95) == 0


@pytest.mark.parametrize(
    ("answer", "gold", "wanted_f1", "wanted_bleu"),
    [
        ("the red Kite!", "a red kite", 1.0, 1.0),
        ("a kite", "red kite", 2 / 3, math.exp(-1)),
        ("three blue kites", "red kites", 0.4, 1 / 3),
        ("no", "red kite", 0.0, 0.0),
        ("kite kite", "kite", 2 / 3, 0.5),
        ("", "kite", 0.0, 0.0),
    ],
)
def test_word_overlap_of_answers(answer: str, gold: str, wanted_f1: float, wanted_bleu: float) -> None:
    assert f1(answer, gold) == pytest.approx(wanted_f1)
    assert bleu1(answer, gold) == pytest.approx(wanted_bleu)
