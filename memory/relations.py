"""The four relations of the memory and their edge records (arXiv 2601.03236, section 3.2)."""

from dataclasses import dataclass
from enum import StrEnum


class Relation(StrEnum):
    """One of the four disjoint edge sets that a question's intent weighs."""

    TEMPORAL = "temporal"
    CAUSAL = "causal"
    SEMANTIC = "semantic"
    ENTITY = "entity"


class EdgeType(StrEnum):
    """Relationship types in the graph. Structure, not relations: `PART_OF` binds an event to its episode,
    `MAYBE` to a spelling that may be a name, `STATES` to what it gives a value for. `NEXT_SESSION` joins not events but
    an agent's parts in sessions."""

    NEXT = "NEXT"
    NEXT_SESSION = "NEXT_SESSION"
    CAUSES = "CAUSES"
    SIMILAR = "SIMILAR"
    MENTIONS = "MENTIONS"
    SPOKEN_BY = "SPOKEN_BY"
    PART_OF = "PART_OF"
    SUPERSEDES = "SUPERSEDES"
    MAYBE = "MAYBE"
    STATES = "STATES"


#: Which relation an edge type belongs to; types that are structure are absent.
RELATION_OF: dict[EdgeType, Relation] = {
    EdgeType.NEXT: Relation.TEMPORAL,
    EdgeType.NEXT_SESSION: Relation.TEMPORAL,
    EdgeType.CAUSES: Relation.CAUSAL,
    EdgeType.SIMILAR: Relation.SEMANTIC,
    EdgeType.MENTIONS: Relation.ENTITY,
    EdgeType.SPOKEN_BY: Relation.ENTITY,
}


class Origin(StrEnum):
    """Who says that an edge holds."""

    PRODUCER = "producer"
    RULE = "rule"
    LLM = "llm"
    OPERATOR = "operator"


class EntityType(StrEnum):
    """What an entity is."""

    PERSON = "person"
    AGENT = "agent"
    ORGANISATION = "organisation"
    PLACE = "place"
    PRODUCT = "product"
    HAPPENING = "happening"
    WORK = "work"
    SERVICE = "service"
    VERSION = "version"
    IDENTIFIER = "identifier"
    PATH = "path"
    OTHER = "other"


class CausalKind(StrEnum):
    """What a causal edge says of its cause and effect."""

    LEADS_TO = "leads_to"
    ENABLES = "enables"
    PREVENTS = "prevents"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an inferred edge comes from. `confidence` in [0, 1]; `evidence`: ids of the events it was inferred from.

    `created_us`: since when the memory could hold it, the ingestion of the later of its events, in UTC microseconds:
    no clock is read, so a replay gives the same edge.
    """

    origin: Origin
    confidence: float
    created_us: int
    rule: str = ""
    model: str = ""
    prompt_version: str = ""
    rationale: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CausalEdge:
    """Event → event, cause → effect. Keyed by (cause, effect, kind): writing it twice changes nothing."""

    cause: str
    effect: str
    kind: CausalKind
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class SimilarEdge:
    """An unordered pair of events with cosine above θ; stored once, from the smaller id to the larger."""

    low: str
    high: str
    cosine: float


@dataclass(frozen=True, slots=True)
class Mention:
    """Event → entity. `key`: the entity's normal form; `surface`: the event's spelling; `spoken`: it is the speaker.

    A writer gives the normal form of the spelling as `key`; what is stored and given back has the entity's, with the
    spelling's in `form`. `doubtful`: it counts only when something else shows that the spelling is a name.
    """

    event: str
    key: str
    surface: str
    entity_type: str
    provenance: Provenance
    spoken: bool = False
    doubtful: bool = False
    form: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """A run of consecutive events of one session. `id` derives from the session and its first event."""

    id: str
    session: str
    events: tuple[str, ...]
    first_us: int
    last_us: int
    title: str
    reason: str
