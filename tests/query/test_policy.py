"""Policies are data: shipped ones load, broken ones are refused with a sentence, rows mix linearly."""

from pathlib import Path

import pytest

from memory.errors import BadSetting
from memory.relations import Relation
from query_api.intents import Intent, IntentMix
from query_api.policy import parse_policy, read_policy, shipped_policies, shipped_policy

SOURCE = (Path(__file__).parents[2] / "query_api" / "policies" / "default.toml").read_text()


def test_default_uniform_and_paper_are_shipped() -> None:
    assert {"default", "uniform", "paper"} <= shipped_policies().keys()


def test_the_shipped_table_is_the_one_of_the_specification() -> None:
    why = shipped_policy("default").steering(IntentMix.only(Intent.WHY))
    assert why.relation == {
        Relation.CAUSAL: 0.70,
        Relation.TEMPORAL: 0.20,
        Relation.ENTITY: 0.05,
        Relation.SEMANTIC: 0.05,
    }
    assert (why.lambda2, why.beam) == (0.3, 15)


@pytest.mark.parametrize("intent", list(Intent))
def test_rows_of_the_default_policy_sum_to_one(intent: Intent) -> None:
    assert sum(shipped_policy("default").steering(IntentMix.only(intent)).relation.values()) == pytest.approx(1.0)


def test_rows_mix_linearly() -> None:
    policy = shipped_policy("default")
    mixed = policy.steering(IntentMix(why=0.5, when=0.5))
    assert mixed.relation[Relation.CAUSAL] == pytest.approx(0.5 * 0.70 + 0.5 * 0.10)
    assert mixed.relation[Relation.TEMPORAL] == pytest.approx(0.5 * 0.20 + 0.5 * 0.70)
    assert mixed.cause_to_effect == pytest.approx(0.75)


def test_the_uniform_policy_is_the_same_for_every_intent() -> None:
    policy = shipped_policy("uniform")
    assert len({str(policy.steering(IntentMix.only(intent)).relation) for intent in Intent}) == 1


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("causal = 0.70", "casual = 0.70", "intents.WHY.casual"),
        ("budget = 200", "budget = 0", "walk.budget"),
        ("[intents.WHEN]", "[intents.HOW]", "intents.HOW"),
        ("gamma = 0.9", "gamma = 'much'", "walk.gamma"),
        ("[walk]", "[walk", "TOML"),
    ],
)
def test_a_broken_policy_is_refused_by_the_name_of_its_field(old: str, new: str, named: str) -> None:
    with pytest.raises(BadSetting, match=named):
        parse_policy(SOURCE.replace(old, new, 1), "mine.toml")


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(BadSetting, match="default"):
        shipped_policy("nobody")


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="cannot be read"):
        read_policy(tmp_path / "gone.toml")
