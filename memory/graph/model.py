"""What the graph gives back: write outcomes, neighbours, entities, sessions, counts. All ids are stored ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from memory.relations import EdgeType, Origin


class Mark(StrEnum):
    """A consolidation stage as it is marked on an event (property `c_<stage>`) once its edges are durable."""

    SEMANTIC = "semantic"
    ENTITIES = "entities"
    CAUSAL = "causal"
    EPISODES = "episodes"

    @property
    def property_name(self) -> str:
        """The property of the event node that holds the mark."""
        return f"c_{self.value}"


@dataclass(frozen=True, slots=True)
class Done:
    """Events that a stage has finished with: marked in the transaction that writes the stage's edges."""

    stage: Mark
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventsWritten:
    """Outcome of a write of events, as uids (`tenant|id`).

    `duplicates` were stored already with the same digest. `conflicts` were stored already with another one: the id was
    used twice, the first write is kept. After a lost answer to a commit the repeated write reports duplicates.
    """

    created: frozenset[str] = frozenset()
    duplicates: frozenset[str] = frozenset()
    conflicts: frozenset[str] = frozenset()

    def joined(self, other: "EventsWritten") -> "EventsWritten":
        """Give the outcome of both writes together."""
        return EventsWritten(
            self.created | other.created, self.duplicates | other.duplicates, self.conflicts | other.conflicts
        )


@dataclass(frozen=True, slots=True)
class NeighbourEdge:
    """One step from an event of the frontier (`source`) to another event (`target`).

    `forward`: the stored edge runs from source to target (for CAUSES: source is the cause); both ways for entities.
    `via`: key of the entity that joins the two, with `via_events`, the number of its edges (document frequency);
    empty and 0 for direct edges. `strength` in [0, 1]: confidence of a cause, cosine of a similarity, the weaker of
    the two confidences of an entity step, 1 for NEXT. `gap_us`: microseconds between the two, NEXT only.
    `rule`: the rule or model that inferred the edge.
    """

    source: str
    target: str
    edge: EdgeType
    forward: bool
    strength: float
    origin: Origin
    confidence: float
    kind: str = ""
    rule: str = ""
    via: str = ""
    via_events: int = 0
    gap_us: int = 0


@dataclass(frozen=True, slots=True)
class Hub:
    """An entity that a frontier event touches and that is too frequent to expand. `events`: its document frequency."""

    event: str
    key: str
    name: str
    events: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Every edge of a frontier, deduplicated and in a stable order, and the hubs that were not expanded."""

    edges: tuple[NeighbourEdge, ...] = ()
    hubs: tuple[Hub, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Ids of the chain neighbours of one event, each list nearest first."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityNode:
    """An entity. `events`: number of MENTIONS and SPOKEN_BY edges; `aliases`: spellings seen, the first ones."""

    key: str
    name: str
    type: str
    aliases: tuple[str, ...]
    events: int
    first_us: int
    last_us: int


@dataclass(frozen=True, slots=True)
class MentionEdge:
    """Event → entity as it is stored. `surface`: the event's spelling; `spoken`: the entity is the speaker."""

    event: str
    key: str
    surface: str
    spoken: bool


@dataclass(frozen=True, slots=True)
class SupersededBy:
    """The event that gives a newer value: its id, ref and event time (UTC microseconds), and what of what changed."""

    id: str
    ref: str
    occurred_us: int
    subject: str
    attribute: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class NameChange:
    """A spelling (`form`) that stands for another entity than before; keys, "" for none. Kept as history.

    `moved`: mentions that went with it; `at_us`: UTC microseconds; `proposed`: a model said so and nobody has decided,
    nothing has moved.
    """

    form: str
    before: str
    after: str
    rule: str
    origin: Origin
    confidence: float
    at_us: int
    moved: int = 0
    author: str = ""
    reason: str = ""
    proposed: bool = False
    prompt_version: str = ""


@dataclass(frozen=True, slots=True)
class SessionNode:
    """A session: its agents, its number of events, and the event times of its chain's ends in UTC microseconds."""

    session: str
    agents: tuple[str, ...]
    events: int
    first_us: int
    last_us: int


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands before and after a session: by agent, the session of its that begins before or after this one."""

    previous: Mapping[str, str] = field(default_factory=dict)
    next: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpisodeNode:
    """An episode of a session as it is stored; times are the event times of its ends, in UTC microseconds."""

    id: str
    session: str
    title: str
    reason: str
    first_us: int
    last_us: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Size of a tenant's memory. `last_us`: latest event time in UTC microseconds, nothing without events."""

    events: int
    last_us: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of a tenant's memory the graph holds."""

    events: int
    sessions: int
    entities: int
    episodes: int
    edges: Mapping[EdgeType, int] = field(default_factory=dict)
