"""What stands beside the hits in time: inside their sessions, with the shortest way from a hit."""

from memory.graph import Window
from query_api.beside import STRONG, around, beside, strong_hits
from tests.query.build import node

NODES = {name: node(name, session="s1" if name < "f" else "s2") for name in "abcdefgh"}


def test_neighbours_of_the_session_come_with_the_way_to_them() -> None:
    found = beside(["c"], {"c": Window(before=("b", "a"), after=("d", "e", "f", "g"))}, NODES)
    assert found.runs == (("a", "b", "c", "d", "e"),), "the next session is another talk"
    assert [(hop.source, hop.target, hop.forward) for hop in found.ways["a"]] == [("c", "b", False), ("b", "a", False)]
    assert [(hop.source, hop.target, hop.forward) for hop in found.ways["e"]] == [("c", "d", True), ("d", "e", True)]
    assert set(found.nodes) == {"a", "b", "d", "e"}


def test_the_nearest_hit_shows_the_way() -> None:
    windows = {"a": Window(after=("b", "c", "d")), "d": Window(before=("c", "b", "a"))}
    found = beside(["a", "d"], windows, NODES)
    assert [hop.source for hop in found.ways["b"]] == ["a"]
    assert [hop.source for hop in found.ways["c"]] == ["d"]
    assert around(windows) == ["b", "c"]


def test_an_event_that_is_not_stored_breaks_the_run() -> None:
    found = beside(["a"], {"a": Window(after=("b", "missing", "c"))}, NODES)
    assert found.runs == (("a", "b"),)


def test_strong_hits_match_by_words_first_and_equal_ones_stand_by_id() -> None:
    assert strong_hits({"w": 9.0, "x": 3.0}, {"x": 0.1, "y": 0.9, "z": 0.1}) == ["w", "x", "y", "z"]
    assert strong_hits({}, {}) == []
    assert len(strong_hits({str(n): 1.0 for n in range(500)}, {})) == STRONG
