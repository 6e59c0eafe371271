"""Every topic, its key and what its values are: the contract with other services.

| topic | key | value |
| --- | --- | --- |
| `agent.events` | any | `memory.events.AgentEvent`, JSON; or CloudEvents 1.0 (`streams.dialects.cloudevents`) |
| `agent.otlp` | any | OTLP traces and logs, as the OpenTelemetry Collector's exporter writes them |
| `memory.events` | tenant + session + id | the same, validated, stored id in the header `magma-id`; no value: erased |
| `memory.ingested` | tenant + session | `memory.records.Ingested` |
| `memory.changes` | tenant + session | `memory.records.Changed` |
| `memory.erasures` | tenant | `memory.erasure.Erasure`: what must be forgotten, also on replay |
| `<topic>.dlq` | unchanged | unchanged, with `x-error-*` headers |

The partition of a `memory.*` record is that of `tenant|session` (of `memory.erasures`: of the tenant). `memory.events`
is compacted: a key names one event, so nothing is compacted away but what a tombstone erased.
"""

from enum import StrEnum

from memory.settings import Settings


class Topic(StrEnum):
    """Base names; `Settings.topic_prefix` is put before each."""

    AGENT_EVENTS = "agent.events"
    AGENT_OTLP = "agent.otlp"
    MEMORY_EVENTS = "memory.events"
    MEMORY_INGESTED = "memory.ingested"
    MEMORY_CHANGES = "memory.changes"
    MEMORY_ERASURES = "memory.erasures"

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
    ERASE = "erase"

    @property
    def source(self) -> Topic:
        """The topic that this stage consumes."""
        return _SOURCE.get(self, Topic.MEMORY_INGESTED)

    @property
    def sources(self) -> tuple[Topic, ...]:
        """All topics that this stage consumes, its source first."""
        return (self.source, Topic.AGENT_OTLP) if self is Stage.INTAKE else (self.source,)

    @property
    def output(self) -> Topic:
        """The topic that this stage publishes on once a batch is durable."""
        return _OUTPUT.get(self, Topic.MEMORY_CHANGES)

    def group_in(self, settings: Settings) -> str:
        """Give the consumer group's full name."""
        return f"{settings.topic_prefix}magma.{self.value}"


_SOURCE = {
    Stage.INTAKE: Topic.AGENT_EVENTS,
    Stage.INGEST: Topic.MEMORY_EVENTS,
    Stage.ERASE: Topic.MEMORY_ERASURES,
}

#: What an erasure gives out are events that must be consolidated again.
_OUTPUT = {
    Stage.INTAKE: Topic.MEMORY_EVENTS,
    Stage.INGEST: Topic.MEMORY_INGESTED,
    Stage.ERASE: Topic.MEMORY_INGESTED,
}

#: Stages that deepen the memory after an event is durable.
CONSOLIDATION = (Stage.SEMANTIC, Stage.ENTITIES, Stage.CAUSAL, Stage.EPISODES)
