"""The search for a policy without a store: what is proposed, what is written, what the choice may see."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tune import OutOfFold, Parameters, choose, fit, moves, policy_toml, proposals
from bench.tune.proposals import knobs
from bench.tune.search import Outcomes
from query_api.policy import Policy, parse_policy, shipped_policies, shipped_policy
from query_api.ranking import NAMES
from tests.tune.test_fit import SMALL, questions

DEFAULT = shipped_policy("default")


def test_the_first_proposal_is_the_policy_itself_and_the_others_differ() -> None:
    tried = proposals(DEFAULT, 30)
    assert tried[0] is DEFAULT
    assert len(tried) == 31
    assert all(moves(DEFAULT, policy) for policy in tried[1:])
    assert {policy.name for policy in tried[1:]} == {"tuned"}


def test_the_same_seed_proposes_the_same_and_another_does_not() -> None:
    assert proposals(DEFAULT, 8) == proposals(DEFAULT, 8)
    assert proposals(DEFAULT, 8) != proposals(DEFAULT, 8, seed=1)
    assert proposals(DEFAULT, 8)[:5] == proposals(DEFAULT, 4), "more trials go on where fewer end"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_every_proposal_stays_in_the_ranges_that_are_searched(seed: int) -> None:
    for policy in proposals(DEFAULT, 3, seed)[1:]:
        moved = moves(DEFAULT, policy)
        for knob in knobs(DEFAULT):
            if knob.name in moved:
                assert knob.low <= moved[knob.name][1] <= knob.high, knob.name


def test_every_knob_is_a_number_of_the_policy_that_lies_in_its_range() -> None:
    document = DEFAULT.model_dump(mode="json")
    for knob in knobs(DEFAULT):
        assert knob.low <= knob.read(document) <= knob.high, knob.name


@pytest.mark.parametrize("policy", [*shipped_policies().values(), *proposals(DEFAULT, 10)], ids=lambda one: one.name)
def test_a_written_policy_is_read_as_it_was(policy: Policy) -> None:
    text = policy_toml(policy, ("A comment.",))
    assert text.startswith("# A comment.\n")
    assert parse_policy(text, "written") == policy


def outcomes(**by_name: float) -> Outcomes:
    held_out = {name: np.array([value, value]) for name, value in by_name.items()}
    return Outcomes(held_out, {(c, t): held_out[t] for c in by_name for t in by_name if c != t})


def test_the_choice_for_a_conversation_does_not_see_it() -> None:
    tried = proposals(DEFAULT, 2)
    # the second is best on "a" alone, the third on "b" alone
    found = choose(
        tried,
        [outcomes(a=0.5, b=0.5, c=0.5), outcomes(a=1.0, b=0.4, c=0.5), outcomes(a=0.4, b=0.9, c=0.5)],
        ["a", "b", "c"],
    )
    assert [fold.chosen for fold in found.folds] == [2, 1, 1]
    assert [fold.fitted.mean for fold in found.folds] == [0.4, 0.4, 0.5]
    assert [fold.shipped.mean for fold in found.folds] == [0.5, 0.5, 0.5]
    assert found.gain is not None
    assert found.gain.mean == pytest.approx(1.3 / 1.5)
    assert not found.pays
    assert found.place == 1
    assert found.chosen == tried[1]


def test_what_is_no_better_leaves_the_shipped_policy() -> None:
    tried = proposals(DEFAULT, 1)
    found = choose(tried, [outcomes(a=0.5, b=0.5), outcomes(a=0.5, b=0.5)], ["a", "b"])
    assert found.place == 0
    assert found.chosen is DEFAULT
    assert not found.pays


def test_a_gain_on_every_conversation_pays() -> None:
    tried = proposals(DEFAULT, 1)
    found = choose(tried, [outcomes(a=0.5, b=0.5), outcomes(a=0.6, b=0.7)], ["a", "b"])
    assert found.pays


def test_judging_trees_saw_neither_conversation() -> None:
    sets = {name: questions(12, seed) for seed, name in enumerate("abc")}
    judge = OutOfFold(sets, "none", SMALL)
    question = sets["a"][0]
    alone = fit(sets["c"], SMALL, encoder="none")
    order = np.argsort(-alone.score(question.matrix[:, alone.columns(NAMES)]), kind="stable")
    assert (
        judge.recall(question, ("a", "b"))
        == judge.recall(question, ("b", "a"))
        == float(question.labels[order[:10]].sum())
    )


def test_without_enough_to_learn_from_the_unfitted_order_judges() -> None:
    sets = {name: questions(1, seed) for seed, name in enumerate("ab")}
    judge = OutOfFold(sets, "none", Parameters(min_data_in_leaf=60))
    question = sets["a"][0]
    assert judge.recall(question, ("a",)) == float(question.labels[:10].sum())
