"""How much two texts speak of the same: shared content words (stems) and shared names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from memory.events import EventNode
from memory.text.analysis import JOINER, tokens
from memory.text.stopwords import QUESTION_WORDS, STOP_WORDS

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
#: How much of a text is read, in characters and sentences.
_READ_CHARS = 8_000
_MAX_SENTENCES = 60
_STOP = STOP_WORDS | QUESTION_WORDS


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a clause shares with a text: `names`, `stems`, and the `share` of the clause's stems that were found."""

    names: frozenset[str]
    stems: frozenset[str]
    share: float


@lru_cache(maxsize=16_384)
def stems(text: str) -> frozenset[str]:
    """Give the content stems of a text; of an identifier its parts and not the whole."""
    found = tokens(text, stop=_STOP)
    return frozenset(token for token in found if (len(token) > 2 or token.isdigit()) and JOINER not in token)


def names_of(event: EventNode) -> frozenset[str]:
    """Give the names of an event: the producer's and the provisional ones, not its speaker."""
    return frozenset(event.mentions)


@lru_cache(maxsize=4_096)
def sentences(text: str) -> tuple[str, ...]:
    """Give the first sentences of a text, each on one line; the whole is what is left when there is no full stop."""
    parts = (" ".join(part.split()) for part in _SENTENCE_END.split(text[:_READ_CHARS]))
    return tuple(part for part in parts if len(part) > 1)[:_MAX_SENTENCES]


def overlap(clause: str, clause_names: Iterable[str], event: EventNode) -> Overlap:
    """Say what a clause shares with the sentence of an event that it shares most with.

    With a sentence and not with the whole: a long text has every word somewhere.
    """
    wanted, names = stems(clause), frozenset(clause_names) & names_of(event)
    best: frozenset[str] = frozenset()
    for sentence in sentences(event.text):
        shared = wanted & stems(sentence)
        if len(shared) > len(best):
            best = shared
    return Overlap(names, best, len(best) / len(wanted) if wanted else 0.0)
