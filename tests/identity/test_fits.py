"""Which spelling may stand for which, by its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.identity import blocks_of, fit
from memory.identity.index import Spellings, as_full, as_short
from memory.identity.nicknames import COMPLETE, FULL_OF

_FIRST = [*sorted(FULL_OF)[:30], "melanie", "mel", "john", "robert", "rob", "alexander", "sebastian"]
_LAST = ["smith", "lindqvist", "lindquist", "achebe", "ruiz"]
_NAMES = st.one_of(
    st.sampled_from(_FIRST),
    st.tuples(st.sampled_from(_FIRST), st.sampled_from(_LAST)).map(" ".join),
    st.tuples(st.sampled_from("jmr"), st.sampled_from(_LAST)).map(" ".join),
    st.tuples(st.sampled_from(_FIRST), st.sampled_from(["q", "lee"]), st.sampled_from(_LAST)).map(" ".join),
    st.sampled_from(["js", "r 11", "r11", "pet pantry", "petpantry", "inc 881", "inc881"]),
    st.sampled_from(
        ["petpantry.example", "pet pantry ltd", "john smith ltd", "ltd", "new york", "york", "melanie smith"]
    ),
)


@pytest.mark.parametrize(
    ("short", "full", "rule"),
    [
        ("mel", "melanie", "alias-prefix"),
        ("mel", "melanie brooks", "alias-prefix"),
        ("john", "john smith", "alias-part"),
        ("smith", "john smith", "alias-part"),
        ("j smith", "john smith", "alias-initial"),
        ("bob", "robert achebe", "alias-nickname"),
        ("bob achebe", "robert achebe", "alias-nickname"),
        ("js", "john smith", "alias-initials"),
        ("john smith", "john quincy smith", "alias-middle"),
        ("tomas lindqvist", "tomas lindquist", "alias-similar"),
        ("petpantry", "pet pantry", "alias-spacing"),
        ("r11", "r 11", "alias-spacing"),
        ("vale", "ashen vale", "alias-part"),
    ],
)
def test_a_shorter_or_other_spelling_fits(short: str, full: str, rule: str) -> None:
    found = fit(short, full)
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("dan", "dana"),
        ("ann", "anna"),
        ("carol", "caroline"),
        ("me", "melanie"),
        ("k smith", "john smith"),
        ("erin", "aaron"),
        ("john smith", "john smyth"),
        ("inc 881", "inc 882"),
        ("melanie", "mel"),
        ("", "mel"),
        ("mel", "mel"),
    ],
)
def test_others_do_not(short: str, full: str) -> None:
    assert fit(short, full) is None


@given(_NAMES, _NAMES)
def test_no_two_spellings_fit_both_ways_round(one: str, other: str) -> None:
    assert not (fit(one, other) and fit(other, one))


@given(_NAMES, _NAMES)
def test_spellings_that_fit_share_a_block(one: str, other: str) -> None:
    if fit(one, other):
        assert set(blocks_of(one)) & set(blocks_of(other))


@given(_NAMES, _NAMES)
def test_spellings_that_fit_find_each_other_by_a_key(one: str, other: str) -> None:
    fits = fit(one, other) is not None
    assert Spellings([other]).fuller(one) == ([other] if fits else [])
    assert Spellings([one]).shorter(other) == ([one] if fits else [])
    assert bool(set(as_short(one)) & set(as_full(other))) or not fits


def test_a_word_that_many_names_begin_with_is_no_way_from_one_of_them_to_the_others() -> None:
    """Numbered names are what near-identical events are full of."""
    many = [f"replica {number}" for number in range(1_000)]
    everything = Spellings([*many, "replica", "replica 7 ltd"])
    short, full = set(as_short("replica 7")), set(as_full("replica 7"))
    assert not [form for form in many[8:] if short & set(as_full(form)) or full & set(as_short(form))]
    assert everything.shorter("replica 7") == ["replica"]
    assert everything.fuller("replica 7") == ["replica 7 ltd"]
    assert everything.fuller("replica") == sorted([*many, "replica 7 ltd"])


def test_the_table_has_no_circle() -> None:
    names = sorted({*FULL_OF, *(full for fulls in FULL_OF.values() for full in fulls), *COMPLETE})
    fuller = {one: [other for other in names if fit(one, other)] for one in names}

    def depth(name: str, path: tuple[str, ...]) -> int:
        assert name not in path, path
        return 1 + max((depth(other, (*path, name)) for other in fuller[name]), default=0)

    assert max(depth(name, ()) for name in names) < 12
