"""Walking over a tenant's whole graph, page by page, for proofs: bounded memory whatever is stored."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Self

from memory.graph.chain import Link, key_of_place, session_range
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.fact_statements import FactStatement
from memory.graph.queries import Query
from memory.graph.stint_statements import StintStatement
from memory.graph.stints import Stint

_PAGE = 500


@dataclass(frozen=True, slots=True)
class SurveyedEvent:
    """An event as it is stored. `occurred_us`: UTC microseconds; `key`: its chain key; `sound`: the key is the one that
    its values give; `cut`: it was taken into episodes and into the order of its agent's sessions.

    `edges`: every edge that leaves it, as (type, target without tenant, causal kind or "").
    """

    id: str
    session: str
    agent: str
    occurred_us: int
    key: str
    sound: bool
    cut: bool
    edges: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class SurveyedSession:
    """A session node: what it says of its events' number and of the last one's id."""

    session: str
    events: int
    last_id: str


@dataclass(frozen=True, slots=True)
class SurveyedStint:
    """An agent's part in a session. `first_us`: UTC microseconds.

    `following`: uids of what it is linked to, each with the gap in microseconds (-1: it says none).
    """

    uid: str
    agent: str
    session: str
    place: str
    first_us: int
    following: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, stint: Stint, following: tuple[tuple[str, int], ...]) -> Self:
        """Give how a stint is stored."""
        return cls(stint.uid, stint.agent, stint.session, stint.place, stint.first_us, following)


@dataclass(frozen=True, slots=True)
class SurveyedName:
    """A spelling and the entity it stands for. `aside`: there are mentions of it that wait until it is a name."""

    form: str
    key: str
    pinned: bool
    aside: bool


class Survey:
    """A walk over one tenant. Meant for a memory that rests: what is written meanwhile may be seen half."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self._strip = len(tenant) + 1
        self._low, self._high = session_range(tenant)

    async def events(self) -> AsyncIterator[list[SurveyedEvent]]:
        """Give all events in the order of their chain keys: session by session, each in chain order."""
        async for rows in self._pages(Query.CHAIN_PAGE_END, Query.CHAIN_PAGE_KEYS, place=1):
            edges: dict[str, list[tuple[str, str, str]]] = {}
            for source, name, target, kind in await self._collected(Query.EDGES_OUT, uids=[row[0] for row in rows]):
                edges.setdefault(source, []).append((name, target[self._strip :], kind or ""))
            yield [
                SurveyedEvent(
                    id=stored[self._strip :],
                    session=session,
                    agent=agent,
                    occurred_us=occurred_us,
                    key=key,
                    sound=key == key_of_place(tenant, session, occurred_us, sequence, stored[self._strip :]),
                    cut=bool(cut),
                    edges=tuple(sorted(edges.get(stored, ()))),
                )
                for stored, key, tenant, session, occurred_us, sequence, agent, cut in rows
            ]

    async def sessions(self) -> AsyncIterator[list[SurveyedSession]]:
        """Give all session nodes."""
        async for rows in self._pages(Query.SESSIONS_PAGE_END, Query.SESSIONS_PAGE):
            yield [SurveyedSession(row[1], row[3], row[6][self._strip :]) for row in rows]

    async def stints(self) -> AsyncIterator[list[SurveyedStint]]:
        """Give the parts that agents have in sessions."""
        async for rows in self._pages(StintStatement.STINTS_PAGE_END, StintStatement.STINTS_PAGE):
            following: dict[str, list[tuple[str, int]]] = {}
            for source, target, gap_us in await self._collected(
                StintStatement.LINKS_FROM, uids=[row[0] for row in rows]
            ):
                following.setdefault(source, []).append((target, -1 if gap_us is None else gap_us))
            yield [
                SurveyedStint(
                    stored,
                    agent or "",
                    session or "",
                    place or "",
                    first_us or 0,
                    tuple(sorted(following.get(stored, ()))),
                )
                for stored, agent, session, place, first_us in rows
            ]

    async def agents(self) -> AsyncIterator[list[tuple[str, Link]]]:
        """Give all agents, each with the end of the chain of its sessions that its node says."""
        async for rows in self._pages(StintStatement.AGENTS_PAGE_END, StintStatement.AGENTS_PAGE):
            yield [(stored[self._strip :], Link(last or "", place or "")) for stored, _, last, place in rows]

    async def entities(self) -> AsyncIterator[list[tuple[str, int, int]]]:
        """Give all entities as (key, number of edges that the node says, number of edges)."""
        async for rows in self._pages(Query.ENTITIES_PAGE_END, Query.ENTITIES_PAGE_UIDS):
            found = await self._collected(Query.ENTITY_DEGREES, uids=rows)
            yield [(stored[self._strip :], said, edges) for stored, said, edges in found]

    async def spellings(self) -> AsyncIterator[list[tuple[str, str]]]:
        """Give for all entities (key, spelling): each spelling that an edge into it has, once."""
        async for rows in self._pages(Query.ENTITIES_PAGE_END, Query.ENTITIES_PAGE_UIDS):
            yield [(key, form) for key, form in await self._collected(Query.ENTITY_FORMS, uids=rows)]

    async def slots(self) -> AsyncIterator[list[tuple[str, int, int]]]:
        """Give all slots as (subject|attribute, number of statements that the node says, number of statements)."""
        async for rows in self._pages(FactStatement.SLOTS_PAGE_END, FactStatement.SLOTS_PAGE):
            found = await self._collected(FactStatement.SLOT_DEGREES, uids=rows)
            yield [(stored[self._strip :], said, edges) for stored, said, edges in found]

    async def names(self) -> AsyncIterator[list[SurveyedName]]:
        """Give all names."""
        async for rows in self._pages(Query.NAMES_PAGE_END, Query.NAMES_PAGE):
            aside = set(await self._collected(Query.NAMES_ASIDE, uids=[row[0] for row in rows]))
            yield [SurveyedName(form, key or "", bool(pinned), form in aside) for _, form, key, pinned in rows]

    async def episodes(self) -> AsyncIterator[list[tuple[str, int]]]:
        """Give all episodes as (id, number of their events)."""
        async for rows in self._pages(Query.EPISODES_PAGE_END, Query.EPISODES_PAGE):
            found = await self._collected(Query.EPISODE_DEGREES, uids=rows)
            yield [(stored[self._strip :], edges) for stored, edges in found]

    async def awaited(self) -> AsyncIterator[list[tuple[str, str]]]:
        """Give all awaited causes that are stored by now, as (cause, effect): links that should have been made."""
        async for rows in self._pages(Query.AWAITED_PAGE_END, Query.AWAITED_PAGE):
            known = await self._collected(Query.EVENTS_PRESENT, uids=sorted({cause for _, cause, _ in rows}))
            stored = set(known)
            yield [(c[self._strip :], e[self._strip :]) for _, c, e in rows if c in stored]

    async def _pages(self, end: Cypher, page: Cypher, *, place: int = 0) -> AsyncIterator[list[Any]]:
        """Walk over the tenant in complete, sorted pages. `place`: the column that orders rows that are lists."""
        low = self._low

        async def work(transaction: Transaction) -> tuple[str | None, list[Any]]:
            top = await transaction.value(end, low=low, high=self._high, limit=_PAGE)
            return top, [] if top is None else await transaction.collected(page, low=low, top=top)

        while True:
            top, rows = await self._bolt.transact(work, what=f"survey {page.name}")
            if top is None:
                return
            yield sorted(rows) if rows and isinstance(rows[0], str) else sorted(rows, key=lambda row: str(row[place]))
            low = top

    async def _collected(self, query: Cypher, **parameters: Any) -> list[Any]:
        async def work(transaction: Transaction) -> list[Any]:
            return await transaction.collected(query, **parameters)

        return await self._bolt.transact(work, what=f"survey {query.name}")
