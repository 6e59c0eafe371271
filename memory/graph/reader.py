"""Reading one tenant's memory. The tenant is bound to the handle; ids go in and come out without it.

Raises, from every method: `StoreUnavailable`, `StoreConflict` (both `Retryable`) and `StoreRefused`. What does not
exist is left out of the answer.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from memory.events import EventNode, uid
from memory.graph.cause_statements import CauseStatement
from memory.graph.chain import chain_key, session_range, time_key
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_statements import EntityStatement
from memory.graph.fact_statements import FactStatement
from memory.graph.model import (
    Beside,
    Counts,
    EntityNode,
    EpisodeNode,
    Mark,
    MentionEdge,
    Neighbourhood,
    SessionNode,
    SupersededBy,
    Totals,
    Window,
)
from memory.graph.neighbours import neighbourhood
from memory.graph.queries import MAX_WINDOW, SHORT_WINDOW, Query
from memory.graph.records import event_node
from memory.graph.rows import causal_edge
from memory.graph.stint_statements import StintStatement
from memory.graph.stints import stint_uid
from memory.relations import CausalEdge, EdgeType

#: Most events unwound in one statement; longer lists are asked for in turns.
_TURN = 1_000


class GraphReader:
    """Queries bound to `tenant`."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self.tenant = tenant
        self._strip = len(tenant) + 1
        self._low, self._high = session_range(tenant)

    async def events(self, ids: Sequence[str]) -> dict[str, EventNode]:
        """Give the stored events among `ids`, by id."""
        rows = await self._unwound(Query.EVENTS_BY_UID, ids)
        return {row["id"]: event_node(row) for row in rows}

    async def unmarked(self, ids: Sequence[str], stage: Mark) -> dict[str, EventNode]:
        """Give the stored events among `ids` that a stage has not finished, by id."""
        rows = await self._unwound(Query.EVENTS_BY_UID, ids)
        return {row["id"]: event_node(row) for row in rows if not row.get(stage.property_name)}

    async def event_ids_among(self, ids: Sequence[str]) -> set[str]:
        """Give those of `ids` whose event is stored."""
        return {found[self._strip :] for found in await self._unwound(Query.EVENTS_PRESENT, ids)}

    async def neighbours(self, ids: Sequence[str], *, hub_limit: int) -> Neighbourhood:
        """Give every edge of a frontier in one round trip: all four relations, event → entity → event as one step.

        Entities with more than `hub_limit` edges are not expanded; they come back as hubs, by frontier event.
        """
        if not ids:
            return Neighbourhood()
        parts = await self._bolt.ask(Query.NEIGHBOURS, uids=self._uids(ids), hub_limit=hub_limit)
        return neighbourhood(dict(parts), self._strip)

    async def causes(self, effects: Sequence[str]) -> list[CausalEdge]:
        """Give the stored causes of events, with where each edge comes from."""
        return [causal_edge(row) for row in await self._unwound(CauseStatement.CAUSES_KNOWN, effects)]

    async def similar(self, ids: Sequence[str]) -> set[tuple[str, str]]:
        """Give the semantic edges of events, each once, the smaller id first."""
        found = await self._unwound(Query.SIMILAR_TO, ids)
        return {(min(pair), max(pair)) for pair in ((a[self._strip :], b[self._strip :]) for a, b in found)}

    async def window(self, ids: Sequence[str], before: int, after: int) -> dict[str, Window]:
        """Give the chain neighbours of each stored event, up to `before` and `after` steps (at most 16 each way)."""
        if max(before, after) > MAX_WINDOW or min(before, after) < 0:
            raise ValueError(f"a window reaches 0 to {MAX_WINDOW} steps")
        if not ids:
            return {}
        query = Query.WINDOW_SHORT if max(before, after) <= SHORT_WINDOW else Query.WINDOW
        parts = dict(await self._bolt.ask(query, uids=self._uids(ids), before=before, after=after))
        steps: dict[str, dict[str, list[tuple[int, str]]]] = {}
        for part, found in parts.items():
            for source, distance, target in found:
                sides = steps.setdefault(source[self._strip :], {"before": [], "after": []})
                sides[part].append((distance, target[self._strip :]))
        return {
            ident: Window(
                before=tuple(target for _, target in sorted(set(sides["before"]))),
                after=tuple(target for _, target in sorted(set(sides["after"]))),
            )
            for ident, sides in steps.items()
        }

    async def session_events(self, session: str, *, limit: int, after: EventNode | None = None) -> list[EventNode]:
        """Give up to `limit` events of a session in chain order, those behind `after` when it is given."""
        low, high = session_range(uid(self.tenant, session))
        rows = await self._page(Query.CHAIN_PAGE_END, Query.CHAIN_PAGE, chain_key(after) if after else low, high, limit)
        return [event_node(row) for row in sorted(rows, key=_chain_of)[:limit]]

    async def session_between(self, session: str, start_us: int, end_us: int, *, limit: int) -> list[EventNode]:
        """Give up to `limit` events of a session with event time in [`start_us`, `end_us`), in chain order."""
        prefix = f"{uid(self.tenant, session)}|"
        low, high = prefix + time_key(start_us), prefix + time_key(end_us)
        rows = await self._page(Query.CHAIN_PAGE_END, Query.CHAIN_PAGE, low, high, limit)
        return [event_node(row) for row in sorted(rows, key=_chain_of)[:limit]]

    async def sessions(self, *, limit: int, after: str = "") -> list[SessionNode]:
        """Give up to `limit` sessions in the order of their names, those behind `after`."""
        rows = await self._named_page(Query.SESSIONS_PAGE_END, Query.SESSIONS_PAGE, after, limit)
        return [
            SessionNode(session, tuple(agents), events, first_us, last_us)
            for _, session, agents, events, first_us, last_us, _ in sorted(rows)[:limit]
        ]

    async def beside(self, sessions: Sequence[SessionNode]) -> dict[str, Beside]:
        """Give for each session, by name, which sessions of its agents begin before and after it."""
        uids = [stint_uid(self.tenant, agent, one.session) for one in sessions for agent in one.agents]
        sides: dict[str, dict[str, dict[str, str]]] = {"previous": {}, "next": {}}
        for start in range(0, len(uids), _TURN):
            for part, rows in await self._bolt.ask(StintStatement.BESIDE, uids=uids[start : start + _TURN]):
                for session, agent, other in rows:
                    sides[part].setdefault(session, {})[agent] = other
        return {
            one.session: Beside(sides["previous"].get(one.session, {}), sides["next"].get(one.session, {}))
            for one in sessions
        }

    async def entities(self, keys: Sequence[str]) -> dict[str, EntityNode]:
        """Give the stored entities among normal forms `keys`, by key."""
        rows = await self._unwound(Query.ENTITIES_BY_UID, keys)
        return {row[0]: _entity(row) for row in rows}

    async def entity_names(self, *, limit: int, after: str = "") -> list[EntityNode]:
        """Give up to `limit` entities in the order of their keys, those behind `after`: the gazetteer, paged."""
        rows = await self._named_page(Query.ENTITIES_PAGE_END, Query.ENTITIES_PAGE, after, limit)
        return [_entity(row) for row in sorted(rows, key=_first_of)[:limit]]

    async def examples_of(self, key: str, *, limit: int) -> list[str]:
        """Give the ids of a few events that mention an entity, sorted; which ones is not said."""
        found = await self._collected(EntityStatement.EXAMPLES_OF, uid=uid(self.tenant, key), limit=limit)
        return sorted(found)

    async def mentions(self, ids: Sequence[str]) -> list[MentionEdge]:
        """Give which entities the events mention or are spoken by, each once for an event, in a stable order."""
        rows = await self._unwound(Query.MENTIONS_OF, ids)
        edges = {
            (event, key, name): MentionEdge(event[self._strip :], key, surface or "", name == EdgeType.SPOKEN_BY.value)
            for event, key, surface, name in rows
        }
        return [edges[place] for place in sorted(edges)]

    async def superseding(self, ids: Sequence[str]) -> dict[str, list[SupersededBy]]:
        """Give by event id what supersedes it, the next value first; events that nothing supersedes are left out."""
        found: dict[str, list[SupersededBy]] = {}
        for row in sorted(await self._unwound(FactStatement.SUPERSEDING, ids), key=lambda row: (row[3], row[1])):
            older, newer, ref, occurred_us, *fact = row
            found.setdefault(older, []).append(SupersededBy(newer, ref, occurred_us, *fact))
        return found

    async def resolve_names(self, forms: Sequence[str]) -> dict[str, str]:
        """Give the key of the entity that each spelling (a normal form) stands for; spellings that are no names are
        left out."""
        rows = await self._unwound(EntityStatement.NAMES_READ, forms)
        return {row[0]: row[1] for row in rows if row[1]}

    async def episodes_of(self, ids: Sequence[str]) -> dict[str, EpisodeNode]:
        """Give the episode of each event that is part of one, by event id."""
        rows = await self._unwound(Query.EPISODES_WITH, ids)
        return {event[self._strip :]: EpisodeNode(*rest) for event, *rest in rows}

    async def episode_events(self, episodes: Sequence[str]) -> dict[str, list[str]]:
        """Give the ids of the events of each episode, in chain order, by episode id."""
        rows = await self._unwound(Query.EPISODE_EVENTS, episodes)
        found: dict[str, list[str]] = {}
        for episode, event, _ in sorted(rows, key=lambda row: (row[0], row[2])):
            found.setdefault(episode, []).append(event[self._strip :])
        return found

    async def unfinished(self, ids: Sequence[str], stages: Iterable[Mark]) -> set[str]:
        """Give the ids that are not stored, or not marked as finished by each of `stages`."""
        wanted = tuple(stages)
        names = list(Mark)
        finished = set()
        for found, *marks in await self._unwound(Query.EVENTS_MARKS, ids):
            marked = dict(zip(names, marks, strict=True))
            if all(marked[stage] for stage in wanted):
                finished.add(found[self._strip :])
        return set(ids) - finished

    async def totals(self) -> Totals:
        """Give the number of events and the latest event time of the tenant; reads what sessions say of themselves."""
        events, last_us = await self._collected(Query.TOTALS, low=self._low, high=self._high) or (0, None)
        return Totals(events or 0, last_us)

    async def last_event_us(self) -> int | None:
        """Give the latest event time of the tenant in UTC microseconds; nothing when it has no events."""
        totals = await self._collected(Query.SESSIONS_TOTAL, low=self._low, high=self._high)
        return max((last_us for _, last_us in totals), default=None)

    async def counts(self) -> Counts:
        """Count nodes and edges. Walks over all events: for operators and tests."""
        totals = await self._collected(Query.SESSIONS_TOTAL, low=self._low, high=self._high)
        edges: dict[EdgeType, int] = {}
        async for page in self.all_event_ids():
            for name, number in await self._collected(Query.EDGES_TOTAL, uids=self._uids(page)):
                edges[EdgeType(name)] = edges.get(EdgeType(name), 0) + number
        return Counts(
            events=sum(events for events, _ in totals),
            sessions=len(totals),
            entities=int(await self._value(Query.ENTITIES_TOTAL, low=self._low, high=self._high)),
            episodes=int(await self._value(Query.EPISODES_TOTAL, low=self._low, high=self._high)),
            edges=edges,
        )

    async def event_ids(self, *, after: str = "", limit: int) -> list[str]:
        """Give up to `limit` event ids in order, those behind `after`."""
        rows = await self._named_page(Query.EVENTS_PAGE_END, Query.EVENTS_PAGE, after, limit)
        return [found[self._strip :] for found in sorted(rows)[:limit]]

    async def all_event_ids(self, *, page: int = 1_000) -> AsyncIterator[list[str]]:
        """Walk over all event ids in order, page by page."""
        after = ""
        while ids := await self.event_ids(after=after, limit=page):
            yield ids
            after = ids[-1]

    @staticmethod
    async def tenants(bolt: Bolt) -> list[str]:
        """Give the tenants that have sessions, sorted. Not bound to a tenant: for `Graph` only."""

        async def work(transaction: Transaction) -> list[Any]:
            return await transaction.collected(Query.TENANTS)

        return sorted(await bolt.transact(work, what="list of tenants"))

    # ---- how it asks ------------------------------------------------------------------------------------------------

    def _uids(self, ids: Iterable[str]) -> list[str]:
        return [uid(self.tenant, ident) for ident in dict.fromkeys(ids)]

    async def _unwound(self, query: Cypher, ids: Sequence[str]) -> list[Any]:
        uids = self._uids(ids)
        found: list[Any] = []
        for start in range(0, len(uids), _TURN):
            found += await self._collected(query, uids=uids[start : start + _TURN])
        return found

    async def _named_page(self, end: Cypher, page: Cypher, after: str, limit: int) -> list[Any]:
        return await self._page(end, page, uid(self.tenant, after), self._high, limit)

    async def _page(self, end: Cypher, page: Cypher, low: str, high: str, limit: int) -> list[Any]:
        """Give everything in (low, top], where top is the server's guess at the end of a page of `limit`."""

        async def work(transaction: Transaction) -> list[Any]:
            top = await transaction.value(end, low=low, high=high, limit=limit)
            return [] if top is None else await transaction.collected(page, low=low, top=top)

        return await self._bolt.transact(work, what=f"query {page.name}")

    async def _collected(self, query: Cypher, **parameters: Any) -> list[Any]:
        value = await self._value(query, **parameters)
        return value if isinstance(value, list) else []

    async def _value(self, query: Cypher, **parameters: Any) -> Any:
        rows = await self._bolt.ask(query, **parameters)
        return rows[0][0] if rows else None


def _entity(row: Sequence[Any]) -> EntityNode:
    key, name, kind, aliases, events, first_us, last_us = row
    return EntityNode(key, name, kind, tuple(aliases), events, first_us or 0, last_us or 0)


def _chain_of(row: dict[str, Any]) -> str:
    return str(row["chain"])


def _first_of(row: Sequence[Any]) -> str:
    return str(row[0])
