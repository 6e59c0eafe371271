"""The plan of a splice: whatever the order and the batches, the edges are those of the sorted chain."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.graph.chain import Gap, Link, chain_key, is_late, plan, session_range
from tests.graph.build import T0, event

_PLACES = st.tuples(st.integers(-3, 3), st.integers(-1, 20), st.integers(0, 5))


def link(place: tuple[int, int, int]) -> Link:
    at, sequence, number = place
    node = event("t", f"{place}{number}", at=at, sequence=sequence)
    return Link(node.uid, chain_key(node))


def gap_of(chain: list[Link], late: Link) -> Gap:
    before = [one for one in chain if one.key < late.key]
    after = [one for one in chain if one.key > late.key]
    return Gap(before[-1] if before else None, after[0])


@given(st.lists(_PLACES, unique=True, max_size=20).flatmap(st.permutations), st.data())
def test_splices_of_any_order_and_batching_give_the_sorted_chain(
    places: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    links = [link(place) for place in places]
    edges: set[tuple[str, str]] = set()
    chain: list[Link] = []
    while links:
        size = data.draw(st.integers(1, len(links)))
        batch, links = links[:size], links[size:]
        tail = chain[-1] if chain else None
        gaps = {one.uid: gap_of(chain, one) for one in batch if is_late(one, tail)}
        splice = plan(tail, batch, gaps)
        removed = set(splice.removed)
        assert removed <= edges
        assert len(removed) == len(splice.removed)
        added = {(a, b) for a, b, _ in splice.added}
        assert not added & (edges - removed)
        edges = (edges - removed) | added
        chain = sorted([*chain, *batch], key=lambda one: one.key)
        assert edges == {(a.uid, b.uid) for a, b in pairwise(chain)}


@given(
    st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-1, 2**62), st.text("0123456789abcdef-", min_size=1)),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_keys_sort_as_events_do(values: list[tuple[int, int, str]]) -> None:
    nodes = [replace(event("t", "x"), occurred_us=at, sequence=sequence, id=ident) for at, sequence, ident in values]
    one, other = nodes
    assert (one.order < other.order) == (chain_key(one) < chain_key(other))
    assert Link(one.uid, chain_key(one)).occurred_us == one.occurred_us


@given(
    st.text("ab|}~é 0", max_size=4).filter(lambda name: "|" not in name and name),
    st.sampled_from(["s", "s~", "s}", "s0"]),
)
def test_the_range_of_a_session_holds_its_events_and_no_others(session: str, other: str) -> None:
    low, high = session_range("t|" + other)
    inside = low < chain_key(event("t", 1, session=session)) < high
    assert inside == (session == other)


def test_the_gap_between_two_events_is_in_microseconds() -> None:
    first, second = (link((0, -1, 1)), link((250, -1, 2)))
    assert plan(None, [second, first], {}).added == [(first.uid, second.uid, 250)]
    assert first.occurred_us == T0
