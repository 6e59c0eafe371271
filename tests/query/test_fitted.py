"""The fitted ranker: what it computes does not depend on order or caches, and every relation counts by its edges."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadSetting
from memory.relations import EdgeType, Relation
from query_api.intents import Intent, IntentMix
from query_api.policy import RankerName, RankingPolicy, shipped_policy
from query_api.ranking import FEATURES, NAMES, Candidate, Documents, Evidence, FittedRanker, Part, SalienceRanker, Trees
from query_api.ranking.choice import Rankers
from query_api.ranking.features import measure
from query_api.ranking.pool import make_pool
from query_api.ranking.questions import read_question
from query_api.router import RuleRouter
from query_api.traversal import Walk, walk
from tests.query.build import World, node

POLICY = shipped_policy("default")
SHIPPED = "wordllama-l2-supercat"
TALK = (
    ("a", "Mel", "How was the pottery class on Monday?"),
    ("b", "Ann", "It was lovely, I made a blue bowl because my sister asked for one."),
    ("c", "Mel", "Bowls are hard!"),
    ("d", "Ann", "The clarinet needs a new reed."),
    ("e", "Mel", "I practise the violin every evening."),
    ("f", "Ann", ""),
)


async def asked(
    question: str, *, intent: Intent = Intent.GENERAL, relations: frozenset[Relation] = frozenset(Relation)
) -> tuple[list[Candidate], Evidence]:
    nodes = [
        node(id_, speaker=who, text=text, sequence=place, session="s1" if place < 4 else "s2")
        for place, (id_, who, text) in enumerate(TALK)
    ]
    draw = np.random.default_rng(7)
    vectors = {
        one.id: (row / np.linalg.norm(row)).astype(np.float32)
        for one, row in zip(nodes, draw.normal(size=(6, 8)), strict=True)
    }
    edges = [("a", "b", EdgeType.NEXT), ("b", "c", EdgeType.NEXT), ("d", "b", EdgeType.CAUSES)]
    route = RuleRouter().understand(question, reference=None, known=frozenset())
    steering = POLICY.steering(IntentMix.only(intent), relations)
    walked = await walk({"b": 1.0}, World(edges, {}), steering, POLICY.walk)
    candidates = [
        Candidate(
            one, walked.visits.get(one.id), 0.1, words=2.0 if one.id == "b" else 0.0, best=walked.best.get(one.id)
        )
        for one in nodes
    ]
    chains = (("a", "b", "c", "d"), ("e", "f"))
    evidence = Evidence(route, steering, walked, (), question, vectors["b"], vectors, chains, 50)
    return candidates, evidence


def shipped() -> FittedRanker:
    ranker = FittedRanker.load(SHIPPED)
    assert ranker is not None
    return ranker


async def test_the_order_of_candidates_changes_no_feature_and_no_salience() -> None:
    candidates, evidence = await asked("What did Ann make in the pottery class?")
    ranker = shipped()
    straight = ranker.measure(candidates, evidence, POLICY)
    ranked = ranker.rank(candidates, evidence, POLICY)
    for seed in range(5):
        mixed = random.Random(seed).sample(candidates, len(candidates))
        again = ranker.measure(mixed, evidence, POLICY)
        assert (again.ids, again.matrix.tobytes()) == (straight.ids, straight.matrix.tobytes())
        assert ranker.rank(mixed, evidence, POLICY) == ranked


async def test_what_was_read_before_changes_nothing() -> None:
    candidates, evidence = await asked("Why did Ann make a bowl?")
    cold, warm = shipped(), shipped()
    for other in ("Which instruments does Mel practise?", "Where is the reed of the clarinet?"):
        others, about = await asked(other)
        warm.rank(others[::-1], about, POLICY)
    assert warm.measure(candidates, evidence, POLICY).matrix.tobytes() == (
        cold.measure(candidates, evidence, POLICY).matrix.tobytes()
    )
    assert warm.rank(candidates, evidence, POLICY) == cold.rank(candidates, evidence, POLICY)


async def test_forgetting_and_a_full_memory_change_nothing() -> None:
    candidates, evidence = await asked("Why did Ann make a bowl?")
    small = FittedRanker(None, Documents(Documents.open().lexicon, most=2))
    first = small.measure(candidates, evidence, POLICY).matrix.tobytes()
    small.documents.forget("t", ["b"])
    assert small.measure(candidates, evidence, POLICY).matrix.tobytes() == first
    small.documents.forget("t")
    assert small.measure(candidates, evidence, POLICY).matrix.tobytes() == first


@pytest.mark.parametrize("relation", [Relation.TEMPORAL, Relation.ENTITY, Relation.SEMANTIC, Relation.CAUSAL])
async def test_a_relation_that_is_left_out_tells_nothing(relation: Relation) -> None:
    question = "Why did Ann make a blue bowl?"
    candidates, evidence = await asked(question, intent=Intent.WHY)
    documents = Documents.open()
    with documents:
        pool = make_pool(candidates, evidence, POLICY, documents)
        whole = measure(read_question(question), evidence.vector, pool, documents)
        without = measure(read_question(question), evidence.vector, pool.without(relation), documents)
    own = [column for column, name in enumerate(NAMES) if FEATURES[name] is relation]
    assert not np.array_equal(whole[:, own], without[:, own])
    flat = [NAMES.index(name) for name in ("bm", "cos_z", "fused", "soft")]
    assert np.array_equal(whole[:, flat], without[:, flat])
    left = await asked(question, intent=Intent.WHY, relations=frozenset(Relation) - {relation})
    assert FittedRanker(None, documents).measure(*left, POLICY).matrix[:, own].tobytes() == without[:, own].tobytes()


async def test_a_neighbour_in_time_shares_in_what_matched() -> None:
    candidates, evidence = await asked("pottery class Monday")
    measured = FittedRanker(None, Documents.open()).measure(candidates, evidence, POLICY)
    at = {id_: row for row, id_ in enumerate(measured.ids)}
    assert measured.column("bm-1")[at["b"]] == measured.column("bm_top")[at["a"]] == 1.0
    assert measured.column("bm-1")[at["e"]] == 0.0, "a chain that goes on in another session is another talk"
    assert measured.column("after_question")[at["b"]] == 1.0


async def test_the_one_speaker_named_is_told_from_the_others() -> None:
    candidates, evidence = await asked("What did Ann make?")
    measured = FittedRanker(None, Documents.open()).measure(candidates, evidence, POLICY)
    said = dict(zip(measured.ids, measured.column("asked_speaker").tolist(), strict=True))
    assert said == {id_: float(who == "Ann") for id_, who, _ in TALK}
    both, about = await asked("What did Ann and Mel make?")
    assert set(FittedRanker(None, Documents.open()).measure(both, about, POLICY).column("asked_speaker")) == {0.5}


async def test_a_cause_stands_behind_what_it_explains_when_asked_why() -> None:
    candidates, evidence = await asked("Why did Ann make a blue bowl?", intent=Intent.WHY)
    with_chain = {item.candidate.node.id: item for item in shipped().rank(candidates, evidence, POLICY)}
    assert with_chain["d"].terms[Part.CHAIN] > 0
    assert with_chain["b"].terms[Part.CHAIN] == 0
    order = list(with_chain)
    flat = POLICY.model_copy(update={"ranking": RankingPolicy(chain=0.0)})
    without = [item.candidate.node.id for item in shipped().rank(candidates, evidence, flat)]
    assert order.index("d") < without.index("d")


async def test_contributions_say_what_each_relation_gives() -> None:
    candidates, evidence = await asked("pottery class Monday")
    gives = shipped().contributions(candidates, evidence, POLICY)
    assert set(gives) == {id_ for id_, _, _ in TALK}
    assert all(set(one) == set(Relation) for one in gives.values())
    assert gives["b"][Relation.TEMPORAL] != 0


async def test_nothing_found_ranks_to_nothing() -> None:
    _, evidence = await asked("?")
    assert shipped().rank([], evidence, POLICY) == []
    assert shipped().contributions([], evidence, POLICY) == {}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6), st.text(max_size=40))
def test_any_text_gives_finite_features(texts: Sequence[str], question: str) -> None:
    route = RuleRouter().understand(question, reference=None, known=frozenset())
    steering = POLICY.steering(route.intents)
    nodes = [node(f"n{place}", text=text, speaker="") for place, text in enumerate(texts)]
    candidates = [Candidate(one, None, 0.0) for one in nodes]
    documents = Documents.open()
    evidence = Evidence(route, steering, Walk({}, {}, {}, frozenset(), frozenset(), frozenset(), False), (), question)
    found = FittedRanker(None, documents).measure(candidates, evidence, POLICY)
    assert found.matrix.shape == (len(texts), len(NAMES))
    assert np.isfinite(found.matrix).all()


def test_the_policy_chooses_the_ranker_and_an_unknown_encoder_needs_none() -> None:
    documents = Documents.open()
    rankers = Rankers("another-encoder", documents)
    by_salience = POLICY.model_copy(update={"ranking": RankingPolicy(ranker=RankerName.SALIENCE)})
    assert isinstance(rankers.of(by_salience), SalienceRanker)
    assert isinstance(rankers.of(POLICY), FittedRanker)
    assert FittedRanker.load("another-encoder", documents) is None


def test_a_broken_model_is_refused_in_words() -> None:
    good = Trees.of(
        {
            "format": 1,
            "features": ["bm"],
            "depth": 1,
            "feature": [0, 0, 0],
            "threshold": [0.5, 0, 0],
            "left": [1, 1, 2],
            "right": [2, 1, 2],
            "value": [0, -1.0, 1.0],
            "root": [0],
        }
    )
    assert good.score(np.array([[0.5], [0.6]], dtype=np.float32)).tolist() == [-1.0, 1.0]
    assert Trees.of(good.document()).document() == good.document()
    for broken in (
        {},
        {**good.document(), "format": 2},
        {**good.document(), "left": [1, 1, 9]},
        {**good.document(), "feature": [0, 0, 3]},
        {**good.document(), "value": [0.0]},
    ):
        with pytest.raises(BadSetting):
            Trees.of(broken)
    with pytest.raises(BadSetting, match="do not exist: bm"):
        good.columns(["cos"])
