"""Forgetting in the graph: events with all that hangs on them, and what is remembered of the erasure itself.

A page of events goes in one transaction, which also adds what it removed to the erasure's node: a crash anywhere
repeats the rest and counts nothing twice. Entities that nothing mentions any more go with it, and so do the episodes
that held one of the events, whose titles may quote them; the events that are left are cut into episodes anew.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memory.erasure import Erasure, Removed, Scope, ScopeKind, marker_key
from memory.events import EventNode, uid
from memory.graph import forgotten_names
from memory.graph.batches import chunks
from memory.graph.chain import session_range
from memory.graph.driver import Bolt, Transaction
from memory.graph.erases import Erase, Sweep, SweepEnd
from memory.graph.fact_writes import relearn_slot_in
from memory.graph.mending import Mender
from memory.graph.queries import Query
from memory.graph.statements import Statement
from memory.relations import Origin

#: Events that go in one transaction.
PAGE = 500
_SWEEP_PAGE = 1_000
_SESSIONS_PAGE = 500


@dataclass(frozen=True, slots=True)
class Doomed:
    """Events of one session that an erasure covers: their ids, without the tenant."""

    session: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """What is remembered of an erasure. `removed`: by all its runs so far; `receipt`: JSON, empty until it is done."""

    removed: Removed
    sessions: tuple[str, ...]
    receipt: str


class GraphEraser:
    """Forgets events of one tenant. All methods raise what `GraphWriter` raises; all may be repeated."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self.tenant = tenant
        self._strip = len(tenant) + 1

    async def open(self, erasure: Erasure) -> Standing:
        """Remember what is erased, so that nothing of it is written any more, and give how far it has come."""
        event = None if erasure.scope.event is None else str(erasure.scope.event)

        async def work(transaction: Transaction) -> Standing:
            await transaction.run(Erase.MARKER_SET, uid=erasure.scope.key, at_us=erasure.at_us)
            rows = await transaction.collected(Erase.EVENTS_FOR, uids=[uid(self.tenant, event)]) if event else []
            found = await transaction.value(
                Erase.ERASURE_OPEN,
                uid=self._erasure_uid(erasure),
                tenant=self.tenant,
                sessions=[row[1] for row in rows],
            )
            return _standing(found)

        return await self._bolt.transact(work, what="opening of an erasure")

    async def receipt(self, erasure_id: str) -> str | None:
        """Give the receipt of an erasure as JSON: empty while it runs, None when there is no such erasure."""

        async def work(transaction: Transaction) -> Any:
            return await transaction.value(Erase.ERASURE_READ, uid=uid(self.tenant, erasure_id))

        found = await self._bolt.transact(work, what="read of a receipt")
        return None if found is None else _standing(found).receipt

    async def close(self, erasure: Erasure, receipt: str) -> str:
        """Keep the receipt, unless another run has left one; gives the one that is kept."""

        async def work(transaction: Transaction) -> str:
            kept = await transaction.value(Erase.ERASURE_CLOSE, uid=self._erasure_uid(erasure), receipt=receipt)
            return str(kept)

        return await self._bolt.transact(work, what="closing of an erasure")

    async def remember(self, erasure: Erasure) -> None:
        """Remember what was erased, and do nothing else: for a graph that was lost."""

        async def work(transaction: Transaction) -> None:
            await transaction.run(Erase.MARKER_SET, uid=erasure.scope.key, at_us=erasure.at_us)

        await self._bolt.transact(work, what="memory of an erasure")

    async def standing(self, erasure: Erasure) -> Standing:
        """Give how far an opened erasure has come."""

        async def work(transaction: Transaction) -> Standing:
            return _standing(await transaction.value(Erase.ERASURE_READ, uid=self._erasure_uid(erasure)))

        return await self._bolt.transact(work, what="read of an erasure")

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
                low, high = session_range(self.tenant)
                while rows := await self._sessions_page(low, high):
                    for row in rows:
                        if scope.kind is ScopeKind.TENANT or scope.agent in row[2]:
                            yield str(row[1])
                    low = str(rows[-1][0])

    async def doomed(self, erasure: Erasure, session: str) -> AsyncIterator[Doomed]:
        """Give the events of a session that the erasure covers, page by page."""
        async for rows in self._chain(session):
            ids = tuple(row[0][self._strip :] for row in rows if self._covers(erasure, row))
            if ids:
                yield Doomed(session, ids)

    async def remove(
        self, doomed: Doomed, erasure: Erasure | None = None, *, vectors: int = 0, learn: bool = True
    ) -> Removed:
        """Take a page of events out with everything that hangs on them; `vectors`: how many went with them before.

        What is removed is counted for the erasure, when one is given. Without `learn` names and entities stay as they
        are, to be settled once at the end (`relearn`, `sweep`): learning them again costs as much as what is left.
        """
        uids = sorted(uid(self.tenant, ident) for ident in doomed.ids)

        async def work(transaction: Transaction) -> Removed:
            await transaction.collected(Statement.SESSIONS_TOUCH, uids=[uid(self.tenant, doomed.session)])
            rows = await transaction.collected(Erase.EVENTS_FOR, uids=uids)
            there = sorted(row[0] for row in rows)
            if not there:
                return Removed()
            beside = await transaction.collected(Erase.CAUSES_BESIDE, uids=there)
            if beside:
                await transaction.collected(Statement.CAUSES_LOCK, uid=f"{self.tenant}|causes")
            names = await forgotten_names.of_events(transaction, self.tenant, there if learn else [])
            slots = sorted(await transaction.collected(Erase.SLOTS_OF, uids=there))
            episodes = sorted(await transaction.collected(Erase.EPISODES_OF, uids=there))
            edges = int(await transaction.value(Erase.EDGES_OF, uids=there) or 0)
            await transaction.run(Erase.EVENTS_DROP, uids=there)
            awaited = [f"{self.tenant}|{row[0][self._strip :]}|{parent}" for row in rows for parent in (row[4] or ())]
            for part in chunks(awaited):
                await transaction.run(Statement.AWAITED_REMOVE, uids=part)
            edges += await self._drop_episodes(transaction, episodes)
            await self._recount_causes(transaction, sorted(set(beside) - set(there)))
            for slot in slots:
                await relearn_slot_in(transaction, self.tenant, slot[self._strip :])
            orphans = await names.forget(transaction)
            removed = Removed(len(there), edges, orphans, len(episodes), vectors)
            if erasure is not None:
                await transaction.run(Erase.ERASURE_ADD, uid=self._erasure_uid(erasure), **asdict(removed))
            return removed

        return await self._bolt.transact(work, what="erasure of events")

    async def uncut(self, session: str) -> AsyncIterator[tuple[str, ...]]:
        """Give the events of a session that are in no episode any more: they must be cut anew."""
        async for rows in self._chain(session):
            ids = tuple(row[0][self._strip :] for row in rows if not row[5])
            if ids:
                yield ids

    async def rebuild(self, session: str) -> None:
        """Close the chain over what is gone; a session without events goes."""
        await Mender(self._bolt, self.tenant).rebuild_session(session)

    async def sweep_history(self) -> None:
        """Remove from the history of names what speaks of names that no event has any more."""
        await forgotten_names.sweep_history(self._bolt, self.tenant)

    async def relearn(self) -> None:
        """Learn all names of the tenant again, from the events that are left."""
        await forgotten_names.relearn_all(self._bolt, self.tenant)

    async def sweep(self, erasure: Erasure) -> bool:
        """Remove what an erased tenant leaves that hangs on no event; gives False and does nothing while it has one."""
        low, high = session_range(self.tenant)

        async def settle(transaction: Transaction) -> bool:
            if await transaction.value(Query.EVENTS_PAGE_END, low=low, high=high, limit=1) is not None:
                return False
            entities = int(await transaction.value(Query.ENTITIES_TOTAL, low=low, high=high) or 0)
            if entities:
                counted = Removed(entities=entities)
                await transaction.run(Erase.ERASURE_ADD, uid=self._erasure_uid(erasure), **asdict(counted))
                await transaction.run(Sweep.ENTITY, low=low, top=high)
            return True

        if not await self._bolt.transact(settle, what="sweep of an erased tenant"):
            return False

        async def work(transaction: Transaction) -> bool:
            more = False
            for end in SweepEnd:
                top = await transaction.value(end, low=low, high=high, limit=_SWEEP_PAGE)
                if top is not None:
                    await transaction.run(Sweep[end.name], low=low, top=top)
                    more = True
            return more

        while await self._bolt.transact(work, what="sweep of an erased tenant"):
            pass
        return True

    # ---- how it works -----------------------------------------------------------------------------------------------

    def _erasure_uid(self, erasure: Erasure) -> str:
        return uid(self.tenant, str(erasure.id))

    def _covers(self, erasure: Erasure, row: Sequence[Any]) -> bool:
        """Say whether the erasure covers an event of one of its sessions; `row` as of `Erase.CHAIN_FOR`."""
        scope: Scope = erasure.scope
        if row[3] > erasure.at_us:
            return False
        if scope.kind is ScopeKind.EVENT:
            return bool(row[0][self._strip :] == str(scope.event))
        return scope.kind is not ScopeKind.AGENT or row[2] == scope.agent

    async def _sessions_page(self, low: str, high: str) -> list[Any]:
        async def work(transaction: Transaction) -> list[Any]:
            top = await transaction.value(Query.SESSIONS_PAGE_END, low=low, high=high, limit=_SESSIONS_PAGE)
            return [] if top is None else await transaction.collected(Query.SESSIONS_PAGE, low=low, top=top)

        return sorted(await self._bolt.transact(work, what="sessions of an erasure"), key=lambda row: str(row[0]))

    async def _chain(self, session: str) -> AsyncIterator[list[Any]]:
        """Walk over a session's events in complete pages; those behind the page may go meanwhile."""
        low, high = session_range(uid(self.tenant, session))
        while True:

            async def work(transaction: Transaction, low: str = low) -> tuple[str | None, list[Any]]:
                top = await transaction.value(Query.CHAIN_PAGE_END, low=low, high=high, limit=PAGE)
                return top, [] if top is None else await transaction.collected(Erase.CHAIN_FOR, low=low, top=top)

            top, rows = await self._bolt.transact(work, what="events of an erasure")
            if top is None:
                return
            for start in range(0, len(rows), PAGE):
                yield rows[start : start + PAGE]
            low = top

    async def _drop_episodes(self, transaction: Transaction, episodes: Sequence[str]) -> int:
        """Remove the episodes; gives how many edges of events that stay went with them."""
        if not episodes:
            return 0
        left = sorted(await transaction.collected(Erase.EPISODE_MEMBERS, uids=episodes))
        await transaction.run(Erase.EPISODES_DROP, uids=episodes)
        if left:
            await transaction.run(Erase.EPISODES_UNMARK, uids=left)
        return len(left)

    async def _recount_causes(self, transaction: Transaction, uids: Sequence[str]) -> None:
        """Let the events that stay say how many inferred causal edges they have left."""
        if not uids:
            return
        rows = []
        for key, found in await transaction.collected(Erase.CAUSES_LEFT, uids=uids):
            inferred = [out for out, origin in found if origin is not None and origin != Origin.PRODUCER]
            rows.append({"uid": key, "causes_out": sum(inferred), "causes_in": len(inferred) - sum(inferred)})
        await transaction.run(Statement.CAUSES_DEGREES, rows=rows)


