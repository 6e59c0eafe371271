"""The questions of a LoCoMo file (snap-research/locomo, `data/locomo10.json`, CC BY-NC 4.0: never part of the project).

Category 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial. The conversation itself is read by
`cli.readers.locomo`, which never sees what is read here.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from bench.datasets import Conversation, Dataset, Question, Skip
from memory.errors import UnreadableInput

#: Names of the categories, for people.
CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
#: A turn's id as the file writes it, with the slips that it has: `D8:6; D9:17`, `D:11:26`, `D30:05`.
_TURN = re.compile(r"D:?0*([0-9]+):0*([0-9]+)")
_SESSION = re.compile(r"session_[0-9]+")
_PUBLIC = "the public file is data/locomo10.json of the repository snap-research/locomo"


def read_questions(path: Path) -> Dataset:
    """Read the labelled questions; raises `UnreadableInput` when the file cannot be read or is not LoCoMo."""
    samples = _samples(path)
    conversations: list[Conversation] = []
    skipped: Counter[Skip] = Counter()
    repaired = dropped = 0
    for sample in samples:
        turns = _turns(sample["conversation"])
        questions = []
        for asked in sample.get("qa", ()):
            given = [str(part) for part in asked.get("evidence") or ()]
            named = parse_evidence(given)
            found = tuple(ref for ref in named if ref in turns)
            if not found:
                skipped[_reason(given, named)] += 1
                continue
            repaired += list(named) != list(dict.fromkeys(given))
            dropped += len(named) - len(found)
            questions.append(
                Question(
                    text=str(asked["question"]),
                    category=str(asked["category"]),
                    evidence=found,
                    sessions=tuple(dict.fromkeys(turns[ref] for ref in found)),
                    # adversarial questions have no answer; the one that tempts stands under another name
                    answer=str(asked.get("answer", "")),
                )
            )
        if questions:
            conversations.append(Conversation(str(sample["sample_id"]), tuple(questions)))
    if not conversations:
        raise UnreadableInput(f"{path}: no question names a turn that exists", hint=_PUBLIC)
    return Dataset(tuple(conversations), dict(skipped), repaired, dropped)


def parse_evidence(given: Sequence[str]) -> tuple[str, ...]:
    """Give the turns' ids in the evidence of a question, in its order and each once; what is no id gives nothing."""
    return tuple(
        dict.fromkeys(f"D{match.group(1)}:{match.group(2)}" for part in given for match in _TURN.finditer(part))
    )


def _reason(given: Sequence[str], named: Sequence[str]) -> Skip:
    if not given:
        return Skip.NO_EVIDENCE
    return Skip.UNKNOWN_TURN if named else Skip.MALFORMED_EVIDENCE


def _turns(conversation: Mapping[str, Any]) -> dict[str, str]:
    """Give the session of each turn's id."""
    return {
        str(turn["dia_id"]): session
        for session, turns in conversation.items()
        if _SESSION.fullmatch(session) and isinstance(turns, list)
        for turn in turns
        if isinstance(turn, dict) and "dia_id" in turn
    }


def _samples(path: Path) -> list[dict[str, Any]]:
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}", hint=_PUBLIC) from error
    except orjson.JSONDecodeError as error:
        raise UnreadableInput(f"{path}: not a JSON document: {error.msg}", hint=_PUBLIC) from error
    samples = document if isinstance(document, list) else [document]
    for place, sample in enumerate(samples):
        if (
            not isinstance(sample, dict)
            or not isinstance(sample.get("conversation"), dict)
            or "sample_id" not in sample
        ):
            raise UnreadableInput(f"{path}: item {place} is not a LoCoMo sample", hint=_PUBLIC)
        for asked in sample.get("qa", ()):
            if not isinstance(asked, dict) or not {"question", "category"} <= asked.keys():
                raise UnreadableInput(f"{path}: a question of {sample['sample_id']} lacks text or category")
    return samples
