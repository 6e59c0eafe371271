"""Events over HTTP, for producers that cannot speak Kafka: acknowledged by Kafka, then answered with their ids.

The query path knows no Kafka: who builds the app gives what accepts events. Without it this route does not exist.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, Strict, StringConstraints

from memory.events import MAX_REFS, AgentEvent, EventKind, Name, WrittenTime, validate_event
from query_api.access import WritingTenant
from query_api.problems import Refused

#: Most events of one request.
MAX_EVENTS = 500

#: Takes events into the log; gives their stored ids in order. Raises `Poison` for one that intake would refuse, before
#: any is sent, and `StoreUnavailable` while Kafka is away.
Accept = Callable[[Sequence[AgentEvent]], Awaitable[list[str]]]
#: Opens what accepts events on the loop that serves, and closes it.
OpenDoor = Callable[[], AbstractAsyncContextManager[Accept]]

Names = Annotated[tuple[Name, ...], Field(max_length=MAX_REFS)]


class SubmittedEvent(BaseModel):
    """One step of an agent, as `agent.events` takes it, without its tenant: that is the credential's.

    With an `id` a request that is sent again is the same event; without one each request is a new event.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Name | None = None
    source: Name | None = None
    agent: Name
    session: Name
    kind: EventKind
    text: Annotated[str, StringConstraints(min_length=1)]
    speaker: Name | None = None
    occurred_at: WrittenTime
    sequence: Annotated[int, Strict(), Field(ge=0, lt=2**62)] | None = None
    parent: Name | None = None
    caused_by: Names = ()
    entities: Names = ()
    attributes: dict[str, Any] = Field(default_factory=dict)
    trace: Annotated[str, StringConstraints(max_length=256)] | None = None
    derived_from: Names = ()


class Accepted(BaseModel):
    """Events that are in the log. `ids`: their stored ids, in the order of the request."""

    model_config = ConfigDict(frozen=True)

    ids: list[str]


Submitted = SubmittedEvent | Annotated[list[SubmittedEvent], Field(min_length=1, max_length=MAX_EVENTS)]


def submitting(accept: Callable[[], Accept | None]) -> APIRouter:
    """Give the route that takes events in; `accept`: None while the service starts or stops."""
    router = APIRouter(prefix="/v1", tags=["events"])

    @router.post("/events", status_code=202)
    async def submit(tenant: WritingTenant, events: Submitted) -> Accepted:
        """Take in one event or a list; all are in the log when this answers, or none was refused in silence."""
        take = accept()
        if take is None:
            raise Refused(503, "not_ready", "the service is starting or stopping")
        given = events if isinstance(events, list) else [events]
        return Accepted(ids=await take([_event(tenant, one) for one in given]))

    return router


def _event(tenant: str, given: SubmittedEvent) -> AgentEvent:
    """Give the event under its tenant; raises `MalformedEvent`, `OversizeEvent`."""
    return validate_event({**given.model_dump(exclude_unset=True), "tenant": tenant})
