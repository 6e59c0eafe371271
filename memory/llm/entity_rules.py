"""Names of an event by rules: patterns for telemetry, spaCy for people, places and organisations in talk."""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from memory.events import EventKind, EventNode
from memory.llm.entity_patterns import (
    ACTING,
    AMONG_AGENTS,
    CALLED,
    DAEMON,
    DOES,
    INFLECTED,
    PLAIN,
    SERVICE_ENDS,
    patterned,
)
from memory.llm.model import FoundEntity, Window
from memory.llm.ner import Named, Recogniser
from memory.names import (
    MAX_NAMES,
    NameKind,
    NameSpan,
    is_common,
    name_form,
    normal_form,
    opens_sentence,
    provisional_names,
)
from memory.relations import EntityType

_TYPE_OF = {
    NameKind.PROPER: EntityType.OTHER,
    NameKind.SERVICE: EntityType.SERVICE,
    NameKind.CODE: EntityType.OTHER,
    NameKind.VERSION: EntityType.VERSION,
    NameKind.IDENTIFIER: EntityType.IDENTIFIER,
    NameKind.HANDLE: EntityType.AGENT,
    NameKind.PATH: EntityType.PATH,
}
#: How much of a text is read for unknown words in lower case, and how many of them are kept.
_PLAIN_CHARS = 600
_MAX_PLAIN = 4
#: Where agents speak of agents.
_AMONG_AGENTS = frozenset({EventKind.HANDOFF, EventKind.DECISION, EventKind.NOTE})
_MAX_WORDS = 6
#: A capital inside a sentence, or two capitalised words in a row: without one the model's names are not plausible.
_MAY_NAME = re.compile(r"[a-z0-9,;'\u2019]\s(?!I\b)[^\W\d_a-z]\w|[^\W\d_a-z]\w+\s[^\W\d_a-z]\w")


class EntityRules:
    """The offline finder of names; blocking, so it is run in a thread."""

    def __init__(self) -> None:
        self._recogniser = Recogniser() if Recogniser.installed() else None

    def find(self, window: Window) -> tuple[FoundEntity, ...]:
        """Give the names of the window's new events, each key once an event, at most `MAX_NAMES` an event."""
        events = [event for event in window.events if event.id in window.new]
        named: list[list[Named]] = [[] for _ in events]
        if self._recogniser is not None:
            places = [place for place, event in enumerate(events) if _worth_reading(event.text)]
            read = self._recogniser.find([events[place].text for place in places])
            for place, found_there in zip(places, read, strict=True):
                named[place] = found_there
        found: list[FoundEntity] = []
        for event, spans in zip(events, named, strict=True):
            found.extend(_of_event(event, spans, self._is_word))
        return tuple(found)

    def _is_word(self, word: str) -> bool:
        """Say whether a word is an ordinary one; without the model any may be."""
        return self._recogniser is None or self._recogniser.is_word(word)


def _worth_reading(text: str) -> bool:
    return bool(_MAY_NAME.search(text) or ACTING.search(text))


def entity_type(surface: str) -> EntityType:
    """Give the type that the look of a name suggests."""
    for span in provisional_names(surface, frozenset({normal_form(surface)})):
        if span.surface == surface:
            return _service_or(span)
    return EntityType.OTHER


