"""What a benchmark asks of which memory, and which turns hold the answer.

Labels (evidence, category, answer) live here and go to the measuring side only: nothing of them reaches a retriever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Skip(StrEnum):
    """Why a question is not measured.

    NO_EVIDENCE: the data name no turn. MALFORMED_EVIDENCE: they name something that is no turn's id. UNKNOWN_TURN: they
    name only turns that do not exist. ABSTENTION: the question has no answer in the memory on purpose.
    """

    NO_EVIDENCE = "no_evidence"
    MALFORMED_EVIDENCE = "malformed_evidence"
    UNKNOWN_TURN = "unknown_turn"
    ABSTENTION = "abstention"


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question.

    `evidence`: producer's ids (`EventNode.ref`) of the turns that hold the answer, each once; `sessions`: the sessions
    that do. `as_of`: what relative times are relative to; None: the memory's last event. `answer`: the gold answer.
    """

    text: str
    category: str
    evidence: tuple[str, ...]
    sessions: tuple[str, ...] = ()
    as_of: datetime | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The questions to one memory; `id` names it in the tables, and its tenant is made from it."""

    id: str
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """All conversations that have a question to measure.

    `skipped`: left-out questions by reason; `repaired`: measured questions some of whose evidence was not in form
    (several ids in one string, leading zeros); `dropped`: evidence of measured questions that names no turn.
    """

    conversations: tuple[Conversation, ...]
    skipped: Mapping[Skip, int] = field(default_factory=dict)
    repaired: int = 0
    dropped: int = 0

    @property
    def questions(self) -> int:
        """Number of questions that are measured."""
        return sum(len(conversation.questions) for conversation in self.conversations)
