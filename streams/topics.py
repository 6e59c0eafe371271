"""Every topic, its key and what its values are: the contract with other services."""

from dataclasses import dataclass
from enum import StrEnum

from memory.settings import Settings


class Topic(StrEnum):
    """Base names; `Settings.topic_prefix` is put before each."""

    AGENT_EVENTS = "agent.events"
    MEMORY_EVENTS = "memory.events"
    MEMORY_INGESTED = "memory.ingested"
    MEMORY_CHANGES = "memory.changes"

    def name_in(self, settings: Settings) -> str:
        """Give the topic's full name under these settings."""
        return settings.topic_prefix + self.value

    def dead_letters_in(self, settings: Settings) -> str:
        """Give the full name of this topic's dead-letter topic."""
        return f"{settings.topic_prefix}{self.value}.dlq"


class Stage(StrEnum):
    """A step of the pipeline: its consumer group, the name of its worker and the label of its metrics."""

    INTAKE = "intake"
    INGEST = "ingest"
    SEMANTIC = "semantic"
    ENTITIES = "entities"
    CAUSAL = "causal"
    EPISODES = "episodes"

    @property
    def source(self) -> Topic:
        """The topic that this stage consumes."""
        return _SOURCE.get(self, Topic.MEMORY_INGESTED)

    def group_in(self, settings: Settings) -> str:
        """Give the consumer group's full name."""
        return f"{settings.topic_prefix}magma.{self.value}"


_SOURCE = {Stage.INTAKE: Topic.AGENT_EVENTS, Stage.INGEST: Topic.MEMORY_EVENTS}

#: Stages that deepen the memory after an event is durable.
CONSOLIDATION = (Stage.SEMANTIC, Stage.ENTITIES, Stage.CAUSAL, Stage.EPISODES)


@dataclass(frozen=True, slots=True)
class Key:
    """Key of `memory.*` records: one session of one tenant, so that one partition owns the session's chain."""

    tenant: str
    session: str

    def encode(self) -> bytes:
        """Give the record key: `tenant|session` in UTF-8; neither part can contain `|`."""
        return f"{self.tenant}|{self.session}".encode()
