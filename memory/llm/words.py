"""How much two texts speak of the same: shared content words (stems) and shared names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from memory.events import EventNode
from memory.names import normal_form
from memory.text.analysis import JOINER, tokens
from memory.text.stopwords import QUESTION_WORDS, STOP_WORDS

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_ABSENT = re.compile(
    r"\b(?:not|no|never|nothing|nobody|without|unable|cannot|missing|lacks?|absent|failed to|forgot)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
#: How much of a text is read, in characters and sentences.
_READ_CHARS = 8_000
_MAX_SENTENCES = 60
_COMPARED_CHARS = 1_500
_STOP = STOP_WORDS | QUESTION_WORDS
_EVERYDAY = """
    able actually ago ahead already alright also always another around ask away back bad become began begin
    best better big bit
    bring brought call came can't cannot cause come coming could course day days different easy else end enough
    even every everyone
    everything feel felt find first found fun gave get gets getting girl give glad go goes going gone good got
    great guess guy
    happy hard hear heard hello help hey hi hope hour idea instead keep kept kind knew know known last lately
    later least leave
    left less let like line little long look looking looks lot love made make makes making man mate maybe mean
    means minute minutes
    month morning must need needed needs never new next nice night nothing number oh okay ok old one ones open
    part past people
    perhaps person place plan please pretty put question quite read ready real really reason reply rest result
    right said saw
    say says second see seem seems seen sent set should show side since sit small soon sorry sort start started
    state stay step
    still stop stuff such sure take taken taking talk task team tell thank thanks thing things think thought
    three time times
    today together told tomorrow tonight took total toward tried true try trying turn turned two use used using
    usually wait
    want wanted wants way week weeks well went whole will within without wonder word work worked working works
    world would wow
    yeah year years yes yesterday yet four five six seven eight nine ten half once
"""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a clause shares with a text: `names`, `stems`, and the `share` of the clause's stems that were found.

    `absent`: the sentence that shares it tells of something that is not there or did not happen.
    """

    names: frozenset[str]
    stems: frozenset[str]
    share: float
    absent: bool = False


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
    lacking = False
    for sentence in sentences(event.text):
        common = wanted & stems(sentence)
        if len(common) > len(best):
            best, lacking = common, absent(sentence)
    return Overlap(names, best, len(best) / len(wanted) if wanted else 0.0, lacking)


def absent(text: str) -> bool:
    """Say whether a text tells of something that is not there or did not happen."""
    return _ABSENT.search(text) is not None


@lru_cache(maxsize=1)
def _everyday() -> frozenset[str]:
    return stems(_EVERYDAY)


def telling(text: str) -> frozenset[str]:
    """Give the stems of a text that tell its topic: without everyday words, of which two texts share some by chance."""
    return frozenset(stem for stem in stems(text) - _everyday() if not stem.isdigit() or len(stem) > 3)


def shared(one: EventNode, other: EventNode) -> frozenset[str]:
    """Give the telling stems that two events share, each read in its first part."""
    return telling(one.text[:_COMPARED_CHARS]) & telling(other.text[:_COMPARED_CHARS])


def shared_names(one: EventNode, other: EventNode) -> frozenset[str]:
    """Give the names that two events share, those of their speakers and agents left out."""
    voices = {normal_form(name) for each in (one, other) for name in (each.speaker, each.agent)}
    return (names_of(one) & names_of(other)) - voices
