"""The event as producers send it (`AgentEvent`) and as the memory stores it (`EventNode`).

Source of the node: arXiv 2601.03236, eq. 3: ⟨content, time, vector, attributes⟩; the vector lives in the vector store.
"""

import hashlib
import re
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Annotated, Any, Self

import orjson
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from memory.dates import DateSpan
from memory.errors import MalformedEvent, OversizeEvent

#: Namespace of every id that Magma derives (UUIDv5); changing it changes every id.
ID_NAMESPACE = uuid.UUID("6d61676d-6100-5000-8000-6d656d6f7279")

#: Bound on `text`, in UTF-8 bytes: a Milvus VARCHAR holds 65,535 bytes, a graph message stays small.
MAX_TEXT_BYTES = 65_000
#: Bound on a whole record value, in bytes.
MAX_EVENT_BYTES = 1_000_000
#: Bound on serialised `attributes`, in bytes.
MAX_ATTRIBUTES_BYTES = 200_000
#: Bounds on `occurred_at`, UTC: what every store, calendar and display can hold at any UTC offset.
EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
#: Bound on `caused_by` and `entities`.
MAX_REFS = 64
#: What redaction leaves where something stood (`memory.redaction`); the digits depend on a key that can be changed.
MARK = re.compile(r"\[(secret|card|mail|phone)(?::[0-9a-f]{16})?\]")

Name = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f|]+$")]
"""A tenant, agent, session, source or id: 1 to 256 characters, no control character and no `|` (the key separator)."""

_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")


def _not_a_number(value: object) -> object:
    """Refuse a time that is a number, bare or in quotes: seconds and milliseconds look alike."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_AND_TIME.match(value)):
        return value
    raise ValueError("write the time as ISO 8601 with an offset, such as 2026-05-08T10:00:00Z")


WrittenTime = Annotated[AwareDatetime, BeforeValidator(_not_a_number)]
"""A moment as somebody outside writes it (RFC 3339): with a date, a time and a UTC offset; nothing of it is guessed."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class EventKind(StrEnum):
    """What an agent's step was."""

    MESSAGE = "message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    OBSERVATION = "observation"
    DECISION = "decision"
    HANDOFF = "handoff"
    ERROR = "error"
    STATE_CHANGE = "state_change"
    NOTE = "note"


class Trust(StrEnum):
    """How much a source's word counts (`memory.trust`); what is quarantined is not stored until it is released."""

    TRUSTED = "trusted"
    NORMAL = "normal"
    UNTRUSTED = "untrusted"
    QUARANTINED = "quarantined"


