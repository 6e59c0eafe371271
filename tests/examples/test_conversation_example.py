"""`examples/conversation.jsonl` holds what it promises: two people, eight sessions, far-apart facts, changed minds."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from cli.readers import read_events
from memory.events import AgentEvent, EventKind

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def messages() -> dict[str, AgentEvent]:
    items = list(read_events(EXAMPLES / "conversation.jsonl"))
    assert [(item.line, item.problem) for item in items if item.event is None] == []
    found = {str(item.event.id): item.event for item in items if item.event}
    assert len(found) == len(items)
    return found


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (EXAMPLES / "conversation.questions.jsonl").read_bytes().splitlines()]


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 3}


def test_the_script_reproduces_every_file_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(EXAMPLES / "make_conversation.py"), str(tmp_path)], check=True, timeout=60)
    assert len(list(tmp_path.iterdir())) == 3
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (EXAMPLES / path.name).read_bytes(), path.name


def test_two_people_talk_in_eight_sessions_over_months(messages: dict[str, AgentEvent]) -> None:
    assert 140 <= len(messages) <= 170
    assert {event.kind for event in messages.values()} == {EventKind.MESSAGE}
    assert {event.speaker for event in messages.values()} == {"Ilse", "Mateo"}
    assert len({event.session for event in messages.values()}) == 8
    moments = [event.occurred_at for event in messages.values()]
    assert moments == sorted(moments)
    assert (moments[-1] - moments[0]).days > 180


def test_the_two_instruments_are_far_apart_and_share_no_word(
    messages: dict[str, AgentEvent], questions: list[dict[str, Any]]
) -> None:
    question = next(q for q in questions if "instruments" in q["question"])
    first, second = (messages[ident] for ident in question["expected"])
    assert "violin" in first.text
    assert "clarinet" in second.text
    assert (second.occurred_at - first.occurred_at).days > 90
    assert not words(first.text) & words(second.text)
    assert first.speaker == second.speaker == "Ilse"
    assert sum("violin" in e.text or "clarinet" in e.text for e in messages.values()) == 2


def test_relative_dates_and_marked_photos_are_there(messages: dict[str, AgentEvent]) -> None:
    texts = [event.text for event in messages.values()]
    phrases = ("yesterday", "last Sunday", "two weeks ago", "next month", "last week", "on Friday", "this morning")
    assert all(any(phrase in text for text in texts) for phrase in phrases)
    assert sum("[photo: " in text for text in texts) >= 5


def test_a_changed_mind_is_newer_than_the_old_one(messages: dict[str, AgentEvent]) -> None:
    changes = orjson.loads((EXAMPLES / "conversation.changes.json").read_bytes())["supersessions"]
    assert len(changes) >= 2
    for change in changes:
        older, newer = messages[change["older"]], messages[change["newer"]]
        assert older.occurred_at < newer.occurred_at
        assert older.speaker == newer.speaker == change["subject"]


def test_questions_of_all_intents_name_messages_that_exist(
    messages: dict[str, AgentEvent], questions: list[dict[str, Any]]
) -> None:
    assert {question["intent"] for question in questions} == {"WHY", "WHEN", "ENTITY", "GENERAL"}
    for question in questions:
        assert question["expected"]
        assert set(question["expected"]) <= set(messages)
