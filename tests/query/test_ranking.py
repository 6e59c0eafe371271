"""Salience: what each term does, and that every term is told."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from memory.dates import DateSpan, Precision
from memory.relations import EdgeType
from query_api.intents import Intent, IntentMix
from query_api.policy import RankingPolicy, shipped_policy
from query_api.ranking import Candidate, Evidence, SalienceRanker, Scored, Term
from query_api.router import RuleRouter
from query_api.traversal import walk
from tests.query.build import START_US, World, node

DEFAULT = shipped_policy("default")


async def ranked(
    world: World,
    starts: Mapping[str, float],
    *,
    words: Mapping[str, float],
    intent: Intent = Intent.WHY,
    weights: RankingPolicy = DEFAULT.ranking,
    question: str = "?",
    known: frozenset[str] = frozenset(),
    speakers: Mapping[str, str] | None = None,
) -> dict[str, Scored]:
    policy = DEFAULT.model_copy(update={"ranking": weights})
    route = RuleRouter().understand(question, reference=None, known=known)
    steering = policy.steering(IntentMix.only(intent))
    walked = await walk(starts, world, steering, policy.walk)
    candidates = [
        Candidate(
            node(id_, speaker=(speakers or {}).get(id_, "Ann")),
            visit,
            walked.cosines[id_],
            words=words.get(id_, 0.0),
            best=walked.best.get(id_),
        )
        for id_, visit in walked.visits.items()
    ]
    found = SalienceRanker().rank(candidates, Evidence(route, steering, walked), policy)
    assert [item.salience for item in found] == sorted((item.salience for item in found), reverse=True)
    assert all(item.salience == pytest.approx(sum(item.terms.values())) for item in found)
    assert all(set(item.terms) == set(Term) for item in found)
    return {item.candidate.node.id: item for item in found}


async def test_a_neighbour_in_time_shares_in_the_score_of_what_matched() -> None:
    chain = [("a", "b", EdgeType.NEXT), ("b", "c", EdgeType.NEXT), ("c", "d", EdgeType.NEXT)]
    found = await ranked(World(chain, {}), {"a": 1.0}, words={"a": 10.0})
    base = DEFAULT.ranking.words
    assert found["b"].terms[Term.NEAR] == pytest.approx(DEFAULT.ranking.near * base)
    assert found["c"].terms[Term.NEAR] == pytest.approx(DEFAULT.ranking.near_two * base)
    assert found["d"].terms[Term.NEAR] == 0.0


async def test_a_cause_is_carried_by_what_it_explains_and_only_along_causes() -> None:
    causes = [("c2", "c1", EdgeType.CAUSES), ("c1", "a", EdgeType.CAUSES), ("a", "later", EdgeType.NEXT)]
    found = await ranked(World(causes, {}), {"a": 1.0}, words={"a": 10.0})
    carried = DEFAULT.ranking.chain * 0.7 * 0.9 * DEFAULT.ranking.words
    assert found["c1"].terms[Term.CHAIN] == pytest.approx(carried)
    assert found["c2"].terms[Term.CHAIN] == pytest.approx(carried * 0.9)
    assert found["later"].terms[Term.CHAIN] == 0.0
    asked_when = await ranked(World(causes, {}), {"a": 1.0}, words={"a": 10.0}, intent=Intent.WHEN)
    assert asked_when["c1"].terms[Term.CHAIN] < found["c1"].terms[Term.CHAIN]


async def test_the_one_person_named_is_preferred_and_two_are_not() -> None:
    said = {"a": "Ann", "b": "Bo"}
    world = World([], {})
    starts = {"a": 1.0, "b": 1.0}
    one = await ranked(world, starts, words={}, question="What did Bo say?", known=frozenset({"bo"}), speakers=said)
    assert one["b"].terms[Term.SPEAKER] == DEFAULT.ranking.speaker
    assert one["a"].terms[Term.SPEAKER] == 0.0
    both = frozenset({"bo", "ann"})
    two = await ranked(world, starts, words={}, question="What did Bo and Ann say?", known=both, speakers=said)
    assert two["a"].terms[Term.SPEAKER] == two["b"].terms[Term.SPEAKER] == 0.0


async def test_the_walk_term_falls_with_depth_and_not_with_the_cumulative_score() -> None:
    chain = [("a", "b", EdgeType.NEXT), ("b", "c", EdgeType.NEXT)]
    found = await ranked(World(chain, {}), {"a": 1.0}, words={}, weights=RankingPolicy(walk=1.0))
    assert found["b"].terms[Term.WALK] == pytest.approx(1.0)
    assert found["c"].terms[Term.WALK] == pytest.approx(0.9)


async def test_what_talks_about_the_asked_time_is_preferred() -> None:
    route = RuleRouter().understand("?", reference=None, known=frozenset())

    route = replace(route, window=DateSpan("then", START_US, START_US + 10, Precision.DAY))
    steering = DEFAULT.steering(IntentMix.only(Intent.WHEN))
    walked = await walk({"in": 1.0, "about": 1.0, "out": 1.0}, World([], {}), steering, DEFAULT.walk)
    about = DateSpan("then", START_US + 5, START_US + 50, Precision.DAY)
    nodes = [
        node("in"),
        node("about", at_us=START_US + 99, dates=(about,)),
        node("out", at_us=START_US + 99),
    ]
    candidates = [Candidate(one, walked.visits[one.id], 0.0) for one in nodes]
    found = SalienceRanker().rank(candidates, Evidence(route, steering, walked), DEFAULT)
    dated = {item.candidate.node.id for item in found if item.terms[Term.DATE] > 0}
    assert dated == {"in", "about"}


async def test_nothing_found_ranks_to_nothing() -> None:
    assert await ranked(World([], {}), {}, words={}) == {}
