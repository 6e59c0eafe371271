"""Values that an event states for an attribute of a subject, by rules: few and precise, one sentence at a time.

What is read: changes of settings in attributes, `key = value`, "X is now Y", "X set (raised, moved) to Y", "the A of B
is Y", versions, owners and deadlines, and where somebody lives or works. Questions, conditions, denials and plans state
nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.events import EventKind, EventNode
from memory.llm.fact_patterns import GENERIC, PATTERNS, POINTING, UNSURE, VERBS, FactPattern
from memory.llm.words import sentences
from memory.names import normal_form

#: Longest text that is read for facts, in characters, and most facts of one event.
MAX_CHARS = 2_000
MAX_FACTS = 8
_MAX_VALUE = 120
_KEYS = (
    ("key", "new"),
    ("key", "value"),
    ("flag", "value"),
    ("setting", "value"),
    ("attribute", "value"),
    ("field", "new"),
)
_OF_KEYS = ("subject", "service", "component", "resource", "entity")
_QUIET = frozenset({EventKind.TOOL_CALL, EventKind.TOOL_RESULT})
_NAMED = re.compile(r"[A-Z0-9]")
_TAIL = re.compile(r" (?:for|on|in|at|with|from|after|before) .*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A value in one event, as the text has it; subject and attribute as normal forms."""

    event: str
    subject: str
    attribute: str
    value: str
    confidence: float
    rule: str


def facts_of(event: EventNode) -> tuple[FoundFact, ...]:
    """Give what an event states, each (subject, attribute) once, at most `MAX_FACTS`; depends on the event alone."""
    found: dict[tuple[str, str], FoundFact] = {}
    for fact in (*_attributes(event), *_texts(event)):
        found.setdefault((fact.subject, fact.attribute), fact)
    return tuple(found.values())[:MAX_FACTS]


def _attributes(event: EventNode) -> Iterator[FoundFact]:
    """A change of a setting, said in attributes: certain, but for who is meant."""
    if event.kind is not EventKind.STATE_CHANGE:
        return
    for name, to in _KEYS:
        key, value = event.attributes.get(name), event.attributes.get(to)
        if isinstance(key, str) and isinstance(value, str | int | float | bool) and str(value).strip():
            of = next((str(event.attributes[one]) for one in _OF_KEYS if event.attributes.get(one)), "")
            subject, attribute = (normal_form(of), normal_form(key)) if of else (normal_form(key), "value")
            if subject and attribute:
                yield FoundFact(event.id, subject, attribute, str(value)[:_MAX_VALUE], 0.95, "fact-attributes")
            return


def _texts(event: EventNode) -> Iterator[FoundFact]:
    if event.kind in _QUIET or len(event.text) > MAX_CHARS:
        return
    for sentence in sentences(event.text):
        if UNSURE.search(sentence):
            continue
        for pattern in PATTERNS:
            for match in pattern.look.finditer(sentence):
                if (fact := _fact(event, pattern, match)) is not None:
                    yield fact


def _fact(event: EventNode, pattern: FactPattern, match: re.Match[str]) -> FoundFact | None:
    groups = match.groupdict()
    attribute = normal_form(groups.get("attribute") or pattern.attribute)
    value = groups["value"].strip(" .'\"\u201c\u201d")
    said = event.speaker or event.agent if pattern.speaks else _TAIL.sub("", groups.get("subject") or "")
    subject = normal_form(said)
    if not subject and attribute in GENERIC:
        subject, attribute = attribute, "value"
    elif subject in GENERIC:  # "severity lowered to three": of the one thing that the event names
        if len(event.mentions) != 1:
            return None
        subject, attribute = event.mentions[0], subject
    if pattern.rule == "fact-attribute-of" and event.kind is EventKind.MESSAGE and not _NAMED.search(value):
        return None  # talk: "the love of the game is infectious"
    words = {subject.split(" ")[0], normal_form(value).split(" ")[0]}
    if not subject or not attribute or not value or words & POINTING or subject.split(" ")[-1] in VERBS:
        return None
    return FoundFact(event.id, subject, attribute, value[:_MAX_VALUE], pattern.confidence, pattern.rule)
