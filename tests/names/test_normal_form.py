"""One normal form for all spellings of a name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.names import MAX_KEY, normal_form


@pytest.mark.parametrize(
    "spelling",
    [
        "payments service",
        "Payments-Service",
        "payments_service",
        "PAYMENTS  SERVICE",
        "the payments service",
        "payments_svc",
        "payments-service's",
        "Payments\u2011Service\u2019s",
        "\uff30\uff41\uff59\uff4d\uff45\uff4e\uff54\uff53 Service",
        '"payments service",',
    ],
)
def test_spellings_of_one_name_have_one_form(spelling: str) -> None:
    assert normal_form(spelling) == "payments service"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Jos\u00e9", "jose"),
        ("Zoe\u0308\u2019s", "zoe"),
        ("James'", "james"),
        ("O'Brien", "obrien"),
        ("STRASSE", "strasse"),
        ("stra\u00dfe", "strasse"),
        ("v2.14", "v2.14"),
        ("INC-4711", "inc 4711"),
        ("C++", "c++"),
        ("AT&T", "at&t"),
        ("src/tax/calculator.py", "src/tax/calculator.py"),
        ("\u674e\u96f7", "\u674e\u96f7"),
        ("\u2014!\u2014", ""),
        ("", ""),
        ("The", "the"),
        ("db", "db"),
    ],
)
def test_a_name_has_its_form(name: str, form: str) -> None:
    assert normal_form(name) == form


def test_versions_and_numbers_stay_apart() -> None:
    names = ["v2.14", "v2.41", "v21.4", "api-07", "api-7", "api 070"]
    assert len({normal_form(name) for name in names}) == len(names)


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_the_form_is_its_own_form_and_can_be_a_key(name: str) -> None:
    form = normal_form(name)
    assert normal_form(form) == form
    assert len(form) <= MAX_KEY
    assert "|" not in form
    assert all(character.isprintable() for character in form)
    assert form == form.strip()


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_case_and_surrounding_space_do_not_count(name: str) -> None:
    assert normal_form(f"  {name} ") == normal_form(name)
