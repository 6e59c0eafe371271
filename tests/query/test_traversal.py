"""Beam search of arXiv 2601.03236, Alg. 1, eq. 5-6: numbers, bounds, determinism, and what a policy changes."""

import asyncio
import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.relations import EdgeType, Relation
from query_api.intents import Intent, IntentMix
from query_api.policy import WalkPolicy, shipped_policy
from query_api.traversal import Walk, transition, walk
from tests.query.build import World, hop, steering

DEFAULT = shipped_policy("default")
UNIFORM = shipped_policy("uniform")


def test_s_is_the_number_of_the_specification() -> None:
    row = steering({"causal": 0.7}, lambda2=0.4)
    phi, s = transition(row, WalkPolicy(lambda1=1.0), hop("a", "b", EdgeType.CAUSES), 0.5)
    assert phi == pytest.approx(0.7)
    assert s == pytest.approx(2.4596, abs=5e-5)


async def test_score_is_the_decayed_predecessor_plus_s() -> None:
    row = steering({"temporal": 0.5}, lambda2=0.0)
    found = await walk({"a": 1.0}, World([("a", "b", EdgeType.NEXT), ("b", "c", EdgeType.NEXT)], {}), row, WalkPolicy())
    s = math.exp(0.5)
    assert found.visits["b"].score == pytest.approx(0.9 * 1.0 + s)
    assert found.visits["c"].score == pytest.approx(0.9 * (0.9 + s) + s)


async def test_the_best_of_several_edges_is_kept_with_its_predecessor() -> None:
    world = World([("a", "c", EdgeType.NEXT), ("b", "c", EdgeType.CAUSES)], {"a": 0.1, "b": 0.1, "c": 0.1})
    found = await walk({"a": 1.0, "b": 0.9}, world, DEFAULT.steering(IntentMix.only(Intent.ENTITY)), DEFAULT.walk)
    arrival = found.visits["c"].arrival
    assert arrival is not None
    assert (arrival.hop.source, arrival.hop.edge) == ("a", EdgeType.NEXT)


def test_why_walks_to_the_cause_at_full_weight_and_to_the_effect_at_half() -> None:
    row = DEFAULT.steering(IntentMix.only(Intent.WHY))
    to_cause, _ = transition(row, DEFAULT.walk, hop("effect", "cause", EdgeType.CAUSES, forward=False), 0.0)
    to_effect, _ = transition(row, DEFAULT.walk, hop("cause", "effect", EdgeType.CAUSES, forward=True), 0.0)
    assert to_effect == pytest.approx(to_cause / 2)


def test_a_weak_edge_weighs_less_than_a_strong_one() -> None:
    row = DEFAULT.steering(IntentMix.only(Intent.WHY))
    weak = transition(row, DEFAULT.walk, hop("a", "b", EdgeType.CAUSES, forward=False, strength=0.7), 0.2)
    strong = transition(row, DEFAULT.walk, hop("a", "b", EdgeType.CAUSES, forward=False, strength=1.0), 0.2)
    assert weak[1] < strong[1]


def distant_cause() -> World:
    """An effect that the question matches, its cause three causal hops away, and look-alikes around every step."""
    edges = [("cause", "m2", EdgeType.CAUSES), ("m2", "m1", EdgeType.CAUSES), ("m1", "effect", EdgeType.CAUSES)]
    cosines = {"effect": 0.9, "m1": 0.0, "m2": 0.0, "cause": 0.0}
    edges += [("effect", f"alike0-{n:02}", EdgeType.SIMILAR) for n in range(12)]
    edges += [
        (f"alike{layer}-{n:02}", f"alike{layer + 1}-{m:02}", EdgeType.SIMILAR)
        for layer in range(4)
        for n in range(12)
        for m in range(12)
    ]
    cosines |= {b: 0.8 for _, b, edge in edges if edge is EdgeType.SIMILAR}
    return World(edges, cosines)


