"""What an extractor is given and what it finds (arXiv 2601.03236, eq. 8 and appendix C.1). All ids are stored ids."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from memory.events import EventNode
from memory.relations import CausalKind
from memory.relations import EntityType as EntityType


class Ask(StrEnum):
    """What is wanted of an extractor; a model answers all of it in one call."""

    ENTITIES = "entities"
    CAUSES = "causes"


@dataclass(frozen=True)
class Window:
    """Events of one session in the order of its chain, some `new`, the others around them for context.

    `people`: normal forms of the people and agents that the tenant's events are known to speak of.
    """

    tenant: str
    session: str
    events: tuple[EventNode, ...]
    new: frozenset[str]
    people: frozenset[str] = frozenset()

    @cached_property
    def ids(self) -> frozenset[str]:
        """Ids of all events of the window."""
        return frozenset(event.id for event in self.events)


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """A name in an event: `surface` as the text has it, `entity_type` as one of the words of `EntityType`.

    `doubtful`: any word may stand there (the start of a sentence, lower case): it counts when it is known as a name.
    """

    event: str
    surface: str
    entity_type: str
    confidence: float
    rule: str = ""
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class FoundCause:
    """Cause → effect between two events of the window. `rule`: which rule said so, empty for a model.

    `told_by`: the later event that tells of both, empty when the effect itself shows its cause.
    """

    cause: str
    effect: str
    kind: CausalKind
    confidence: float
    rationale: str
    rule: str = ""
    told_by: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model says of one event beyond its names (arXiv 2601.03236, appendix C.1)."""

    event: str
    topic: str
    relationships: tuple[str, ...]
    semantic_facts: tuple[str, ...]
    dates_mentioned: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was found in a window. `prompt_tokens`, `completion_tokens`: what a model used; 0 for rules."""

    entities: tuple[FoundEntity, ...] = ()
    causes: tuple[FoundCause, ...] = ()
    summaries: tuple[Summary, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
