"""From rankings to printed numbers, on rankings small enough to count."""

import pytest

from bench.datasets import Question
from bench.fitting import Fit, resolve
from bench.rankings import Ranked
from bench.systems import ABLATIONS, BASELINES, System, parse_systems, policy_of, relations_of
from bench.tables import Level, compare, recall, table, visit_difference
from memory.errors import BadSetting
from memory.relations import Relation


def ranked(
    conversation: str, turns: str, evidence: str, *, category: str = "1", ms: float = 1.0, visited: str = ""
) -> Ranked:
    return Ranked(
        conversation=conversation,
        question=Question("?", category, tuple(evidence), sessions=("s1",)),
        turns=tuple(turns),
        sessions=("s2", "s1"),
        shown={1_200: frozenset(turns[:2])},
        tokens=100,
        ms=ms,
        cpu_ms=ms / 2,
        visited=frozenset(visited),
    )


ONES = [
    ranked("one", "abcdefgh", "ag", ms=1),
    ranked("one", "abcdefgh", "b", category="4", ms=2),
    ranked("two", "abcdefgh", "z", ms=9),
]


def test_a_table_has_means_over_questions_by_category_and_by_conversation() -> None:
    found = table(ONES)
    assert found.questions == 3
    assert found.overall[5].recall.mean == pytest.approx(0.5)
    assert found.overall[10].recall.mean == pytest.approx(2 / 3, abs=1e-4)
    assert found.overall[5].hit == pytest.approx(1 / 3, abs=1e-4)
    assert found.by_category["4"][5].recall.mean == 1
    assert found.by_conversation["two"][50].recall.mean == 0
    assert found.context[1_200].mean == pytest.approx(0.5)
    assert found.ms is not None
    assert (found.tokens, found.ms.p50, found.ms.cpu_p50) == (100, 2, 1)
    assert table(ONES, timed=False).ms is None


def test_sessions_are_measured_by_where_the_evidence_stands() -> None:
    found = table(ONES, Level.SESSION)
    assert found.overall[5].recall.mean == 1
    assert found.overall[10].ndcg == pytest.approx(0.6309, abs=1e-4)  # rank 2: 1 / log2(3)
    assert found.context == {}


def test_a_ratio_compares_the_same_questions() -> None:
    worse = [ranked("one", "bcdefgha", "a"), ranked("two", "abc", "a")]
    better = [ranked("one", "abc", "a"), ranked("two", "abc", "a")]
    found = compare(better, worse, recall(Level.TURN, 5))
    assert found is not None
    assert found.mean == 2
    assert compare(better, [ranked("one", "b", "z"), ranked("two", "b", "z")], recall(Level.TURN, 5)) is None


def test_what_walks_visited_is_compared_question_by_question() -> None:
    whole = [ranked("one", "a", "a", visited="abc"), ranked("one", "a", "a", visited="xy")]
    ablated = [ranked("one", "a", "a", visited="ad"), ranked("one", "a", "a", visited="yx")]
    found = visit_difference(whole, ablated)
    assert (found.questions, found.missing, found.added) == (0.5, 1.0, 0.5)


def test_an_ablation_has_the_relations_that_its_name_says() -> None:
    assert relations_of(System.MAGMA) == frozenset(Relation)
    assert relations_of(System.NO_GRAPH) == frozenset()
    assert relations_of(System.NO_ENTITY) == frozenset(Relation) - {Relation.ENTITY}
    assert relations_of(System.ONLY_CAUSAL) == {Relation.CAUSAL}
    assert relations_of(System.UNIFORM_POLICY) == frozenset(Relation)
    assert [system for system in System if policy_of(system)] == [System.UNIFORM_POLICY]


def test_systems_are_named_one_by_one_or_in_groups() -> None:
    assert parse_systems(["adjacent", "magma"]) == (System.MAGMA, System.ADJACENT)
    assert parse_systems(["magma", "baselines"]) == (System.MAGMA, *BASELINES)
    assert parse_systems(["all"]) == tuple(System)
    assert parse_systems(["ablations"]) == ABLATIONS
    with pytest.raises(BadSetting, match="no_graph"):
        parse_systems(["oracle"])


def test_one_conversation_has_no_other_to_fit_on() -> None:
    assert resolve(None, 1) is Fit.SHIPPED
    assert resolve(None, 2) is Fit.LOCO
    assert resolve(Fit.SHIPPED, 6) is Fit.SHIPPED