async def test_a_cause_three_hops_away_is_found_by_why_and_missed_by_uniform_at_equal_budget() -> None:
    mix = IntentMix.only(Intent.WHY)
    bounds = DEFAULT.walk.model_copy(update={"budget": 40})
    why = await walk({"effect": 1.0}, distant_cause(), DEFAULT.steering(mix), bounds)
    uniform = await walk({"effect": 1.0}, distant_cause(), UNIFORM.steering(mix), bounds)
    assert [arrival.hop.target for arrival in why.path("cause")] == ["m1", "m2", "cause"]
    assert "cause" not in uniform.visits
    assert len(uniform.visits) == 40


async def test_a_relation_that_may_not_be_walked_is_not() -> None:
    mix = IntentMix.only(Intent.WHY)
    without = DEFAULT.steering(mix, frozenset(Relation) - {Relation.CAUSAL})
    found = await walk({"effect": 1.0}, distant_cause(), without, DEFAULT.walk)
    assert "m1" not in found.visits
    assert found.causes == frozenset()


async def test_a_hop_on_which_the_cosine_falls_too_far_is_not_taken() -> None:
    world = World([("a", "far", EdgeType.NEXT), ("a", "near", EdgeType.NEXT)], {"a": 0.5, "far": 0.3, "near": 0.4})
    row = DEFAULT.steering(IntentMix.only(Intent.WHEN))
    found = await walk({"a": 1.0}, world, row, DEFAULT.walk.model_copy(update={"drop_threshold": 0.15}))
    assert set(found.visits) == {"a", "near"}


async def test_one_round_trip_a_depth_to_each_store_and_no_vector_asked_twice() -> None:
    chain = [(f"n{n}", f"n{n + 1}", EdgeType.NEXT) for n in range(20)]
    world = World(chain, {f"n{n}": 0.5 for n in range(21)})
    await walk({"n10": 1.0}, world, DEFAULT.steering(IntentMix.only(Intent.WHY)), DEFAULT.walk)
    assert len(world.hop_calls) == DEFAULT.walk.depth
    assert len(world.cosine_calls) <= DEFAULT.walk.depth + 1
    asked = [id_ for call in world.cosine_calls for id_ in call]
    assert len(asked) == len(set(asked))


async def test_a_node_without_a_vector_is_walked_and_named() -> None:
    found = await walk(
        {"a": 1.0},
        World([("a", "b", EdgeType.NEXT)], {"a": 0.5}),
        DEFAULT.steering(IntentMix.only(Intent.WHEN)),
        DEFAULT.walk,
    )
    assert found.missing == {"b"}
    assert "b" in found.visits


async def test_a_vector_that_cannot_change_the_beam_is_not_fetched() -> None:
    edges = [("a", f"near{n}", EdgeType.NEXT) for n in range(10)] + [
        ("a", f"far{n}", EdgeType.SIMILAR) for n in range(10)
    ]
    world = World(edges, {f"near{n}": 0.9 for n in range(10)} | {f"far{n}": 0.1 for n in range(10)} | {"a": 1.0})
    world.draw_pool(11)
    found = await walk({"a": 1.0}, world, DEFAULT.steering(IntentMix.only(Intent.WHEN)), DEFAULT.walk)
    asked = {id_ for call in world.cosine_calls for id_ in call}
    assert not any(id_.startswith("far") for id_ in asked)
    assert set(found.visits) == {"a", *(f"near{n}" for n in range(10))}


async def test_an_edge_between_two_anchors_is_remembered_for_both() -> None:
    found = await walk(
        {"a": 1.0, "b": 0.5},
        World([("a", "b", EdgeType.NEXT)], {"a": 0.5, "b": 0.5}),
        DEFAULT.steering(IntentMix.only(Intent.WHEN)),
        DEFAULT.walk,
    )
    assert found.best["a"].hop.source == "b"
    assert found.best["b"].hop.source == "a"
    assert found.path("b") == []