async def forgotten(bolt: Bolt, nodes: Sequence[EventNode]) -> set[str]:
    """Give the uids of those events, of any tenants, that an erasure covers: they must not be stored.

    One round trip for a thousand markers, however many tenants the events are of. Raises as `Bolt.ask` does.
    """
    keys = {node.uid: tuple(_keys(node)) for node in nodes}
    at_us: dict[str, int] = {}
    for part in chunks(sorted({key for own in keys.values() for key in own})):
        [[found]] = await bolt.ask(Erase.MARKERS_AMONG, uids=part)
        at_us |= dict(found)
    if not at_us:
        return set()
    return {node.uid for node in nodes if any(node.ingested_us <= at_us.get(key, -1) for key in keys[node.uid])}


def _standing(found: Sequence[Any]) -> Standing:
    *counts, sessions, receipt = found
    return Standing(Removed(*(int(count) for count in counts)), tuple(sessions), receipt)


def _keys(node: EventNode) -> Iterable[str]:
    """Give the keys of the markers that would cover an event."""
    yield marker_key(node.tenant, ScopeKind.TENANT, "")
    yield marker_key(node.tenant, ScopeKind.SESSION, node.session)
    yield marker_key(node.tenant, ScopeKind.AGENT, node.agent)
    yield marker_key(node.tenant, ScopeKind.EVENT, node.id)
