"""The answer that a model must give, as pydantic models and as the JSON Schema of one request.

The ids of the window's events stand in the schema: without them small models invent ids. New events are the required
properties of one object, so that none can be left out or told twice; the ends of a link are an enum.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memory.llm.model import EntityType
from memory.relations import CausalKind


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class NamedEntity(_Answer):
    """A proper name in an event."""

    name: str = Field(min_length=1, max_length=256)
    type: EntityType


class ReadEvent(_Answer):
    """What one event says (arXiv 2601.03236, appendix C.1)."""

    entities: tuple[NamedEntity, ...]
    topic: str
    relationships: tuple[str, ...]
    semantic_facts: tuple[str, ...]
    dates_mentioned: tuple[str, ...]
    summary: str


class CausalLink(_Answer):
    """One event that caused another."""

    cause: str
    effect: str
    kind: CausalKind
    confidence: float = Field(ge=0, le=1)
    rationale: str


class Reading(_Answer):
    """The whole answer; `events` by their short ids."""

    events: dict[str, ReadEvent]
    causal_links: tuple[CausalLink, ...]

    @field_validator("events", mode="before")
    @classmethod
    def _of_list(cls, value: Any) -> Any:
        """Take a list of objects with an `id` as well: what models give whose server does not hold them to the schema.

        The first of two with one id counts.
        """
        if not isinstance(value, list):
            return value
        listed = [item for item in value if isinstance(item, dict) and isinstance(item.get("id"), str)]
        if len(listed) != len(value):
            raise ValueError("every event needs an id")
        return {item["id"]: item for item in reversed(listed)}


def _object(**properties: Any) -> dict[str, Any]:
    """Give a strict object: every property required, no other allowed, as strict structured output demands."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def reading_schema(new_ids: list[str], all_ids: list[str]) -> dict[str, Any]:
    """Give the JSON Schema of a `Reading` about these events."""
    text = {"type": "string"}
    event = _object(
        entities=_list(_object(name=text, type={"type": "string", "enum": [each.value for each in EntityType]})),
        topic=text,
        relationships=_list(text),
        semantic_facts=_list(text),
        dates_mentioned=_list(text),
        summary=text,
    )
    link = _object(
        cause={"type": "string", "enum": all_ids},
        effect={"type": "string", "enum": all_ids},
        kind={"type": "string", "enum": [each.value for each in CausalKind]},
        confidence={"type": "number"},
        rationale=text,
    )
    whole = _object(events=_object(**{ident: {"$ref": "#/$defs/event"} for ident in new_ids}), causal_links=_list(link))
    return whole | {"$defs": {"event": event}}
