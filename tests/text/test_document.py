"""What is embedded and what BM25 sees of an event; and of a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.dates import DateSpan, Precision
from memory.events import MAX_TEXT_BYTES
from memory.settings import Settings
from memory.text import document_keywords, document_text, question_keywords
from memory.text.analysis import JOINER
from memory.vectors import Vectors
from tests.text.build import node
from tests.vectors.build import DIM, MODEL, row


def _words(text: str, **changes: object) -> list[str]:
    return [token for token in document_keywords(node(text, **changes)).split() if token != JOINER]


def test_the_embedded_text_has_date_speaker_and_words() -> None:
    assert document_text(node("I went to the park")) == "[8 May 2023] Ada: I went to the park"
    assert document_text(node("done", speaker="")) == "[8 May 2023] deploy-bot: done"


def test_the_date_is_that_of_the_producers_own_clock() -> None:
    # 13:56 UTC is 03:56 of the next day at +14:00
    assert document_text(node("hi", offset_minutes=840)).startswith("[9 May 2023]")


def test_keywords_hold_speaker_words_caption_and_the_written_out_date() -> None:
    found = _words("Look at my painting [photo: a sunset over a lake]")
    assert {"ada", "look", "paint", "sunset", "lake", "8", "may", "2023"} <= set(found)


def test_a_day_that_the_text_names_is_found_by_its_date() -> None:
    day = DateSpan("yesterday", 1_683_417_600_000_000, 1_683_504_000_000_000, Precision.DAY)
    month = DateSpan("last June", 1_654_041_600_000_000, 1_656_633_600_000_000, Precision.MONTH)
    year = DateSpan("in 2019", 1_546_300_800_000_000, 1_577_836_800_000_000, Precision.YEAR)
    assert {"7"} <= set(_words("yesterday", dates=(day,)))
    assert {"june", "2022"} <= set(_words("last June", dates=(month,)))
    assert "1" not in _words("last June", dates=(month,))
    assert {"2019"} <= set(_words("x", dates=(year,)))


def test_a_question_loses_the_words_by_which_it_asks() -> None:
    assert question_keywords("When did Caroline go to the LGBTQ support group?").split() == [
        "carolin",
        "go",
        "lgbtq",
        "support",
        "group",
    ]
    assert question_keywords("What happened?") == ""
    assert question_keywords("What happened on 8 May 2023?").split() == ["8", "may", "2023"]
    assert question_keywords("dog dogs DOG").split() == ["dog"]


@given(st.text(min_size=1, max_size=60))
def test_a_question_is_found_in_the_event_that_says_it(text: str) -> None:
    assert set(question_keywords(text).split()) <= set(document_keywords(node(text)).split())


@pytest.mark.parametrize("unit", ["a-b ", "猫が好き", "word ", "🎉"])
def test_keywords_of_the_longest_text_fit_their_field(unit: str) -> None:
    text = unit * (MAX_TEXT_BYTES // len(unit.encode()))
    found = document_keywords(node(text))
    assert 0 < len(found.encode()) <= 65_535
    assert "ada" in found.split()


@pytest.mark.stack
async def test_identifiers_and_other_scripts_are_found_by_the_real_server(settings: Settings, tenant: str) -> None:
    texts = {
        "deploy": "Rolled payments-service back to v2.14.1 after INC-1042",
        "other": "Rolled payments back, service is fine since v21.4.1",
        "cat": "我有一只猫叫小白",
        "party": "we won 🎉",
        "hebrew": "שלום לכולם",
    }
    async with Vectors.open(settings, model=MODEL, dim=DIM) as vectors:
        await vectors.upsert(
            [row(tenant, ident, keywords=document_keywords(node(text))) for ident, text in texts.items()]
        )
        reader = vectors.reader(tenant)
        for question, best in {
            "What happened to payments-service v2.14.1?": "deploy",
            "INC-1042": "deploy",
            "小白": "cat",
            "猫": "cat",
            "🎉": "party",
            "שָׁלוֹם": "hebrew",
        }.items():
            hits = await reader.keywords(question_keywords(question), 3)
            assert [hit.id for hit in hits[:1]] == [best], question
