"""Acceptance of causal edges: the rules without a store."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.check import cycles
from memory.graph.causality import MAX_EDGES, End, Onward, Refusal, admit, is_loose, key_of, overlaps, screen
from memory.relations import CausalEdge, CausalKind, Origin
from tests.graph.build import cause, event_id


def end(at: int, name: object, *spans: tuple[int, int], out: int = 0, into: int = 0) -> End:
    return End((at, -1, event_id(name)), spans, out, into)


def ends(*at: int) -> dict[str, End]:
    """Events named 0, 1, … at these times."""
    return {event_id(name): end(time, name) for name, time in enumerate(at)}


@pytest.mark.parametrize(
    ("edge", "refusal"),
    [
        (cause(0, 1, 0.69), Refusal.UNSURE),
        (cause(0, 1, float("nan")), Refusal.UNSURE),
        (cause(0, 0), Refusal.SELF_LOOP),
        (cause(0, "nowhere"), Refusal.NOT_STORED),
        (cause("nowhere", 0), Refusal.NOT_STORED),
        (cause(1, 0), Refusal.EFFECT_FIRST),
        (cause(0, 2), Refusal.DUPLICATE),
        (cause(0, 0, origin=Origin.PRODUCER), Refusal.SELF_LOOP),
    ],
)
def test_an_edge_is_refused_for_its_own_reason(edge: CausalEdge, refusal: Refusal) -> None:
    stored = {key_of(cause(0, 2))}
    assert [why for _, why in screen([edge], ends(0, 10, 20), stored).refused] == [refusal]


@pytest.mark.parametrize(
    "edge",
    [
        cause(0, 1, 0.7),
        cause(0, 2, kind=CausalKind.PREVENTS),
        cause(1, 0, 0.1, origin=Origin.PRODUCER),
    ],
)
def test_an_edge_within_the_rules_is_taken(edge: CausalEdge) -> None:
    stored = {key_of(cause(0, 2))}
    assert screen([edge, edge], ends(0, 10, 20), stored).taken == [edge]


def test_an_effect_may_come_first_when_the_dates_they_speak_of_overlap() -> None:
    both = {event_id(0): end(500, 0, (100, 200)), event_id(1): end(150, 1)}
    assert overlaps(both[event_id(0)], both[event_id(1)])
    assert screen([cause(0, 1)], both, set()).taken == [cause(0, 1)]
    apart = {**both, event_id(0): end(500, 0, (300, 400))}
    assert screen([cause(0, 1)], apart, set()).taken == []
    touching = {**both, event_id(0): end(500, 0, (151, 200))}
    assert screen([cause(0, 1)], touching, set()).taken == [], "the end of an interval is not part of it"


def test_at_most_five_inferred_edges_enter_and_leave_an_event_the_surest_first() -> None:
    known = ends(*range(20))
    out = [cause(0, number, 0.7 + number / 100) for number in range(1, 8)]
    taken = admit(screen(out, known, set()).taken, known, Onward(), stored_loose=False).taken
    assert [edge.effect for edge in taken] == [event_id(number) for number in (7, 6, 5, 4, 3)]
    into = [cause(number, 19) for number in range(8)]
    decision = admit(screen(into, known, set()).taken, known, Onward(), stored_loose=False)
    assert len(decision.taken) == MAX_EDGES
    assert {why for _, why in decision.refused} == {Refusal.CROWDED}


def test_counts_of_stored_edges_count_and_what_the_producer_says_is_exempt() -> None:
    full = {event_id(0): end(0, 0, out=5), event_id(1): end(1, 1)}
    said = cause(0, 1, 1.0, origin=Origin.PRODUCER)
    assert admit([cause(0, 1)], full, Onward(), stored_loose=False).taken == []
    assert admit([said], full, Onward(), stored_loose=False).taken == [said]


def test_a_cycle_over_stored_and_new_edges_is_refused() -> None:
    known = ends(0, 1, 2)
    back = cause(2, 0, origin=Origin.PRODUCER)
    stored = Onward({event_id(0): [event_id(1)], event_id(1): [event_id(2)]})
    assert [why for _, why in admit([back], known, stored, stored_loose=False).refused] == [Refusal.CYCLE]
    decision = admit([back, cause(0, 1), cause(1, 2)], known, Onward(), stored_loose=False)
    assert decision.taken == [back, cause(0, 1)]
    assert decision.refused == [(cause(1, 2), Refusal.CYCLE)]


def test_what_cannot_be_proven_acyclic_is_refused() -> None:
    known = ends(0, 1)
    unknown = Onward({}, complete=False)
    assert [why for _, why in admit([cause(0, 1)], known, unknown, stored_loose=True).refused] == [Refusal.UNPROVEN]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans(), st.floats(0.5, 1)), max_size=30))
def test_whatever_is_offered_what_is_taken_is_acyclic_and_bounded(
    offered: list[tuple[int, int, bool, float]],
) -> None:
    known = {event_id(name): end(name, name, *([(0, 3)] if name % 2 else [])) for name in range(6)}
    edges = [
        cause(one, other, confidence, origin=Origin.PRODUCER if said else Origin.RULE)
        for one, other, said, confidence in offered
    ]
    taken = admit(screen(edges, known, set()).taken, known, Onward(), stored_loose=False).taken
    graph: dict[str, list[str]] = {}
    for edge in taken:
        graph.setdefault(edge.cause, []).append(edge.effect)
        one, other = known[edge.cause], known[edge.effect]
        if edge.provenance.origin is Origin.RULE:
            assert edge.provenance.confidence >= 0.7
            assert not is_loose(one, other) or overlaps(one, other)
    assert cycles(graph) == []
    for name in known:
        inferred = [edge for edge in taken if edge.provenance.origin is Origin.RULE]
        assert sum(edge.cause == name for edge in inferred) <= MAX_EDGES
        assert sum(edge.effect == name for edge in inferred) <= MAX_EDGES


def test_every_cycle_of_a_knot_is_named_along_its_edges() -> None:
    graph = {"a": ["b"], "b": ["c", "x"], "c": ["a"], "x": ["y"], "q": ["r"], "r": ["q"]}
    found = cycles(graph)
    assert sorted(sorted(cycle) for cycle in found) == [["a", "b", "c"], ["q", "r"]]
    for cycle in found:
        assert all(later in graph[earlier] for earlier, later in pairwise([*cycle, cycle[0]]))
