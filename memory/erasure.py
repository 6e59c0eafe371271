"""What must be forgotten, and what was: the order (`Erasure`), and the receipt for it.

An erasure covers what was accepted up to its time: an event of its scope that a producer sends later is a new one.
"""

import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory.errors import MalformedErasure
from memory.events import ID_NAMESPACE, Name


class ScopeKind(StrEnum):
    """How much an erasure covers."""

    TENANT = "tenant"
    SESSION = "session"
    AGENT = "agent"
    EVENT = "event"


class Scope(BaseModel):
    """What is erased of one tenant: one session, one agent's events, one event (by its stored id), or everything."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tenant: Name
    session: Name | None = None
    agent: Name | None = None
    event: uuid.UUID | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(part is not None for part in (self.session, self.agent, self.event)) > 1:
            raise ValueError("name a session, an agent or an event, or none of them for the whole tenant")
        return self

    @property
    def kind(self) -> ScopeKind:
        """How much it covers."""
        if self.session is not None:
            return ScopeKind.SESSION
        if self.agent is not None:
            return ScopeKind.AGENT
        return ScopeKind.TENANT if self.event is None else ScopeKind.EVENT

    @property
    def key(self) -> str:
        """The key of its marker: `tenant|kind|what`."""
        return marker_key(self.tenant, self.kind, self.session or self.agent or (str(self.event) if self.event else ""))


def marker_key(tenant: str, kind: ScopeKind, what: str) -> str:
    """Write the key under which the graph remembers that something was erased. Names hold no `|`."""
    return f"{tenant}|{kind.value}|{what}"


class Erasure(BaseModel):
    """Value of `memory.erasures` (key: tenant). `at_us`: what was accepted until then is covered, UTC microseconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: uuid.UUID
    scope: Scope
    at_us: Annotated[int, Field(ge=0, lt=2**62)]

    @classmethod
    def of(cls, scope: Scope, at_us: int) -> Self:
        """Make the order for a scope as of a time; the same scope and time give the same id."""
        return cls(id=uuid.uuid5(ID_NAMESPACE, f"erasure\x00{scope.key}\x00{at_us}"), scope=scope, at_us=at_us)

    def encode(self) -> bytes:
        """Give the JSON value."""
        return self.model_dump_json(exclude_none=True).encode()


def decode_erasure(value: bytes | None) -> Erasure:
    """Decode a value of `memory.erasures`; raises `MalformedErasure`."""
    try:
        return Erasure.model_validate_json(value or b"")
    except ValidationError as error:
        raise MalformedErasure(f"not a memory.erasures value: {error.error_count()} problems") from error


@dataclass(frozen=True, slots=True)
class Removed:
    """What an erasure took out of the stores; counts of nodes, edges and vectors."""

    events: int = 0
    edges: int = 0
    entities: int = 0
    episodes: int = 0
    vectors: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(
            self.events + other.events,
            self.edges + other.edges,
            self.entities + other.entities,
            self.episodes + other.episodes,
            self.vectors + other.vectors,
        )


class Receipt(BaseModel):
    """What was removed for one erasure, over all its runs, and proof of who says so.

    `log_records`: records of `memory.events` that were replaced by tombstones; `letters`: dead letters removed;
    `letters_left`: letters that only their topic's retention will take, on a broker that deletes no records;
    `letters_unreadable`: letters that name no tenant that can be read, left where they are. `verified`: a second pass
    over graph, vectors and log found nothing left. `signature`: Ed25519 over `signed_bytes`, base64; `key`: the public
    key, base64.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: uuid.UUID
    scope: Scope
    asked_at_us: int
    done_at_us: int
    events: int
    edges: int
    entities: int
    episodes: int
    vectors: int
    log_records: int
    letters: int
    letters_left: int
    letters_unreadable: int
    verified: bool
    key: str = ""
    signature: str = ""

    def signed_bytes(self) -> bytes:
        """Give what the signature covers: all fields but key and signature, as JSON with sorted keys."""
        document = self.model_dump(mode="json", exclude={"key", "signature"}, exclude_none=True)
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
