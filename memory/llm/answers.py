"""A model's answer, taken apart: refusals, truncation, fences, prose around the JSON, ids that do not exist."""

import re
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from memory.llm.model import Findings, FoundCause, FoundEntity, Summary
from memory.llm.rendering import Rendered
from memory.llm.schema import Reading

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)
#: Confidence of an entity that a model names: it is in the text, as is checked.
_ENTITY_CONFIDENCE = 0.8


class BadAnswer(Exception):
    """Raised for an answer that may be repaired; the message is what the model is told, and never the log's content."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken of one answer: entities of an event, characters of a text."""

    entities: int = 32
    chars: int = 500


def parse(content: str | None) -> Reading:
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
        return Reading.model_validate(raw)
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
    used = {event.id for event in reading.events}
    ends = {end for link in reading.causal_links for end in (link.cause, link.effect)}
    if unknown := (ends - rendered.ids.keys()) | (used - set(rendered.new)):
        raise BadAnswer(f"it named ids that are not in the log or not NEW: {', '.join(sorted(unknown)[:5])[:200]}")
    if missing := set(rendered.new) - used:
        raise BadAnswer(f"it left out the events {', '.join(sorted(missing)[:20])}")
    entities = [
        FoundEntity(rendered.ids[event.id], entity.name, entity.type, _ENTITY_CONFIDENCE)
        for event in reading.events
        for entity in event.entities[: bound.entities]
        if entity.name.casefold() in texts[rendered.ids[event.id]].casefold()
    ]
    causes = [
        FoundCause(
            rendered.ids[link.cause],
            rendered.ids[link.effect],
            link.kind,
            link.confidence,
            link.rationale[: bound.chars],
        )
        for link in reading.causal_links
        if link.cause != link.effect and not {link.cause, link.effect}.isdisjoint(rendered.new)
    ]
    summaries = [
        Summary(
            rendered.ids[event.id],
            event.topic[: bound.chars],
            event.relationships,
            event.semantic_facts,
            event.dates_mentioned,
            event.summary[: bound.chars],
        )
        for event in reading.events
    ]
    return Findings(tuple(entities), tuple(causes), tuple(summaries))
