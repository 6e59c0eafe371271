"""How much two texts speak of the same: shared content words (stems) and shared names."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from memory.events import EventNode
from memory.text.analysis import tokens
from memory.text.stopwords import QUESTION_WORDS, STOP_WORDS

_STOP = STOP_WORDS | QUESTION_WORDS


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a clause shares with a text: `names`, `stems`, and the `share` of the clause's stems that were found."""

    names: frozenset[str]
    stems: frozenset[str]
    share: float


@lru_cache(maxsize=8_192)
def stems(text: str) -> frozenset[str]:
    """Give the content stems of a text."""
    return frozenset(token for token in tokens(text, stop=_STOP) if len(token) > 2 or token.isdigit())


def names_of(event: EventNode) -> frozenset[str]:
    """Give the names of an event: the producer's and the provisional ones, not its speaker."""
    return frozenset(event.mentions)


def overlap(clause: str, clause_names: Iterable[str], event: EventNode) -> Overlap:
    """Say what a clause shares with an event."""
    wanted = stems(clause)
    shared = wanted & stems(event.text)
    return Overlap(frozenset(clause_names) & names_of(event), shared, len(shared) / len(wanted) if wanted else 0.0)
