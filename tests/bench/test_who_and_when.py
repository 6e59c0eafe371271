"""Failure logs become sessions of events, and nothing of their labels does."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.who_and_when import START, FailureLog, read_logs, step_id
from memory.errors import UnreadableInput
from memory.events import MAX_TEXT_BYTES, EventKind


def log(*steps: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "question": "How many oars does the ferry have?",
        "history": list(steps),
        "mistake_agent": "Counter",
        "mistake_step": "1",
        "mistake_reason": "It counted the paddles of the museum.",
        "ground_truth": "4",
        "file": "Made-Up/7.json",
        **more,
    }


GENERATED = (
    {"content": "Let us count.", "role": "assistant", "name": "Counter"},
    {"content": "exitcode: 1 (execution failed)\nNameError", "role": "user", "name": "Computer_terminal"},
    {"content": "exitcode: 0 (execution succeeded)\n6", "role": "user", "name": "Computer_terminal"},
)
CRAFTED = (
    {"content": "How many oars?", "role": "human"},
    {"content": "Plan: look it up.", "role": "Orchestrator (thought)"},
    {"content": "Please search for oars.", "role": "Orchestrator (-> WebSurfer)"},
    {"content": "I typed oars.", "role": "WebSurfer"},
    {"content": "", "role": "Assistant"},
)


def read(folder: Path, *logs: object) -> list[FailureLog]:
    path = folder / "logs.json"
    path.write_text(json.dumps(logs))
    return read_logs(path)


def test_a_step_is_an_event_of_its_agent_and_of_the_kind_that_speaker_and_status_say(tmp_path: Path) -> None:
    generated, crafted = read(tmp_path, log(*GENERATED), log(*CRAFTED, file="Made-Up/8.json"))
    assert [(step.agent, step.kind) for step in generated.steps] == [
        ("Counter", EventKind.MESSAGE),
        ("Computer_terminal", EventKind.ERROR),
        ("Computer_terminal", EventKind.TOOL_RESULT),
    ]
    assert [(step.agent, step.kind) for step in crafted.steps] == [
        ("human", EventKind.MESSAGE),
        ("Orchestrator", EventKind.NOTE),
        ("Orchestrator", EventKind.HANDOFF),
        ("WebSurfer", EventKind.TOOL_RESULT),
        ("Assistant", EventKind.MESSAGE),
    ]
    assert crafted.steps[-1].text == "(no text)"


def test_steps_follow_each_other_by_a_second_in_one_session(tmp_path: Path) -> None:
    (found,) = read(tmp_path, log(*GENERATED))
    assert found.id == "made-up-7"
    assert {step.session for step in found.steps} == {step.tenant for step in found.steps} == {"made-up-7"}
    assert [step.id for step in found.steps] == [step_id(0), step_id(1), step_id(2)]
    assert [(step.occurred_at - START).total_seconds() for step in found.steps] == [0, 1, 2]


def test_the_question_is_the_task_and_no_label_is_in_what_is_remembered(tmp_path: Path) -> None:
    (found,) = read(tmp_path, log(*GENERATED))
    assert found.decisive == 1
    assert found.question == "Why did the task fail? How many oars does the ferry have?"
    said = "".join(step.model_dump_json() for step in found.steps) + found.question
    assert "museum" not in said
    assert "mistake" not in said


def test_a_step_that_is_too_long_keeps_its_beginning(tmp_path: Path) -> None:
    (found,) = read(tmp_path, log(GENERATED[0], {"content": "é" * MAX_TEXT_BYTES, "role": "human"}))
    assert found.steps[1].text.startswith("éé")
    assert len(found.steps[1].text.encode()) <= MAX_TEXT_BYTES


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({}, "list of failure logs"),
        ([], "list of failure logs"),
        ([{"question": "?"}], "log 0 lacks history"),
        ([log(*GENERATED, mistake_step="three")], "not a number"),
        ([log(*GENERATED, mistake_step="3")], "step 3 is not in its history"),
    ],
)
def test_another_file_is_refused_in_one_sentence(tmp_path: Path, document: object, told: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UnreadableInput, match=told):
        read_logs(path)
    with pytest.raises(UnreadableInput, match="No such file"):
        read_logs(tmp_path / "absent.json")
