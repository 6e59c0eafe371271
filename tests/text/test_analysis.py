"""Tokens: what is folded, what is kept whole, and that no analyser takes them apart again."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.analysis import JOINER, MAX_TOKEN_CHARS, tokens


def _whole(*parts: str) -> str:
    return JOINER.join(parts)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The dogs were running happily", ["dog", "run", "happili"]),
        ("Caroline's friends don’t know they've left", ["carolin", "friend", "know", "left"]),
        ("naïve CAFÉ ﬁne Ｆｕｌｌ İstanbul straße", ["naiv", "cafe", "fine", "full", "istanbul", "strass"]),
        ("May 2023", ["may", "2023"]),
        ("", []),
        ("… — !?", []),
    ],
)
def test_words_are_folded_stemmed_and_stopped(text: str, found: list[str]) -> None:
    assert list(tokens(text)) == found


@pytest.mark.parametrize(
    ("text", "whole", "part"),
    [
        ("payments-service", _whole("payments", "service"), "payment"),
        ("v2.14.1", _whole("v2", "14", "1"), "14"),
        ("INC-1042", _whole("inc", "1042"), "1042"),
        ("snake_case_name", _whole("snake", "case", "name"), "snake"),
        ("TaxCalculator", _whole("tax", "calculator"), "calcul"),
        ("HTTPServer", _whole("http", "server"), "server"),
        ("/var/log/app.log", _whole("var", "log", "app", "log"), "app"),
        ("C:\\temp\\x1", _whole("c", "temp", "x1"), "temp"),
        ("https://x1.example/z2", _whole("https", "x1", "example", "z2"), "exampl"),
        ("std::vector", _whole("std", "vector"), "vector"),
        ("ada@example.org", _whole("ada", "example", "org"), "ada"),
        ("2023-05-08", _whole("2023", "05", "08"), "2023"),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(text: str, whole: str, part: str) -> None:
    found = list(tokens(f"see {text}, now"))
    assert whole in found
    assert part in found


def test_a_version_is_not_another_with_the_same_digits() -> None:
    assert set(tokens("v2.14.1")) & set(tokens("v21.4.1")) <= {"1"}


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我有一只猫叫小白", "猫"),
        ("我有一只猫叫小白", "小白"),
        ("昨日は東京タワーへ行った", "東京"),
        ("내 강아지는 검색을 좋아한다", "검색"),
        ("ฉันรักแมว", "แมว"),
        ("שָׁלוֹם לכולם", "שלום"),
        ("مَرْحَبًا بكم", "مرحبا"),
        ("हिन्दी में लिखा", "हिन्दी"),
        ("Привет, мир", "ПРИВЕТ"),
        ("we won 🎉🎉", "🎉"),
        ("I ❤️ it", "❤"),
    ],
)
def test_every_script_and_emoji_survives_and_is_found(text: str, question: str) -> None:
    asked = list(tokens(question, single_characters=False))
    assert asked
    assert set(asked) <= set(tokens(text))


def test_voiced_kana_stay_another_letter() -> None:
    assert set(tokens("が")) != set(tokens("か"))


@given(st.text(max_size=80))
def test_neither_servers_analyser_changes_a_token(text: str) -> None:
    for token in tokens(text):
        assert 0 < len(token) <= MAX_TOKEN_CHARS
        # the local server: \w+ of the lower case; a Milvus server: runs of alphanumeric characters
        assert re.findall(r"\w+", token) == [token]
        assert all(char.isalnum() for char in token)


def test_a_blob_is_cut_and_takes_no_time() -> None:
    found = list(tokens("A1b2" * 15_000))
    assert all(len(token) <= MAX_TOKEN_CHARS for token in found)


def test_threads_may_analyse_at_one_time() -> None:
    words = [f"running{n % 7}ly tested happily relational" for n in range(400)]
    expected = [list(tokens(word)) for word in words]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda word: list(tokens(word)), words)) == expected