def _of_event(event: EventNode, spans: list[Named], is_word: Callable[[str], bool]) -> list[FoundEntity]:
    """Give each spelling once, as its surest finding has it: what is found depends on this text alone."""
    found: dict[str, FoundEntity] = {}
    inside: set[str] = set()
    for seen in patterned(event.text):
        key = name_form(seen.surface)
        kind, sure = seen.pattern.entity_type, not seen.pattern.doubtful
        if key and (key not in found or (sure and found[key].doubtful)):
            found[key] = FoundEntity(
                event.id, seen.surface, kind, seen.pattern.confidence, seen.pattern.rule, seen.pattern.doubtful
            )
        if sure:  # a part of it is no name of its own: "Brandt" of "I. Brandt"
            inside |= {normal_form(seen.surface), *key.split(" ")} - {key}
    for one in (*_provisional(event), *_in_lower_case(event, is_word)):
        key = name_form(one.surface)
        if key and key not in inside and (key not in found or (found[key].doubtful and not one.doubtful)):
            found[key] = one
    acting = {match.start("name"): match["name"] for match in ACTING.finditer(event.text)}
    called = [match["name"] for match in CALLED.finditer(event.text) if not INFLECTED.search(match["name"])]
    for surface in (*acting.values(), *called):
        key = name_form(surface)
        if key not in inside and not is_common(surface) and not is_word(surface) and _is_unsure(found.get(key)):
            found[key] = FoundEntity(event.id, surface, EntityType.OTHER, 0.65, "unknown-word-acts")
    for span in spans:
        surface = span.surface.strip()
        first, _, rest = surface.partition(" ")
        if rest and DOES.fullmatch(first):
            surface = rest
        key = name_form(surface)
        acts = span.start in acting and span.entity_type is EntityType.PERSON and not is_common(surface)
        if not key or key in inside or not (acts or _plausible(surface, span.start, event.text)):
            continue
        before = found.get(key)
        if before is None or before.doubtful or before.entity_type == EntityType.OTHER:
            found[key] = FoundEntity(
                event.id, before.surface if before else surface, span.entity_type, 0.8, "spacy-ner"
            )
    return sorted(found.values(), key=lambda each: (each.doubtful, -each.confidence))[:MAX_NAMES]


def _provisional(event: EventNode) -> Iterator[FoundEntity]:
    for name in provisional_names(event.text, doubtful=True):
        first, _, rest = name.surface.partition(" ")
        if rest and name.kind is NameKind.PROPER and DOES.fullmatch(first):  # "Tell Lotte", "Rolling CHECKOUT-API"
            yield FoundEntity(event.id, rest, EntityType.OTHER, 0.7, "pattern-proper")
            continue
        confidence = 0.5 if name.doubtful else 0.7
        yield FoundEntity(event.id, name.surface, _service_or(name), confidence, f"pattern-{name.kind}", name.doubtful)


def _in_lower_case(event: EventNode, is_word: Callable[[str], bool]) -> Iterator[FoundEntity]:
    """Daemons, which no dictionary has, and words that may be agents where agents speak of each other."""
    for match in DAEMON.finditer(event.text):
        if not is_word(match.group()) and is_word(match.group()[:-1]):
            yield FoundEntity(event.id, match.group(), EntityType.SERVICE, 0.65, "daemon")
    if event.kind is not EventKind.MESSAGE:
        unknown = (match.group() for match in PLAIN.finditer(event.text[:_PLAIN_CHARS]))
        for surface in islice((word for word in unknown if _is_jargon(word, is_word)), _MAX_PLAIN):
            yield FoundEntity(event.id, surface, EntityType.SERVICE, 0.6, "unknown-word")
    if event.kind in _AMONG_AGENTS:
        for match in AMONG_AGENTS.finditer(event.text):
            surface = match["acts"] or match["to"]
            yield FoundEntity(event.id, surface, EntityType.AGENT, 0.5, "lower-case", doubtful=True)


def _is_jargon(word: str, is_word: Callable[[str], bool]) -> bool:
    """Say whether a word of telemetry is no word of the language: a program, a host, a queue."""
    parts = word.split("-")
    return not INFLECTED.search(parts[-1]) and any(len(part) > 3 and not is_word(part) for part in parts)


def _is_unsure(found: FoundEntity | None) -> bool:
    return found is None or found.doubtful


def _service_or(name: NameSpan) -> EntityType:
    first, _, last = name.key.rpartition(" ")
    if last in {"agent", "bot"}:
        return EntityType.AGENT
    if first and last in SERVICE_ENDS:
        return EntityType.SERVICE
    return _TYPE_OF[name.kind]


def _plausible(surface: str, start: int, text: str) -> bool:
    """Keep out what the model gets wrong in talk: openers of sentences, exclamations, whole clauses, lower case."""
    words = surface.split()
    if (
        not words
        or len(words) > _MAX_WORDS
        or not surface[0].isalpha()
        or not surface[0].isupper()
        or set(surface) & set(",;\n")
    ):
        return False
    if all(is_common(word.strip(".,!?'\u2019")) for word in words):
        return False
    if len(words) == 1:
        return len(surface) > 2 and not opens_sentence(text, start)
    return not is_common(words[0]) or words[0].lower() in {"new", "the"}