class AgentEvent(BaseModel):
    """One step of an agent, as a producer sends it: the published contract of `agent.events`.

    `occurred_at` must carry a UTC offset: a naive time is refused, never guessed. `sequence` orders events of one
    session that have the same time. `parent` and `caused_by` name events by the `id` their producer gave them, within
    the same `tenant` and `source`. Text is bounded in UTF-8 bytes (`MAX_TEXT_BYTES`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Name | None = None
    source: Name | None = None
    tenant: Name
    agent: Name
    session: Name
    kind: EventKind
    text: str
    speaker: Name | None = None
    occurred_at: WrittenTime
    sequence: Annotated[int, Field(ge=0, lt=2**62)] | None = None
    parent: Name | None = None
    caused_by: Annotated[tuple[Name, ...], Field(max_length=MAX_REFS)] = ()
    entities: Annotated[tuple[Name, ...], Field(max_length=MAX_REFS)] = ()
    attributes: dict[str, Any] = Field(default_factory=dict)
    trace: Annotated[str, StringConstraints(max_length=256)] | None = None
    derived_from: Annotated[tuple[Name, ...], Field(max_length=MAX_REFS)] = ()

    @field_validator("occurred_at")
    @classmethod
    def _representable(cls, occurred_at: datetime) -> datetime:
        if not EARLIEST <= occurred_at < LATEST:
            raise ValueError("occurred_at is not between the years 1900 and 2200 in UTC")
        return occurred_at

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.text.strip():
            raise ValueError("text is empty: an event must say something")
        if "\x00" in self.text:
            raise ValueError("text contains a NUL character")
        if len(self.text.encode()) > MAX_TEXT_BYTES:
            raise ValueError(f"text is longer than {MAX_TEXT_BYTES} bytes")
        if self.attributes and len(orjson.dumps(self.attributes)) > MAX_ATTRIBUTES_BYTES:
            raise ValueError(f"attributes are larger than {MAX_ATTRIBUTES_BYTES} bytes")
        return self


def decode_event(value: bytes | None, *, tenant: str | None = None) -> AgentEvent:
    """Decode and validate one record value (JSON, UTF-8) into an `AgentEvent`.

    `tenant`: whose it is when it does not say; what it says stands.

    Raises `OversizeEvent` over `MAX_EVENT_BYTES`, `MalformedEvent` for anything that is not a valid event; the
    message names each bad field and never repeats the event's content.
    """
    if value is None:
        raise MalformedEvent("the record has no value (a tombstone is not an event)")
    if len(value) > MAX_EVENT_BYTES:
        raise OversizeEvent(f"the record is {len(value)} bytes, the bound is {MAX_EVENT_BYTES}")
    try:
        raw = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise MalformedEvent(f"not JSON: {error.msg} at character {error.pos}") from error
    if tenant is not None and isinstance(raw, dict):
        raw.setdefault("tenant", tenant)
    return validate_event(raw)


def validate_event(raw: object) -> AgentEvent:
    """Validate an already decoded JSON value; raises `MalformedEvent` or `OversizeEvent` as `decode_event` does."""
    try:
        return AgentEvent.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'event'}: {item['msg']}" for item in error.errors()[:5]
        )
        kind = OversizeEvent if "is longer than" in problems or "are larger than" in problems else MalformedEvent
        raise kind(f"not a valid event: {problems}") from error
    except (RecursionError, TypeError, ValueError) as error:
        # orjson refuses what cannot be JSON again (lone surrogates, integers over 64 bits, too deep nesting)
        raise MalformedEvent(f"not a valid event: {error}") from error


def derive_id(tenant: str, source: str | None, producer_id: str) -> str:
    """Give the stored id of the event that its producer calls `producer_id`: UUIDv5 of (tenant, source, id)."""
    return str(uuid.uuid5(ID_NAMESPACE, "\x00".join(("id", tenant, source or "", producer_id))))


def content_id(event: AgentEvent, place: str) -> str:
    """Give the stored id of an event without an id: from its content and its place in the source.

    `place` is the producer's sequence when there is one, else the record's topic, partition and offset, so that a
    redelivered record keeps its id and two equal events at two places stay two.
    """
    seed = (event.tenant, event.source or "", event.session, event.agent, str(to_us(event.occurred_at)), place)
    return str(uuid.uuid5(ID_NAMESPACE, "\x00".join(("content", *seed, content_digest(event)))))


def content_digest(event: AgentEvent) -> str:
    """Give a digest of what the event says: equal for a true duplicate, different when an id was used twice.

    Marks of redaction count without their digits: a new key must not make a new event of one that comes again.
    """
    at = str(to_us(event.occurred_at))
    parts = (event.session, event.agent, event.kind.value, event.speaker or "", event.text, at)
    said = "\x00".join(parts)
    if "[" in said:
        said = MARK.sub(r"[\1]", said)
    return hashlib.blake2b(said.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def to_us(moment: datetime) -> int:
    """Microseconds since 1970-01-01 UTC of an aware time, exactly (no float)."""
    return (moment - _EPOCH) // _MICROSECOND


def from_us(occurred_us: int, offset_minutes: int = 0) -> datetime:
    """The aware time of microseconds since 1970-01-01 UTC, shown at the given UTC offset."""
    return (_EPOCH + timedelta(microseconds=occurred_us)).astimezone(timezone(timedelta(minutes=offset_minutes)))


def uid(tenant: str, ident: str) -> str:
    """The one key of a node in the graph: `tenant|id`. Tenants cannot contain `|`, so keys of two tenants differ."""
    return f"{tenant}|{ident}"


@dataclass(frozen=True, slots=True)
class EventNode:
    """An event as the memory stores it. All ids are stored ids (`derive_id` / `content_id`).

    `occurred_us` / `ingested_us`: microseconds since 1970 UTC; `offset_minutes`: the producer's original UTC offset.
    `arrival`: position in the log it was taken from (partition offset of `memory.events`), monotonic for a session.
    `mentions`: normalised provisional names (see `memory.names`); `dates`: resolved phrases of time in the text.
    `keywords`: analysed text for BM25; not stored in the graph.
    """

    tenant: str
    id: str
    ref: str
    source: str
    session: str
    agent: str
    kind: EventKind
    text: str
    speaker: str
    occurred_us: int
    offset_minutes: int
    sequence: int
    ingested_us: int
    arrival: int
    digest: str
    parents: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    dates: tuple[DateSpan, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    trace: str = ""
    derived_from: tuple[str, ...] = ()
    trust: Trust = Trust.NORMAL

    @property
    def uid(self) -> str:
        """Key of the node in the graph."""
        return uid(self.tenant, self.id)

    @property
    def session_uid(self) -> str:
        """Key of the session's node in the graph."""
        return uid(self.tenant, self.session)

    @property
    def order(self) -> tuple[int, int, str]:
        """Place in the session's chain: event time, then the producer's sequence, then the id."""
        return (self.occurred_us, self.sequence, self.id)
