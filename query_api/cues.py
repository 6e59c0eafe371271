"""Words that say what a question wants. English; another language is another table of `Cue`.

Every pattern has word boundaries: "and" is not in "understand", "when" in "What did she do when she left?" does not ask
for a time.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from query_api.intents import Intent

#: Evidence of a cue that asks; of one that merely fits; of one that hints.
ASKS = 4.0
FITS = 2.0
HINTS = 0.5

_AUXILIARY = r"(?:is|was|are|were|do|does|did|has|have|had|will|would|can|could|should|shall|might)"
_EMBEDS = (
    r"(?:know|knows|tell|tell (?:me|us)|say|says|wonder|wondering|remember|recall|remind me|find out|figure out|ask|"
    r"asking|sure|idea|forgot|forgotten|explain|show(?: me| us)?|check|determine|understand|learn|curious)"
)


@dataclass(frozen=True, slots=True)
class Cue:
    """A pattern in the question, the intent it speaks for and how loudly."""

    name: str
    intent: Intent
    evidence: float
    pattern: re.Pattern[str]


class AnswerKind(StrEnum):
    """Which instruction an answer gets (arXiv 2601.03236, appendix C.2); from the question's text alone."""

    MULTI_HOP = "multi_hop"
    TEMPORAL = "temporal"
    INFERENCE = "inference"
    FACTUAL = "factual"


def _cue(name: str, intent: Intent, evidence: float, pattern: str) -> Cue:
    return Cue(name, intent, evidence, re.compile(pattern, re.IGNORECASE))


ENGLISH: tuple[Cue, ...] = (
    _cue("why", Intent.WHY, ASKS, r"\bwhy\b|\bhow come\b|\bwhat for\b"),
    _cue(
        "what caused",
        Intent.WHY,
        ASKS,
        r"\bwhat(?:\s+[\w'-]+){0,4}?\s+(?:caused|causes|triggered|prompted|motivated|inspired|provoked|led to|leads to|"
        r"led up to|explains|accounts for|brought about|is to blame|was to blame)\b|"
        # not "what is behind the sofa"
        r"\bwhat(?:'s|’s|\s+is|\s+was)\s+behind\s+[\w'-]+\s+(?:decision|choice|change|move|delay|failure|outage|"
        r"incident|alert|success|idea|rise|drop|growth)s?\b|"
        r"\b(?:what|which\s+[\w'-]+)\s+(?:broke|breaks)\b|\bwhat\s+(?:made|makes|drove|drives)\s+[\w'-]+",
    ),
    _cue(
        "reason",
        Intent.WHY,
        ASKS,
        r"\breasons?\s+(?:for|why|that|behind|of)\b|\b(?:what|which|for what)\b.{0,40}\breasons?\b|"
        r"\b(?:the|its|their|his|her)\s+reasons?\b",
    ),
    _cue(
        "cause",
        Intent.WHY,
        ASKS,
        r"\b(?:root|main|underlying|original|initial|actual)\s+causes?\b|\bcauses?\s+(?:of|behind)\b|"
        r"\b(?:caused|triggered)\s+by\s+what\b|\b(?:because|as a result|due to|on account)\s+of\s+what\b",
    ),
    _cue(
        "consequence",
        Intent.WHY,
        FITS,
        r"\b(?:because of|due to|as a result of|in response to)\b|"
        r"\b(?:consequence|outcome|effect|impact|result)s?\s+of\b",
    ),
    _cue(
        "when",
        Intent.WHEN,
        ASKS,
        rf"\bwhen(?:'s|’s|'d|’d)?\s+(?:exactly\s+)?{_AUXILIARY}\b|\bwhen(?:'s|’s|'d|’d)\b|"
        r"\b(?:since|until|till|by)\s+when\b|"
        rf"\b{_EMBEDS}\s+(?:exactly\s+)?(?:since\s+|until\s+|by\s+)?when\b|\bwhen\s*\?",
    ),
    _cue(
        "what date",
        Intent.WHEN,
        ASKS,
        r"\b(?:what|which)\s+(?:exact\s+)?(?:date|day|month|year|time|week|weekend|hour|season|quarter)s?\b(?!-to-)|"
        r"\b(?:the|exact|its)\s+(?:date|timestamp)s?\b",
    ),
    _cue(
        "how long",
        Intent.WHEN,
        ASKS,
        r"\bhow\s+(?:long|recently|soon)\b|\bhow\s+many\s+(?:minutes|hours|days|weeks|months|years)\b",
    ),
    _cue(
        "order",
        Intent.WHEN,
        ASKS,
        r"\bin\s+what\s+order\b|\bwhich\s+came\s+first\b|\bchronolog\w+\b|\btime\s?line\b|\bsequence\s+of\s+events\b",
    ),
    _cue(
        "relative time",
        Intent.WHEN,
        HINTS,
        r"\b(?:before|after|while|during|since|until|ago|first|last|latest|earliest|recently|when)\b",
    ),
    _cue("who", Intent.ENTITY, ASKS, r"\b(?:who|whom|whose)\b"),
    _cue(
        "which one",
        Intent.ENTITY,
        FITS,
        r"\b(?:which|what)\s+(?:person|people|agent|service|team|company|customer|friend|place|city|country|tool)s?\b|"
        r"\bnames?\s+of\b|\b(?:is|was|are)\s+(?:\w+\s+){0,2}(?:called|named)\b",
    ),
    _cue(
        "about",
        Intent.ENTITY,
        FITS,
        r"\b(?:tell|told|know|knows|learn|remember|everything|anything|say|said|summari[sz]e)\b[^.?!]{0,30}\babout\b",
    ),
)

#: "the person who called": a relative pronoun asks nothing.
RELATIVE = re.compile(
    r"\b(?:person|people|one|ones|someone|somebody|anyone|everyone|those|man|woman|friend|friends|agent|agents|user|users|"
    r"team|engineer|guy|child|kids?)\s+(?:who|whom|whose)\b",
    re.IGNORECASE,
)

#: "not why, but when", "I don't care when it happened": what is named there is not asked. "I don't know why" asks.
NEGATED = re.compile(
    r"\b(?:not|never\s?mind|forget|ignore|regardless of|no matter|without (?:saying|asking|telling me)|rather than|"
    r"instead of|other than)\s+(?:about\s+)?(?:why|when|who|whom|whose|how come|how long|"
    r"what (?:date|day|time|year|caused))\b|"
    r"\b(?:do|does|did|am|is|are)(?:\s+not|n't|n’t)\s+(?:\w+\s+){0,2}?(?:tell|care|ask|asking|want|need|mind|matter|"
    r"interested)\b(?:(?!\bbut\b)[^,.;:?!])*",
    re.IGNORECASE,
)

INFERENCE = re.compile(
    r"\b(?:would|could|might|likely|probably|perhaps|seem|seems|suggests?|infer|imply|implies|considered?|"
    r"personality|traits?|attitude|leaning)\b",
    re.IGNORECASE,
)

MULTI_HOP = re.compile(
    r"\b(?:both|all|every|each|list|common|compare|compared|differ|difference|between|how many|how often|"
    r"what\s+(?:\w+\s+)?\w+s\s+(?:has|have|does|do|did|are|were|is|was))\b",
    re.IGNORECASE,
)
