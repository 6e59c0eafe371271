"""Whatever is planted in an event never leaves intake under `mask` and `hash`, however it is written."""

import re
import string
from collections.abc import Callable
from typing import Any

import orjson
import phonenumbers
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.redaction.cards import luhn
from memory.redaction.folding import fold
from tests.redaction.events import accept, settings_for, taken

MASK, HASH = settings_for("mask"), settings_for("hash")
#: (prefix, digits) of issuers.
ISSUERS = (
    ("4", 16),
    ("51", 16),
    ("2221", 16),
    ("34", 15),
    ("37", 15),
    ("36", 14),
    ("6011", 16),
    ("3528", 16),
    ("62", 16),
)
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\ufe0f"
ALNUM = string.ascii_letters + string.digits
WORDS = st.text("abcdefghijklmnopqrstuvwxyz ,.", max_size=30)


def token(size: int, alphabet: str = ALNUM) -> st.SearchStrategy[str]:
    """A random part of a token; it ends in a digit, as nearly every one of its length has one."""
    return st.builds(
        lambda body, digit: body + digit,
        st.text(alphabet, min_size=size - 1, max_size=size - 1),
        st.sampled_from("0123456789"),
    )


@st.composite
def cards(draw: st.DrawFn) -> str:
    prefix, size = draw(st.sampled_from(ISSUERS))
    body = prefix + draw(st.text("0123456789", min_size=size - len(prefix) - 1, max_size=size - len(prefix) - 1))
    digits = next(body + last for last in "0123456789" if luhn(body + last))
    gap = draw(st.sampled_from(["", " ", "-", ".", "\u00a0", " - ", "\u2011"]))
    groups = {16: (4, 4, 4, 4), 15: (4, 6, 5), 14: (4, 6, 4)}[size]
    at, parts = 0, []
    for length in groups:
        parts.append(digits[at : at + length])
        at += length
    return gap.join(parts)


@st.composite
def phones(draw: st.DrawFn) -> str:
    region = draw(st.sampled_from(["US", "GB", "DE", "FR", "IN", "BR", "JP", "NL", "AU"]))
    number = phonenumbers.example_number_for_type(region, draw(st.sampled_from([0, 1])))
    assert number is not None
    forms = phonenumbers.PhoneNumberFormat
    written = phonenumbers.format_number(number, draw(st.sampled_from([forms.E164, forms.INTERNATIONAL])))
    if draw(st.booleans()):
        written = written.replace(" ", draw(st.sampled_from([" ", "-", ".", "\u00a0"])))
    return written


@st.composite
def mails(draw: st.DrawFn) -> str:
    local = draw(
        st.text(ALNUM + ".+_-%'", min_size=1, max_size=20).filter(lambda text: text[0] in ALNUM and text[-1] in ALNUM)
    )
    host = draw(st.text(string.ascii_lowercase + "äöü", min_size=2, max_size=12))
    return f"{local}@{host}.{draw(st.sampled_from(['com', 'example', 'co.uk', 'de', 'museum']))}"


SECRETS = st.one_of(
    token(36).map("ghp_".__add__),
    token(60).map("github_pat_".__add__),
    token(20).map("glpat-".__add__),
    token(16, string.ascii_uppercase + string.digits).map("AKIA".__add__),
    token(24).map("xoxb-123456789012-".__add__),
    token(24).map("sk_live_".__add__),
    token(99).map("sk_live_".__add__),
    token(40).map("sk-proj-".__add__),
    token(35).map("AIza".__add__),
    token(32, "abcdef0123456789").map("SK".__add__),
    st.builds("eyJ{}.{}.{}".format, token(20), token(40), token(43)),
    token(200, ALNUM + "+/\n").map(
        lambda body: f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    ),
)
#: How a secret stands that shows by its surroundings alone: the surroundings, and what it is made of.
SURROUNDED = st.sampled_from(
    [
        "Authorization: Bearer {}",
        "bearer {}",
        "password={}",
        '"password": "{}"',
        "api_key: {}",
        "https://x.example/cb?access_token={}&state=1",
        "postgres://app:{}@db.internal:5432/app",
        "redis://:{}@cache",
        "the password is {}",
        "export AWS_SECRET_ACCESS_KEY={}",
    ]
)
PLANTED = st.one_of(cards(), phones(), mails(), SECRETS)


