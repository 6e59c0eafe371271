"""What a system gave for one question, before it is held against the labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.datasets import Question

#: Ranks at which systems are measured.
RANKS = (5, 10, 20, 50)
#: Context budgets, in tokens, in which the share of evidence is measured.
CONTEXTS = (600, 1_200, 2_400)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A question's outcome.

    `turns`: producer's ids by falling rank; `sessions`: theirs, each once; `shown`: turns inside a context of each
    budget; `tokens`: size of the context of the usual budget; `ms`: wall time of the whole retrieval, `cpu_ms`: this
    process's CPU in it; `visited`: what a walk visited, empty for a baseline.
    """

    conversation: str
    question: Question
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    shown: Mapping[int, frozenset[str]]
    tokens: int
    ms: float
    cpu_ms: float
    visited: frozenset[str] = frozenset()