NODES = [f"n{n:02}" for n in range(18)]
EDGES = st.lists(
    st.tuples(
        st.sampled_from(NODES),
        st.sampled_from(NODES),
        st.sampled_from([EdgeType.NEXT, EdgeType.CAUSES, EdgeType.SIMILAR, EdgeType.MENTIONS]),
    ),
    max_size=60,
)
COSINES = st.dictionaries(st.sampled_from(NODES), st.floats(-1, 1).map(lambda value: round(value, 2)))
BOUNDS = st.builds(
    WalkPolicy, depth=st.integers(0, 6), budget=st.integers(1, 20), drop_threshold=st.sampled_from([None, 0.15])
)
STARTS = st.dictionaries(st.sampled_from(NODES), st.sampled_from([1.0, 0.5, 0.25]), max_size=8)
MIXES = st.sampled_from([IntentMix.only(intent) for intent in Intent] + [IntentMix(0.25, 0.25, 0.25, 0.25)])


def walked(edges: list[tuple[str, str, EdgeType]], cosines: dict[str, float], starts: dict[str, float],
           mix: IntentMix, bounds: WalkPolicy, seed: int) -> Walk:  # fmt: skip
    return asyncio.run(walk(starts, World(edges, cosines, seed), DEFAULT.steering(mix), bounds))


@settings(max_examples=60, deadline=None)
@given(EDGES, COSINES, STARTS, MIXES, BOUNDS)
def test_budget_and_depth_are_hard_and_every_path_starts_at_an_anchor(
    edges: list[tuple[str, str, EdgeType]],
    cosines: dict[str, float],
    starts: dict[str, float],
    mix: IntentMix,
    bounds: WalkPolicy,
) -> None:
    found = walked(edges, cosines, starts, mix, bounds, 0)
    assert len(found.visits) <= bounds.budget
    assert all(visit.depth <= bounds.depth for visit in found.visits.values())
    for id_, visit in found.visits.items():
        path = found.path(id_)
        assert len(path) == visit.depth
        assert (path[0].hop.source if path else id_) in starts
        assert all(one.hop.target == two.hop.source for one, two in itertools.pairwise(path))


@settings(max_examples=60, deadline=None)
@given(EDGES, COSINES, STARTS, MIXES, BOUNDS, st.integers(1, 2**16))
def test_a_walk_does_not_depend_on_the_order_neighbours_come_in(
    edges: list[tuple[str, str, EdgeType]],
    cosines: dict[str, float],
    starts: dict[str, float],
    mix: IntentMix,
    bounds: WalkPolicy,
    seed: int,
) -> None:
    one = walked(edges, cosines, starts, mix, bounds, 0)
    other = walked(edges[::-1], cosines, dict(reversed(starts.items())), mix, bounds, seed)
    assert list(one.visits.items()) == list(other.visits.items())
    assert (one.best, one.causes, one.missing) == (other.best, other.causes, other.missing)


@settings(max_examples=60, deadline=None)
@given(EDGES, COSINES, STARTS, MIXES, BOUNDS, st.integers(0, 18))
def test_what_is_known_beforehand_saves_fetching_and_changes_nothing(
    edges: list[tuple[str, str, EdgeType]],
    cosines: dict[str, float],
    starts: dict[str, float],
    mix: IntentMix,
    bounds: WalkPolicy,
    pool: int,
) -> None:
    cosines = {id_: cosines.get(id_, 0.0) for id_ in NODES}
    narrow = replace(DEFAULT.steering(mix), beam=2)  # so narrow that most candidates cannot get in
    plain = asyncio.run(walk(starts, World(edges, cosines), narrow, bounds))
    world = World(edges, cosines)
    world.draw_pool(pool)
    informed = asyncio.run(walk(starts, world, narrow, bounds))
    assert list(informed.visits.items()) == list(plain.visits.items())
    assert informed.best == plain.best
