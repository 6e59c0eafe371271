"""Reciprocal rank fusion (arXiv 2601.03236, eq. 4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query_api.anchors import ListName, Ranked, RankedList, best_first, fuse, keep


def ranked(name: ListName, *ids: str, weight: float = 1.0) -> RankedList:
    return RankedList(name, tuple(Ranked(id_, 1.0 / (place + 1)) for place, id_ in enumerate(ids)), weight)


def test_ranks_one_and_three_give_the_number_of_the_specification() -> None:
    fused = fuse([ranked(ListName.VECTOR, "a", "x", "y"), ranked(ListName.KEYWORD, "p", "q", "a")], 60)
    assert {anchor.id: anchor.rrf for anchor in fused}["a"] == pytest.approx(0.032266, abs=5e-7)


def test_ranks_two_and_one_give_the_number_of_the_specification() -> None:
    fused = fuse([ranked(ListName.VECTOR, "x", "a"), ranked(ListName.KEYWORD, "a")], 60)
    assert fused[0].id == "a"
    assert fused[0].rrf == pytest.approx(0.032522, abs=5e-7)


def test_an_anchor_says_what_each_list_gave_it() -> None:
    fused = fuse([ranked(ListName.VECTOR, "a"), ranked(ListName.KEYWORD, "b", "a", weight=2.0)], 60)
    shares = {anchor.id: anchor for anchor in fused}["a"].shares
    assert shares[ListName.VECTOR].rank == 1
    assert shares[ListName.KEYWORD].rank == 2
    assert shares[ListName.KEYWORD].term == pytest.approx(2 / 62)
    assert shares[ListName.KEYWORD].score == pytest.approx(0.5)


def test_a_list_of_weight_nothing_brings_no_node() -> None:
    assert fuse([ranked(ListName.ENTITY, "a", weight=0.0)], 60) == []


def test_a_list_given_twice_counts_its_better_rank_only() -> None:
    fused = fuse([ranked(ListName.ENTITY, "x", "a"), ranked(ListName.ENTITY, "a")], 60)
    assert {anchor.id: anchor.rrf for anchor in fused}["a"] == pytest.approx(1 / 61)


def test_leaving_nodes_out_closes_the_ranks_up() -> None:
    kept = keep(ranked(ListName.VECTOR, "a", "b", "c"), lambda id_: id_ != "a")
    assert fuse([kept], 60)[0].shares[ListName.VECTOR].rank == 1


LISTS = st.dictionaries(
    st.sampled_from(list(ListName)), st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), max_size=4
)


@given(LISTS)
def test_fusion_does_not_depend_on_the_order_of_the_lists(lists: dict[ListName, list[str]]) -> None:
    given_lists = [ranked(name, *ids) for name, ids in lists.items()]
    assert fuse(given_lists, 60) == fuse(given_lists[::-1], 60)


@given(LISTS)
def test_a_score_is_the_sum_of_its_shares_and_falls_along_the_result(lists: dict[ListName, list[str]]) -> None:
    fused = fuse([ranked(name, *ids) for name, ids in lists.items()], 60)
    assert all(anchor.rrf == pytest.approx(sum(share.term for share in anchor.shares.values())) for anchor in fused)
    assert [anchor.rrf for anchor in fused] == sorted((anchor.rrf for anchor in fused), reverse=True)


def test_equal_scores_are_listed_by_id() -> None:
    assert [place.id for place in best_first({"b": 1.0, "a": 1.0, "c": 2.0}, 2)] == ["c", "a"]
