"""Where episodes end."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consolidators.segmentation import GAP_US, MAX_EVENTS, Boundary, segment, title_of
from memory.events import EventNode
from tests.consolidators.memory import node

ALIKE = np.array([1.0, 0.0], dtype=np.float32)
OTHER = np.array([0.0, 1.0], dtype=np.float32)


def chain(minutes: list[float]) -> list[EventNode]:
    return [node(f"e{n}", f"Event number {n}.", at=at) for n, at in enumerate(minutes)]


def shape(events: list[EventNode], vectors: dict[str, NDArray[np.float32]] | None = None) -> list[tuple[int, str]]:
    return [(len(episode.events), episode.reason) for episode in segment(events, vectors or {})]


def test_a_gap_of_more_than_half_an_hour_ends_an_episode() -> None:
    assert shape(chain([0, 10, 40])) == [(3, Boundary.SESSION_END)]
    assert shape(chain([0, 10, 40.1])) == [(2, Boundary.GAP), (1, Boundary.SESSION_END)]


def test_ten_events_are_an_episode() -> None:
    assert shape(chain([0.0] * 23)) == [(10, Boundary.SIZE), (10, Boundary.SIZE), (3, Boundary.SESSION_END)]


def test_an_event_that_leaves_the_mean_starts_an_episode() -> None:
    events = chain([0, 1, 2, 3, 4])
    vectors = {event.id: ALIKE if n < 3 else OTHER for n, event in enumerate(events)}
    assert shape(events, vectors) == [(3, Boundary.DRIFT), (2, Boundary.SESSION_END)]


def test_two_events_are_no_mean_to_leave() -> None:
    events = chain([0, 1, 2])
    vectors = {event.id: ALIKE if n < 2 else OTHER for n, event in enumerate(events)}
    assert shape(events, vectors) == [(3, Boundary.SESSION_END)]


def test_no_events_are_no_episode() -> None:
    assert segment([], {}) == []


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=40),
    st.lists(st.booleans(), min_size=40, max_size=40),
    st.data(),
)
@settings(max_examples=100, deadline=None)
def test_what_comes_later_never_moves_the_boundaries_before_it(
    gaps: list[int], kinds: list[bool], data: st.DataObject
) -> None:
    minutes = np.cumsum(gaps).tolist()
    events = chain(minutes)
    vectors = {event.id: ALIKE if kind else OTHER for event, kind in zip(events, kinds, strict=False)}
    whole = segment(events, vectors)
    cut = data.draw(st.integers(1, len(events)))
    part = segment(events[:cut], vectors)
    assert part[:-1] == whole[: len(part) - 1]
    assert part[-1].id == whole[len(part) - 1].id
    assert [event for episode in whole for event in episode.events] == [event.id for event in events]
    assert all(len(episode.events) <= MAX_EVENTS for episode in whole)
    # cutting again from the start of any episode gives the same
    at = data.draw(st.integers(0, len(whole) - 1))
    start = sum(len(episode.events) for episode in whole[:at])
    assert segment(events[start:], vectors) == whole[at:]


def test_the_title_is_the_sentence_with_most_in_common_and_bounded() -> None:
    events = [
        node("a", "Hello there.", agent="ana"),
        node("b", "The ferry to the island was late. I was cold.", agent="ben"),
        node("c", "The island ferry is always late!", agent="ana"),
    ]
    assert title_of(events) == "ana: The island ferry is always late!"
    assert len(title_of([node("x", "word " * 200)])) <= 80


def test_the_gap_is_in_microseconds() -> None:
    assert GAP_US == 1_800_000_000
