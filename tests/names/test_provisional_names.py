"""What the fast path takes for names, without a model."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.names import MAX_NAMES, NameKind, normal_form, provisional_names


def keys(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    return [name.key for name in provisional_names(text, known)]


def test_people_and_places_in_talk() -> None:
    text = "Hey Caroline! Last week Melanie's kids and I went to Lake Tahoe and New York City with Jos\u00e9."
    assert keys(text) == ["caroline", "melanie", "lake tahoe", "new york city", "jose"]


def test_telemetry_names_with_their_kinds() -> None:
    text = (
        "payments-service v2.14.3 rolled back by @oncall-bot after INC-4711; see src/tax/calculator.py,"
        " TaxCalculator, get_user_by_id and node 2.1.0"
    )
    assert [(name.key, name.kind) for name in provisional_names(text)] == [
        ("payments service", NameKind.SERVICE),
        ("v2.14.3", NameKind.VERSION),
        ("oncall bot", NameKind.HANDLE),
        ("inc 4711", NameKind.IDENTIFIER),
        ("src/tax/calculator.py", NameKind.PATH),
        ("taxcalculator", NameKind.CODE),
        ("get user by id", NameKind.CODE),
        ("2.1.0", NameKind.VERSION),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Thanks! Glad it works. Amazing, absolutely. What a well-known, long-term fix.",
        "I think so. Yes, on Monday or in May, OK?",
        "nothing here has a capital or a sign",
        "Deploying now. Running tests. Everything passed.",
        "",
    ],
)
def test_words_that_are_no_names(text: str) -> None:
    assert keys(text) == []


def test_an_id_does_not_leave_its_letters_behind_as_a_name() -> None:
    assert keys("Opened INC-881 for checkout.") == ["inc 881"]


def test_a_word_that_opens_a_sentence_needs_to_be_known_or_seen_elsewhere() -> None:
    assert keys("Rose is here.") == []
    assert keys("Rose is here.", frozenset({"rose"})) == ["rose"]
    assert keys("Rose is here. I like Rose.") == ["rose"]


def test_each_name_once_and_never_more_than_the_bound() -> None:
    text = " ".join(f"x Name{chr(97 + n % 26)}{chr(97 + n // 26)} y" for n in range(500))
    names = provisional_names(text + text)
    assert len(names) == MAX_NAMES
    assert len({name.key for name in names}) == MAX_NAMES


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_no_text_raises_and_every_key_is_the_normal_form_of_its_surface(text: str) -> None:
    for name in provisional_names(text):
        assert name.key == normal_form(name.surface)
        assert name.key


@pytest.mark.parametrize("piece", ["a-", "A ", "a_", "/a", "Aa ", "A-1", "v1.", "aB", "@a", "a/", "A of ", "x"])
def test_time_grows_with_the_length_of_the_text_and_no_faster(piece: str) -> None:
    text = (piece * 65_536)[:65_536]
    started = time.process_time()
    provisional_names(text)
    # measured: below 0.05 s; quadratic behaviour would take minutes
    assert time.process_time() - started < 2
