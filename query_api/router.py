"""What a question asks: intent, names, keywords, window of time (arXiv 2601.03236, section 3.3, stage 1).

`RuleRouter` is deterministic and needs no model. Anything else that implements `Router` may take its place.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.dates import DateSpan, question_window
from memory.names import normal_form, provisional_names
from memory.text import question_keywords
from query_api.cues import ENGLISH, INFERENCE, MULTI_HOP, NEGATED, RELATIVE, AnswerKind, Cue
from query_api.intents import Intent, IntentMix

#: Evidence for GENERAL that is always there: a question without any cue is GENERAL.
PRIOR = 0.6
#: Evidence for ENTITY when the question names something that the memory knows.
NAMED = 1.0
#: Evidence for WHEN when the question names a time.
WINDOWED = 1.0

#: Longest name looked up, in words, and most names looked up for one question.
MAX_NAME_WORDS = 4
MAX_NAMES = 64

_WORD = re.compile(r"[^\W_]+(?:['’._@/-][^\W_]+)*", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Route:
    """What was understood of a question.

    `names`: normal forms of the entities it names and the memory knows; `keywords`: analysed for BM25;
    `window`: the time it names, resolved against the reference; `cues`: what decided the intent, for the explanation;
    `fell_back`: a model should have decided it and did not, so the rules did.
    """

    intents: IntentMix
    names: tuple[str, ...]
    keywords: str
    window: DateSpan | None
    kind: AnswerKind
    cues: tuple[str, ...] = ()
    fell_back: bool = False


class Router(Protocol):
    """Understands a question. Must not read the clock: `reference` is the only "now" there is."""

    async def route(self, question: str, *, reference: datetime | None, known: frozenset[str]) -> Route:
        """Route a question.

        `reference`: what "yesterday" is relative to; None when the memory is empty and the caller gave none, then no
        window is resolved. `known`: those of `name_candidates(question)` that are entities of the memory.
        A router with a model behind it that does not answer falls back to rules and says so in the route.
        """
        ...


class RuleRouter:
    """Rules with word boundaries; see `query_api.cues`."""

    def __init__(self, cues: tuple[Cue, ...] = ENGLISH) -> None:
        self._cues = cues

    async def route(self, question: str, *, reference: datetime | None, known: frozenset[str]) -> Route:
        """Route a question by rules; never raises."""
        return self.understand(question, reference=reference, known=known)

    def understand(self, question: str, *, reference: datetime | None, known: frozenset[str]) -> Route:
        """Route without a loop: the whole of this router is a function of its arguments."""
        window = question_window(question, reference) if reference is not None else None
        names = tuple(key for key in name_candidates(question) if key in known)
        fired = self._fired(question)
        evidence = dict.fromkeys(Intent, 0.0)
        for cue in fired:
            # cues of one intent do not add up: two ways to ask for a time are one question
            evidence[cue.intent] = max(evidence[cue.intent], cue.evidence)
        evidence[Intent.GENERAL] += PRIOR
        evidence[Intent.ENTITY] += NAMED if names else 0.0
        evidence[Intent.WHEN] += WINDOWED if window is not None else 0.0
        intents = IntentMix.of(evidence)
        cues = [cue.name for cue in fired]
        if names:
            cues.append("known name")
        if window is not None:
            cues.append("named time")
        return Route(
            intents=intents,
            names=names,
            keywords=question_keywords(question),
            window=window,
            kind=answer_kind(question, intents),
            cues=tuple(cues),
        )

    def _fired(self, question: str) -> list[Cue]:
        asked = RELATIVE.sub(" ", NEGATED.sub(" ", question))
        return [cue for cue in self._cues if cue.pattern.search(asked)]


def answer_kind(question: str, intents: IntentMix) -> AnswerKind:
    """Choose the answer's instruction from the question alone (arXiv 2601.03236, appendix C.2)."""
    if intents.top is Intent.WHEN:
        return AnswerKind.TEMPORAL
    if INFERENCE.search(question):
        return AnswerKind.INFERENCE
    if intents.top is Intent.WHY or MULTI_HOP.search(question):
        return AnswerKind.MULTI_HOP
    return AnswerKind.FACTUAL


def name_candidates(question: str) -> tuple[str, ...]:
    """Give the normal forms that could name an entity: provisional names first, then every run of 1 to 4 words.

    At most `MAX_NAMES`; the memory says which exist. Lower-case names are found this way too.
    """
    found: dict[str, None] = {}
    for span in provisional_names(question):
        found.setdefault(span.key)
    words = [match.group() for match in _WORD.finditer(question)]
    for length in range(1, MAX_NAME_WORDS + 1):
        for start in range(len(words) - length + 1):
            key = normal_form(" ".join(words[start : start + length]))
            if key and (length > 1 or len(key) > 1):
                found.setdefault(key)
    return tuple(found)[:MAX_NAMES]
