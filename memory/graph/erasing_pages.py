"""Which events an erasure covers, as the graph has them: pages of bounded size that span sessions.

Pages are cut along the chain keys, which are sorted by session: a page holds what many short sessions lose, or a part
of what a long one loses. What lies behind the page that is read may go meanwhile.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory.erasure import Erasure, Removed, Scope, ScopeKind
from memory.events import uid
from memory.graph.chain import session_range
from memory.graph.driver import Bolt, Transaction
from memory.graph.erases import Erase
from memory.graph.queries import Query

#: Events that go in one transaction, and of how many sessions, which it holds: their writers wait for it.
PAGE = 500
_SESSIONS_A_PAGE = 64
_SESSIONS_READ = 500


@dataclass(frozen=True, slots=True)
class Doomed:
    """Events of one session that an erasure covers: their ids, without the tenant."""

    session: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What goes at once, of each session its part. `ended`: sessions of which nothing more comes."""

    doomed: tuple[Doomed, ...]
    ended: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all its events."""
        return tuple(ident for doomed in self.doomed for ident in doomed.ids)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is remembered of an erasure. `removed`: by all its runs so far; `receipt`: JSON, empty until it is done."""

    removed: Removed
    sessions: tuple[str, ...]
    receipt: str


class ErasurePages:
    """Reads what an erasure of one tenant covers. Raises as `Bolt.transact` does."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self._tenant = tenant
        self._strip = len(tenant) + 1

    async def sessions(self, erasure: Erasure, standing: Standing) -> AsyncIterator[str]:
        """Give the sessions that may hold events of the erasure. Read on: a session may go while it is worked on."""
        scope = erasure.scope
        match scope.kind:
            case ScopeKind.SESSION:
                yield str(scope.session)
            case ScopeKind.EVENT:
                for session in standing.sessions:
                    yield session
            case ScopeKind.AGENT | ScopeKind.TENANT:
                low, high = session_range(self._tenant)
                while rows := await self._sessions_page(low, high):
                    for row in rows:
                        if scope.kind is ScopeKind.TENANT or scope.agent in row[2]:
                            yield str(row[1])
                    low = str(rows[-1][0])

    async def pages(self, erasure: Erasure, standing: Standing) -> AsyncIterator[Page]:
        """Give the events that the erasure covers, page by page; each session that it may touch ends in one of them."""
        doomed: list[Doomed] = []
        ended: list[str] = []
        count = 0
        async for part, complete in self._parts(erasure, standing):
            full = count + len(part.ids) > PAGE or len(doomed) >= _SESSIONS_A_PAGE or len(ended) >= _SESSIONS_A_PAGE
            if full and (doomed or ended):
                yield Page(tuple(doomed), tuple(ended))
                doomed, ended, count = [], [], 0
            if part.ids:
                doomed.append(part)
                count += len(part.ids)
            if complete:
                ended.append(part.session)
        if doomed or ended:
            yield Page(tuple(doomed), tuple(ended))

    async def uncut(self, erasure: Erasure, standing: Standing) -> AsyncIterator[tuple[str, tuple[str, ...]]]:
        """Give events that are in no episode, by session, of the sessions that the erasure may have touched.

        That of an agent or a tenant may have touched any: an earlier run may have closed them before it broke off.
        """
        if erasure.scope.kind in {ScopeKind.SESSION, ScopeKind.EVENT}:
            bounds = [session_range(uid(self._tenant, one)) async for one in self.sessions(erasure, standing)]
        else:
            bounds = [session_range(self._tenant)]
        for one in bounds:
            async for rows, _ in self._chain(one):
                found: dict[str, list[str]] = {}
                for row in rows:
                    if not row[5]:
                        found.setdefault(row[6], []).append(row[0][self._strip :])
                for session, ids in found.items():
                    yield session, tuple(ids)

    async def _sessions_page(self, low: str, high: str) -> list[Any]:
        async def work(transaction: Transaction) -> list[Any]:
            top = await transaction.value(Query.SESSIONS_PAGE_END, low=low, high=high, limit=_SESSIONS_READ)
            return [] if top is None else await transaction.collected(Query.SESSIONS_PAGE, low=low, top=top)

        return sorted(await self._bolt.transact(work, what="sessions of an erasure"), key=lambda row: str(row[0]))

    async def _parts(self, erasure: Erasure, standing: Standing) -> AsyncIterator[tuple[Doomed, bool]]:
        """Give what the erasure covers of each session, at most a page at once, and whether that was the last of it."""
        if erasure.scope.kind is ScopeKind.TENANT:
            async for part in self._parts_of_all(erasure):
                yield part
            return
        async for session in self.sessions(erasure, standing):
            async for rows, _ in self._chain(session_range(uid(self._tenant, session))):
                for doomed in self._cut(erasure, session, rows):
                    yield doomed, False
            yield Doomed(session, ()), True

    async def _parts_of_all(self, erasure: Erasure) -> AsyncIterator[tuple[Doomed, bool]]:
        """Walk over all of a tenant's events at once: sessions lie one behind the other, and none costs a question."""
        last = ""
        async for rows, reached in self._chain(session_range(self._tenant)):
            sessions: dict[str, list[Any]] = {}
            for row in rows:
                sessions.setdefault(row[6], []).append(row)
            if last and last not in sessions:
                yield Doomed(last, ()), True
            last = next(row[6] for row in rows if row[1] == reached)  # the one session that may go on
            for session, own in sessions.items():
                for doomed in self._cut(erasure, session, own):
                    yield doomed, False
                if session != last:
                    yield Doomed(session, ()), True
        if last:
            yield Doomed(last, ()), True

    def _cut(self, erasure: Erasure, session: str, rows: Sequence[Any]) -> list[Doomed]:
        ids = [row[0][self._strip :] for row in sorted(rows, key=_key_of) if self._covers(erasure, row)]
        return [Doomed(session, tuple(ids[start : start + PAGE])) for start in range(0, len(ids), PAGE)]

    def _covers(self, erasure: Erasure, row: Sequence[Any]) -> bool:
        """Say whether the erasure covers an event of one of its sessions; `row` as of `Erase.CHAIN_FOR`."""
        scope: Scope = erasure.scope
        if row[3] > erasure.at_us:
            return False
        if scope.kind is ScopeKind.EVENT:
            return bool(row[0][self._strip :] == str(scope.event))
        return scope.kind is not ScopeKind.AGENT or row[2] == scope.agent

    async def _chain(self, bounds: tuple[str, str]) -> AsyncIterator[tuple[list[Any], str]]:
        """Walk over events by their chain keys in complete pages, each with the key it reaches to, which is there."""
        low, high = bounds
        while True:

            async def work(transaction: Transaction, low: str = low) -> tuple[str | None, list[Any]]:
                top = await transaction.value(Query.CHAIN_PAGE_END, low=low, high=high, limit=PAGE)
                return top, [] if top is None else await transaction.collected(Erase.CHAIN_FOR, low=low, top=top)

            top, rows = await self._bolt.transact(work, what="events of an erasure")
            if top is None:
                return
            yield rows, top
            low = top


def _key_of(row: Sequence[Any]) -> str:
    return str(row[1])
