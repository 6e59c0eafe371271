"""Reading the memory as it is: events, their neighbours, sessions, timelines, entities; paged.

A page's `next` is given back as `after`; null says that there is no more.
"""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from memory.errors import NotFound
from memory.events import from_us
from memory.graph import EntityNode, GraphReader
from memory.names import normal_form
from memory.relations import RELATION_OF, EdgeType, Origin, Relation
from query_api.access import Tenant
from query_api.backends import Opened
from query_api.models import EventView

#: Items of a page when the request does not say.
DEFAULT_PAGE = 100
#: Entities with more events are not listed event by event among an event's neighbours.
NEIGHBOUR_HUB_LIMIT = 20

After = Annotated[str | None, Query(max_length=256, description="`next` of the page before")]
Ident = Annotated[str, Path(max_length=256)]

#: Answers show refs to people; addresses take ids.
STORED_ID = "give the stored id: `events[].id` of an answer, not its ref"


class _View(BaseModel):
    model_config = ConfigDict(frozen=True)


class NeighbourView(_View):
    """One edge of an event. `forward`: along its arrow; `via`: the entity that joins the two events."""

    id: str
    edge: EdgeType
    relation: Relation
    forward: bool
    strength: float
    origin: Origin
    kind: str
    rule: str
    via: str


class HubView(_View):
    """An entity of the event that is in so many events that they are not listed."""

    entity: str
    name: str
    events: int


class NeighboursView(_View):
    """What is around an event."""

    id: str
    neighbours: list[NeighbourView]
    hubs: list[HubView]


class SessionView(_View):
    """A session; times of its first and last event.

    `previous`, `next`: by agent, the session of this agent that begins before this one, and after it.
    """

    session: str
    agents: list[str]
    events: int
    first_at: AwareDatetime
    last_at: AwareDatetime
    previous: dict[str, str] = Field(default_factory=dict)
    next: dict[str, str] = Field(default_factory=dict)


class EntityView(_View):
    """An entity: `key` is the normal form of its name; `aliases`: spellings seen."""

    key: str
    name: str
    type: str
    aliases: list[str]
    events: int
    first_at: AwareDatetime
    last_at: AwareDatetime


class SessionsPage(_View):
    """A page of sessions, in the order of their names."""

    sessions: list[SessionView]
    next: str | None = Field(None, description="give it back as `after`")


class TimelinePage(_View):
    """A page of a session's events, in the order of its chain."""

    session: str
    events: list[EventView]
    next: str | None = Field(None, description="give it back as `after`")


class EntitiesPage(_View):
    """A page of entities, in the order of their keys."""

    entities: list[EntityView]
    next: str | None = Field(None, description="give it back as `after`")


def browse(opened: Callable[[], Opened], *, max_page: int) -> APIRouter:
    """Give the reading routes; `opened` gives the stores or raises what keeps them closed."""
    router = APIRouter(prefix="/v1", tags=["memory"])
    default_page = min(DEFAULT_PAGE, max_page)
    Limit = Annotated[int, Query(ge=1, le=max_page, description="most items of the page")]  # noqa: N806  a type

    def graph(tenant: str) -> GraphReader:
        return opened().graph.reader(tenant)

    @router.get("/events/{event_id}")
    async def event(tenant: Tenant, event_id: Ident) -> EventView:
        """Give one event."""
        found = await graph(tenant).events([event_id])
        if event_id not in found:
            raise NotFound(f"there is no event {event_id}", hint=STORED_ID)
        return EventView.of(found[event_id])

    @router.get("/events/{event_id}/neighbours")
    async def neighbours(tenant: Tenant, event_id: Ident) -> NeighboursView:
        """Give every edge of one event, over all four relations."""
        reader = graph(tenant)
        if event_id not in await reader.events([event_id]):
            raise NotFound(f"there is no event {event_id}", hint=STORED_ID)
        around = await reader.neighbours([event_id], hub_limit=NEIGHBOUR_HUB_LIMIT)
        return NeighboursView(
            id=event_id,
            neighbours=[
                NeighbourView(
                    id=edge.target,
                    edge=edge.edge,
                    relation=RELATION_OF[edge.edge],
                    forward=edge.forward,
                    strength=edge.strength,
                    origin=edge.origin,
                    kind=edge.kind,
                    rule=edge.rule,
                    via=edge.via,
                )
                for edge in around.edges
            ],
            hubs=[HubView(entity=hub.key, name=hub.name, events=hub.events) for hub in around.hubs],
        )

    @router.get("/sessions")
    async def sessions(tenant: Tenant, limit: Limit = default_page, after: After = None) -> SessionsPage:
        """Give the tenant's sessions."""
        reader = graph(tenant)
        page = await reader.sessions(limit=limit, after=after or "")
        beside = await reader.beside(page)
        views = [
            SessionView(
                session=one.session,
                agents=list(one.agents),
                events=one.events,
                first_at=from_us(one.first_us),
                last_at=from_us(one.last_us),
                previous=dict(beside[one.session].previous),
                next=dict(beside[one.session].next),
            )
            for one in page
        ]
        return SessionsPage(sessions=views, next=page[-1].session if len(page) == limit else None)

    @router.get("/sessions/{session:path}/timeline")
    async def timeline(
        tenant: Tenant, session: Ident, limit: Limit = default_page, after: After = None
    ) -> TimelinePage:
        """Give a session's events in the order they happened; `after` is the id of an event."""
        reader = graph(tenant)
        last = None
        if after is not None:
            last = (await reader.events([after])).get(after)
            if last is None or last.session != session:
                raise NotFound(f"there is no event {after} in session {session}")
        page = await reader.session_events(session, limit=limit, after=last)
        if not page and last is None:
            raise NotFound(f"there is no session {session}")
        return TimelinePage(
            session=session,
            events=[EventView.of(node) for node in page],
            next=page[-1].id if len(page) == limit else None,
        )

    @router.get("/entities")
    async def entities(
        tenant: Tenant,
        name: Annotated[str | None, Query(max_length=256, description="any spelling of one name")] = None,
        limit: Limit = default_page,
        after: After = None,
    ) -> EntitiesPage:
        """Give the tenant's entities, or the one that a name means."""
        reader = graph(tenant)
        if name is not None:
            found = await reader.entities([normal_form(name)])
            return EntitiesPage(entities=[_entity(node) for node in found.values()], next=None)
        page = await reader.entity_names(limit=limit, after=after or "")
        return EntitiesPage(
            entities=[_entity(node) for node in page], next=page[-1].key if len(page) == limit else None
        )

    return router


def _entity(node: EntityNode) -> EntityView:
    return EntityView(
        key=node.key,
        name=node.name,
        type=node.type,
        aliases=list(node.aliases),
        events=node.events,
        first_at=from_us(node.first_us),
        last_at=from_us(node.last_us),
    )
