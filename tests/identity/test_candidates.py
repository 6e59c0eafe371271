"""Which entities are put to a judge: those that look alike, never those that cannot be one, in a stable order."""

import random

import numpy as np
import pytest

from memory.identity.candidates import MAX_BLOCK, Candidate, Named, candidates, may_be_one


def named(key: str, kind: str = "other", events: int = 1, *others: str) -> Named:
    return Named(key, kind, (key, *others), events)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("harbour office", "harbour desk"),
        ("bob", "robert achebe"),
        ("js", "junseo sato"),
        ("payment gateway", "payments gateway"),
    ],
)
def test_what_looks_alike_is_a_candidate(one: str, other: str) -> None:
    (found,) = candidates([named(one, "person", 1), named(other, "person", 3)])
    assert (found.name, found.into) == (one, other)


def test_what_has_nothing_in_common_is_none() -> None:
    assert candidates([named("lisbon", "place"), named("ledger", "service")]) == []


@pytest.mark.parametrize("kind", ["identifier", "version", "path"])
def test_ids_and_versions_are_never_one_however_alike(kind: str) -> None:
    assert candidates([named("r 11", kind), named("r 12", kind), named("release r 11", "other")]) == []


def test_a_person_may_be_an_agent_but_no_place() -> None:
    assert may_be_one("person", "agent")
    assert not may_be_one("person", "place")
    assert may_be_one("", "place")


def test_names_whose_vectors_are_near_are_candidates_without_a_letter_in_common() -> None:
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    found = candidates([named("physician"), named("doctor"), named("quay")], vectors)
    assert {(one.name, one.into) for one in found} >= {("doctor", "physician")}


def test_the_order_of_the_entities_does_not_count() -> None:
    entities = [named(f"harbour {word}", "place", at) for at, word in enumerate(("office", "desk", "wall", "master"))]
    expected = candidates(entities)
    assert expected
    random.Random(3).shuffle(entities)
    assert candidates(entities) == expected


def test_a_word_in_very_many_names_makes_no_pairs() -> None:
    entities = [named(f"unit {chr(97 + at % 26)}{chr(97 + at // 26)}{at * 7919}") for at in range(MAX_BLOCK + 1)]
    assert all(isinstance(one, Candidate) for one in candidates(entities))
    assert len(candidates(entities)) < MAX_BLOCK
