"""LongMemEval's public form: questions with a haystack each."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.datasets import Skip
from bench.longmemeval import events_of, parse_time, questions_of, read_document
from memory.errors import UnreadableInput
from tests.bench.small_talk import longmemeval


def test_each_question_is_a_conversation_with_the_turns_that_have_its_answer() -> None:
    found = questions_of(longmemeval())
    assert [one.id for one in found.conversations] == ["bt-q1", "bt-q2"]
    assert found.skipped == {Skip.ABSTENTION: 1}
    [question] = found.conversations[0].questions
    assert (question.evidence, question.sessions) == (("answer_1#1",), ("answer_1",))
    assert question.as_of == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)
    assert question.category == "single-session-user"


def test_a_question_without_a_marked_turn_is_skipped() -> None:
    document = longmemeval()[:2]
    for turn in document[0]["haystack_sessions"][0]:
        turn.pop("has_answer", None)
    assert questions_of(document).skipped == {Skip.NO_EVIDENCE: 1}


def test_events_are_the_turns_and_know_no_label() -> None:
    item = longmemeval()[0]
    events = list(events_of(item, "t"))
    assert [(one.id, one.session, one.speaker, one.sequence) for one in events] == [
        ("answer_1#1", "answer_1", "user", 1),
        ("answer_1#2", "answer_1", "assistant", 2),
        ("noise_1#1", "noise_1", "user", 1),
        ("noise_1#2", "noise_1", "assistant", 2),
    ]
    assert events[0].occurred_at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    assert not any("has_answer" in one.model_dump_json() or item["question"] in one.text for one in events)


def test_an_empty_turn_is_no_event_and_the_others_keep_their_numbers() -> None:
    item = longmemeval()[0]
    item["haystack_sessions"][0][0]["content"] = " "
    assert next(events_of(item, "t")).id == "answer_1#2"


@pytest.mark.parametrize("text", ["2023-05-20", "2023/13/20 (Sat) 02:21", "", "2023/05/20 (Sat) 25:21"])
def test_a_time_is_never_invented(text: str) -> None:
    with pytest.raises(UnreadableInput):
        parse_time(text)
    assert parse_time("2023/05/20") == datetime(2023, 5, 20, tzinfo=UTC)


def broken(**change: Any) -> list[dict[str, Any]]:
    item = longmemeval()[0] | change
    return [{name: value for name, value in item.items() if value is not None}]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "list"),
        ([], "list"),
        (broken(haystack_dates=None), "haystack_dates"),
        (broken(haystack_dates=["2023/05/20"]), "one id and date"),
    ],
)
def test_what_is_not_the_data_is_refused(tmp_path: Path, document: Any, says: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UnreadableInput, match=says):
        read_document(path)


def test_only_the_first_questions_are_read_when_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(longmemeval()))
    assert len(read_document(path, 1)) == 1
