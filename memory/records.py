"""What a pipeline stage gets and gives: records of a log, and the handler that makes them durable.

A handler knows its stores and nothing of Kafka; `streams.delivery` drives it and alone decides about offsets.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Protocol

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.errors import MalformedEvent, Poison
from memory.events import Name
from memory.settings import Settings


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it was read. `timestamp_ms`: milliseconds since 1970 UTC, the broker's or producer's."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def place(self) -> str:
        """Where the record stands: `topic/partition/offset`."""
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to publish, a stage's on its output topic once the batch is durable. A value of None is a tombstone.

    `placed_by`: the key whose partition it goes to, when that is not its own key's.
    """

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    placed_by: bytes | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that can never succeed, and why."""

    record: Record
    error: Poison


@dataclass(frozen=True, slots=True)
class Postponed:
    """A record that cannot be handled before `resumes_at` (aware), and nothing else has to wait for it."""

    record: Record
    resumes_at: datetime


@dataclass(frozen=True, slots=True)
class Handled:
    """The outcome of a batch: everything not in `rejected` or `postponed` is durable.

    `outgoing` is published before the ack. `published` is called once the brokers have acknowledged it and before the
    ack, again when it fails; a crash before its end brings the batch again.
    """

    outgoing: tuple[Outgoing, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    postponed: tuple[Postponed, ...] = ()
    published: Callable[[], Awaitable[None]] | None = None


class Handler(Protocol):
    """Makes a batch durable.

    Called with 1..n records in order for each partition; the same record may come again after a crash, so the work
    must be idempotent. Returns only when all is durable. Raises `Retryable` (the whole batch is tried again, for
    ever), `Poison` (the batch is bisected until the bad record is alone), `Misconfigured` (the worker stops with its
    sentence).
    """

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Make the records durable."""
        ...


#: Opens a handler with what it holds (stores, models) on the running loop, and closes them after the last batch.
HandlerFactory = Callable[[Settings], AbstractAsyncContextManager[Handler]]


class Ingested(BaseModel):
    """Value of `memory.ingested`: events of one session whose write is durable in both stores. Key: tenant|session.

    `stages`: the consolidation stages that it is for; empty means all of them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tenant: Name
    session: Name
    ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=1_000)]
    stages: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """Give the JSON value."""
        return orjson.dumps(self.model_dump(exclude_defaults=True))

    def is_for(self, stage: str) -> bool:
        """Tell whether a stage has to take this value."""
        return not self.stages or stage in self.stages


class Changed(BaseModel):
    """Value of `memory.changes`: what one consolidation stage added for events of one session. Key: tenant|session.

    `edges`: one object for each edge: type, source, target, origin, confidence and what else its kind carries; never
    a quote of an event's text.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tenant: Name
    session: Name
    stage: str
    ids: tuple[str, ...]
    edges: tuple[dict[str, Any], ...] = ()

    def encode(self) -> bytes:
        """Give the JSON value."""
        return orjson.dumps(self.model_dump())


def decode_ingested(value: bytes | None) -> Ingested:
    """Decode a value of `memory.ingested`; raises `MalformedEvent` for anything else."""
    try:
        return Ingested.model_validate_json(value or b"")
    except ValidationError as error:
        raise MalformedEvent(f"not a memory.ingested value: {error.error_count()} problems") from error


def session_key(tenant: str, session: str) -> bytes:
    """Give the key that places every `memory.*` record: `tenant|session`, so that one partition owns a chain."""
    return f"{tenant}|{session}".encode()


def event_key(tenant: str, session: str, ident: str) -> bytes:
    """Give the key of a record of `memory.events`: `tenant|session|stored id`, placed by its session.

    The topic is compacted: a key of its own keeps each event, and a tombstone of that key takes exactly it away.
    """
    return f"{tenant}|{session}|{ident}".encode()
