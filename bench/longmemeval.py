"""LongMemEval (xiaowu0162/LongMemEval): a list of questions, each with a haystack of sessions of its own.

Public format: `question_id, question_type, question, question_date, answer, haystack_sessions, haystack_dates,
haystack_session_ids, answer_session_ids`; a session is a list of turns with `role`, `content` and, where the answer is,
`has_answer`. Every question has a memory, so a tenant, of its own. The file gives times without a zone: they are taken
as UTC. A turn's id is `SESSION#NUMBER`, from 1.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bench.datasets import Conversation, Dataset, Question, Skip
from memory.errors import UnreadableInput
from memory.events import AgentEvent, validate_event

SOURCE = "longmemeval"

_NEEDED = (
    "question_id", "question_type", "question", "question_date", "haystack_sessions", "haystack_dates",
    "haystack_session_ids", "answer_session_ids",
)  # fmt: skip
#: "2023/05/20 (Sat) 02:21"
_TIME = re.compile(r"\s*([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})(?:\s*\([A-Za-z]+\))?(?:\s+([0-9]{1,2}):([0-9]{2}))?\s*")
#: How the data mark questions that have no answer in the haystack.
_ABSTENTION = "_abs"


def read_document(path: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """Read the questions of a file, the first `limit` of them; raises `UnreadableInput` when it is not LongMemEval."""
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise UnreadableInput(f"{path}: not a JSON document: {error.msg}") from error
    if not isinstance(document, list) or not document:
        raise UnreadableInput(f"{path}: LongMemEval is a list of questions, and this is not")
    for place, item in enumerate(document):
        missing = [name for name in _NEEDED if not isinstance(item, dict) or name not in item]
        if missing:
            raise UnreadableInput(f"{path}: question {place} lacks {', '.join(missing)}")
        counts = {len(item[name]) for name in ("haystack_sessions", "haystack_dates", "haystack_session_ids")}
        if len(counts) != 1:
            raise UnreadableInput(f"{path}: question {item['question_id']} has not one id and date for each session")
    return document[:limit]


def questions_of(document: Sequence[Mapping[str, Any]]) -> Dataset:
    """Give the labelled questions; one without evidence in its haystack is skipped."""
    conversations: list[Conversation] = []
    skipped: Counter[Skip] = Counter()
    for item in document:
        ident = str(item["question_id"])
        if ident.endswith(_ABSTENTION):
            skipped[Skip.ABSTENTION] += 1
            continue
        turns = {ref: session for ref, session, turn in _turns(item) if turn.get("has_answer")}
        sessions = [str(name) for name in item["answer_session_ids"] if name in item["haystack_session_ids"]]
        if not turns:
            skipped[Skip.NO_EVIDENCE] += 1
            continue
        question = Question(
            text=str(item["question"]),
            category=str(item["question_type"]),
            evidence=tuple(turns),
            sessions=tuple(dict.fromkeys(sessions)) or tuple(dict.fromkeys(turns.values())),
            as_of=parse_time(str(item["question_date"])),
            answer=str(item.get("answer", "")),
        )
        conversations.append(Conversation(ident, (question,)))
    if not conversations:
        raise UnreadableInput("no question of the file has evidence in its haystack")
    return Dataset(tuple(conversations), dict(skipped))


def events_of(item: Mapping[str, Any], tenant: str) -> Iterator[AgentEvent]:
    """Give the events of one question's haystack: nothing of the question and its labels is in them."""
    dates = dict(zip(map(str, item["haystack_session_ids"]), item["haystack_dates"], strict=True))
    for ref, session, turn in _turns(item):
        yield validate_event(
            {
                "id": ref,
                "source": SOURCE,
                "tenant": tenant,
                "agent": "assistant",
                "session": session,
                "kind": "message",
                "text": str(turn["content"]),
                "speaker": str(turn["role"]),
                "occurred_at": parse_time(str(dates[session])).isoformat(),
                "sequence": int(ref.rpartition("#")[2]),
            }
        )


def parse_time(text: str) -> datetime:
    """Parse "2023/05/20 (Sat) 02:21" as UTC; raises `UnreadableInput` for anything else."""
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError("not in form")
        year, month, day, hour, minute = (int(part or 0) for part in match.groups())
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError as error:
        raise UnreadableInput(f"not a time of LongMemEval: {text!r}", hint="2023/05/20 (Sat) 02:21 is one") from error


def _turns(item: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield (turn's id, session, turn) of every turn that says something."""
    for name, turns in zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True):
        for number, turn in enumerate(turns, start=1):
            if isinstance(turn, dict) and str(turn.get("content") or "").strip():
                yield f"{name}#{number}", str(name), turn
