"""A model's answer, taken apart: refusals, truncation, fences, prose around the JSON, ids that do not exist."""

import re
from dataclasses import dataclass
from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from memory.llm.model import Findings, FoundCause, FoundEntity, Summary
from memory.llm.rendering import Rendered, visible
from memory.llm.schema import Reading
from memory.text.stopwords import STOP_WORDS

A = TypeVar("A", bound=BaseModel)

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
#: How an id may look that is shown to the model again: whatever else it wrote must not come back as our words.
_ID = re.compile(r"[A-Za-z0-9_.-]{1,24}")
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)
#: Confidence of an entity that a model names: it is in the text, as is checked.
_ENTITY_CONFIDENCE = 0.8


class BadAnswer(Exception):
    """Raised for an answer that may be repaired; the message is what the model is told, and never the log's content."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken of one answer: entities of an event, texts of a list, characters of a text."""

    entities: int = 32
    texts: int = 16
    chars: int = 500

    def cut(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Give a list of texts within the bounds."""
        return tuple(text[: self.chars] for text in texts[: self.texts])


def parse(content: str | None) -> Reading:
    """Read a `Reading`; raises `BadAnswer`."""
    return parse_as(Reading, content)


def parse_as(model: type[A], content: str | None) -> A:
    """Read the JSON object of an answer, with or without a fence, a thought or prose around it; raises `BadAnswer`."""
    if content is None or not content.strip():
        raise BadAnswer("it was empty")
    text = _THOUGHT.sub("", content).strip()
    fenced = _FENCE.search(text)
    if fenced:
        text = fenced[1].strip()
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise BadAnswer("it contained no JSON object")
    try:
        raw = orjson.loads(text[start : end + 1])
    except orjson.JSONDecodeError as error:
        raise BadAnswer(f"it was not valid JSON: {error.msg} at character {error.pos}") from error
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()[:5]
        )
        raise BadAnswer(f"it did not fit the schema: {problems}") from error


def findings(reading: Reading, rendered: Rendered, texts: dict[str, str], limits: Limits | None = None) -> Findings:
    """Give what the reading says with stored ids; raises `BadAnswer` for ids that the log does not have.

    `texts`: text by stored id. A name that is not in its event's text is dropped: it was invented.
    """
    bound = limits or Limits()
    ends = {end for link in reading.causal_links for end in (link.cause, link.effect)}
    if unknown := (ends - rendered.ids.keys()) | (reading.events.keys() - set(rendered.new)):
        named = ", ".join(ident if _ID.fullmatch(ident) else "(not an id)" for ident in sorted(unknown)[:5])
        raise BadAnswer(f"it named ids that are not in the log or not NEW: {named}")
    if missing := set(rendered.new) - reading.events.keys():
        raise BadAnswer(f"it left out the events {', '.join(sorted(missing)[:20])}")
    folded = {short: visible(texts[rendered.ids[short]]).casefold() for short in rendered.new}
    entities = [
        FoundEntity(rendered.ids[short], name, entity.type, _ENTITY_CONFIDENCE)
        for short in rendered.new
        for entity in reading.events[short].entities[: bound.entities]
        if (name := visible(entity.name)) and name.casefold() in folded[short]
    ]
    causes = [
        FoundCause(
            rendered.ids[link.cause],
            rendered.ids[link.effect],
            link.kind,
            link.confidence,
            _of_its_ends(
                visible(link.rationale)[: bound.chars], {rendered.ids[link.cause], rendered.ids[link.effect]}, texts
            ),
        )
        for link in reading.causal_links
        if link.cause != link.effect and not {link.cause, link.effect}.isdisjoint(rendered.new)
    ]
    summaries = [
        Summary(
            rendered.ids[short],
            event.topic[: bound.chars],
            bound.cut(event.relationships),
            bound.cut(event.semantic_facts),
            bound.cut(event.dates_mentioned),
            event.summary[: bound.chars],
        )
        for short, event in ((short, reading.events[short]) for short in rendered.new)
    ]
    return Findings(tuple(entities), tuple(causes), tuple(summaries))


def _of_its_ends(rationale: str, ends: set[str], texts: dict[str, str]) -> str:
    """Give a rationale, empty when it has a word that only other events than the link's ends have.

    A link is forgotten with its ends and with nothing else: what it says must be theirs.
    """
    words = _words(rationale)
    theirs = {word for ident in ends for word in _words(texts[ident])}
    others = {word for ident in texts.keys() - ends for word in _words(texts[ident])}
    return "" if (words & others) - theirs else rationale


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", visible(text).casefold())) - STOP_WORDS
