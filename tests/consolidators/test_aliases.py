"""Which entity a spelling means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidators.aliases import Aliases

PEOPLE = {"melanie", "caroline", "john smith", "robert achebe", "mei tanaka", "mary", "mara"}


@pytest.mark.parametrize(
    ("spelling", "key", "rule"),
    [
        ("melanie", "melanie", "exact"),
        ("mel", "melanie", "alias-prefix"),
        ("john", "john smith", "alias-part"),
        ("smith", "john smith", "alias-part"),
        ("j smith", "john smith", "alias-initial"),
        ("bob", "robert achebe", "alias-nickname"),
        ("js", "john smith", "alias-initials"),
        ("mar", "mar", "exact"),
        ("k smith", "k smith", "exact"),
        ("zoe", "zoe", "exact"),
        ("me", "me", "exact"),
        ("", "", "exact"),
    ],
)
def test_a_spelling_is_resolved_when_one_person_fits_and_left_alone_otherwise(
    spelling: str, key: str, rule: str
) -> None:
    resolved = Aliases(PEOPLE).resolve(spelling)
    assert (resolved.key, resolved.rule) == (key, rule)


def test_two_people_who_fit_are_never_guessed_between() -> None:
    assert Aliases({"melanie", "melissa"}).resolve("mel").key == "mel"
    assert Aliases({"robert achebe", "robert lund"}).resolve("bob").key == "bob"


@given(st.sets(st.text(alphabet="abc ", min_size=1, max_size=6).map(lambda name: " ".join(name.split())), max_size=8))
def test_every_known_person_stands_for_itself(people: set[str]) -> None:
    aliases = Aliases(people - {""})
    for person in people:
        assert aliases.resolve(person).key == person
