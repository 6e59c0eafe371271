"""Reading labels: what can be read is read, what cannot is counted, and nothing of them reaches the memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.datasets import Skip
from bench.locomo import parse_evidence, read_questions
from memory.errors import UnreadableInput


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["D1:3"], ("D1:3",)),
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:1 D4:4 D4:6"], ("D9:1", "D4:4", "D4:6")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D1:3", "D1:3"], ("D1:3",)),
        (["D"], ()),
        ([], ()),
    ],
)
def test_evidence_is_read_in_every_form_that_the_data_have(given: list[str], found: tuple[str, ...]) -> None:
    assert parse_evidence(given) == found


def sample(*qa: dict[str, Any]) -> dict[str, Any]:
    turns = [{"dia_id": f"D1:{n}", "speaker": "Ines", "text": "words"} for n in range(1, 6)]
    talk = {"session_1_date_time": "1:00 pm on 2 March, 2024", "session_1": turns}
    return {"sample_id": "talk", "conversation": talk, "qa": list(qa)}


def asked(*evidence: str, category: int = 1, **more: Any) -> dict[str, Any]:
    return {"question": "What?", "evidence": list(evidence), "category": category, **more}


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(document))
    return path


def test_questions_are_skipped_with_the_reason_and_slips_are_counted(tmp_path: Path) -> None:
    document = [
        sample(
            asked("D1:1", answer=7),
            asked("D1:2; D1:3", category=5, adversarial_answer="blue"),
            asked("D1:4", "D9:1"),
            asked(),
            asked("D"),
            asked("D7:1"),
        )
    ]
    found = read_questions(written(tmp_path, document))
    assert found.questions == 3
    assert found.skipped == {Skip.NO_EVIDENCE: 1, Skip.MALFORMED_EVIDENCE: 1, Skip.UNKNOWN_TURN: 1}
    assert (found.repaired, found.dropped) == (1, 1)
    first, second, third = found.conversations[0].questions
    assert (first.evidence, first.answer, first.sessions) == (("D1:1",), "7", ("session_1",))
    assert (second.evidence, second.answer, second.category) == (("D1:2", "D1:3"), "", "5")
    assert third.evidence == ("D1:4",)


@pytest.mark.parametrize("document", [[], {"a": 1}, [sample()], [{"conversation": {}}]])
def test_what_is_not_the_data_is_refused_with_the_place_of_the_public_file(tmp_path: Path, document: Any) -> None:
    with pytest.raises(UnreadableInput, match="snap-research/locomo"):
        read_questions(written(tmp_path, document))
