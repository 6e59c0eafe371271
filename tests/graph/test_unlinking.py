"""What is taken out of chains leaves sorted chains without a gap, whatever is taken."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.graph.chain import Link, chain_key
from memory.graph.unlinking import runs_of, splice_of
from tests.graph.build import event

_CHAIN = [
    Link(node.uid, chain_key(node))
    for node in (event("t", f"e{number}", at=number, sequence=number) for number in range(12))
]


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(1, 11)))
def test_what_stays_is_the_sorted_chain_of_what_stays(gone: set[int], heads: set[int]) -> None:
    """`heads`: where the events are cut into chains of their own."""
    pairs = [(a, b) for at, (a, b) in enumerate(pairwise(_CHAIN), start=1) if at not in heads]
    taken = {_CHAIN[at].uid for at in gone}
    before = {b.uid: a for a, b in pairs if b.uid in taken}
    after = {a.uid: b for a, b in pairs if a.uid in taken}

    runs = runs_of(taken, before, after)
    added = splice_of(runs).added

    left = {(a.uid, b.uid) for a, b in pairs if taken.isdisjoint((a.uid, b.uid))} | {(a, b) for a, b, _ in added}
    chains: list[list[Link]] = []
    for at, one in enumerate(_CHAIN):
        if at in heads or not chains:
            chains.append([])
        if one.uid not in taken:
            chains[-1].append(one)
    assert left == {(a.uid, b.uid) for chain in chains for a, b in pairwise(chain)}
    assert len(added) == len({pair[:2] for pair in added})
    assert sorted(uid for run in runs for uid in run.uids) == sorted(taken)
    times = {one.uid: one.occurred_us for one in _CHAIN}
    assert all(gap == times[b] - times[a] for a, b, gap in added)