def plain(text: str) -> str:
    return re.sub(r"[\W_]", "", fold(text).text).casefold()


def assert_gone(planted: str, value: dict[str, Any]) -> None:
    for policy in (MASK, HASH):
        handled = accept(policy, value)
        assert not handled.rejected
        raw = handled.outgoing[0].value or b""
        out = orjson.loads(raw)
        assert planted not in raw.decode()
        said = plain(orjson.dumps([out.get(name) for name in ("text", "speaker", "entities", "attributes")]).decode())
        assert plain(planted) not in said


@settings(deadline=None, max_examples=60)
@given(before=WORDS, planted=PLANTED, after=WORDS)
@example("2026 ", "4111 1111 1111 1111", " 123")
def test_what_is_planted_in_a_text_is_gone(before: str, planted: str, after: str) -> None:
    assert_gone(planted, {"text": f"{before} {planted} {after}"})


@settings(deadline=None, max_examples=60)
@given(around=SURROUNDED, secret=token(20))
def test_a_secret_that_its_surroundings_show_is_gone(around: str, secret: str) -> None:
    assert_gone(secret, {"text": f"I ran it: {around.format(secret)} and it worked"})


@settings(deadline=None, max_examples=60)
@given(planted=st.one_of(cards(), phones(), mails()), data=st.data())
def test_invisible_characters_and_other_digits_hide_nothing(planted: str, data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        planted = planted.translate({ord(digit): ord(digit) + 0xFF10 - 0x30 for digit in string.digits})
    hidden = "".join(char + data.draw(st.sampled_from(["", "", *INVISIBLE])) for char in planted)
    assert_gone(hidden, {"text": f"it is {hidden} then"})


def in_list(text: str) -> Any:
    return {"rows": [[{"note": text}]]}


@settings(deadline=None, max_examples=60)
@given(
    planted=PLANTED, place=st.sampled_from([in_list, lambda text: {text: 1}, lambda text: {"a": {"b": f"see {text}"}}])
)
def test_what_is_planted_in_attributes_is_gone_at_any_depth_and_in_names(
    planted: str, place: Callable[[str], Any]
) -> None:
    assert_gone(planted, {"attributes": place(planted)})


@settings(deadline=None, max_examples=60)
@given(planted=st.one_of(cards(), phones(), mails()))
def test_what_is_planted_in_names_is_gone(planted: str) -> None:
    assert_gone(planted, {"speaker": planted, "entities": ["gateway", planted]})


@settings(deadline=None, max_examples=60)
@given(number=cards())
def test_a_card_that_is_a_number_in_attributes_is_gone(number: str) -> None:
    assert_gone(number, {"attributes": {"pan": int(re.sub(r"\D", "", fold(number).text))}})


@pytest.mark.parametrize(
    "name", ["password", "apiKey", "client_secret", "X-Auth-Token", "db_password", "sessionToken", "token", "db_pwd"]
)
def test_a_value_whose_name_says_secret_is_gone(name: str) -> None:
    assert taken(MASK, attributes={name: "correct horse"})["attributes"] == {name: "[secret]"}


def test_what_deep_attributes_hold_is_gone() -> None:
    value: Any = "jo@example.com"
    for _ in range(200):
        value = {"a": value}
    assert_gone("jo@example.com", {"attributes": value})


@settings(deadline=None, max_examples=60)
@given(planted=PLANTED, text=WORDS)
def test_redacting_twice_is_redacting_once(planted: str, text: str) -> None:
    for policy in (MASK, HASH):
        once = taken(policy, text=f"{text} {planted} password={planted}", attributes={"password": "x y", "to": planted})
        assert taken(policy, **once) == once
