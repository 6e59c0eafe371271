"""Forgetting in the graph: events with all that hangs on them, and what is remembered of the erasure itself.

A page of events, of as many sessions as it takes, goes in one transaction, which also links what stays over the gap and
adds what it removed to the erasure's node: a crash anywhere leaves whole chains, repeats the rest and counts nothing
twice. Entities that nothing mentions any more go with it, and so do the episodes that held one of the events, whose
titles may quote them; the events that are left are cut into episodes anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from memory.erasure import Erasure, Removed, ScopeKind, marker_key
from memory.events import EventNode, uid
from memory.graph import forgotten_names
from memory.graph.batches import chunks
from memory.graph.chain import session_range
from memory.graph.driver import Bolt, Transaction
from memory.graph.erases import Erase, Sweep, SweepEnd
from memory.graph.erasing_pages import ErasurePages, Page, Standing
from memory.graph.fact_writes import relearn_slot_in
from memory.graph.mending import Mender
from memory.graph.queries import Query
from memory.graph.statements import Statement
from memory.graph.stints import leave
from memory.graph.unfounded import drop_unfounded_in
from memory.graph.unlinking import hold, unlinking
from memory.relations import Origin

_SWEEP_PAGE = 1_000
_SLOTS_PAGE = 100


class GraphEraser:
    """Forgets events of one tenant. All methods raise what `GraphWriter` raises; all may be repeated."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self.tenant = tenant
        self._strip = len(tenant) + 1
        self.covered = ErasurePages(bolt, tenant)

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

    async def note_vectors(self, ids: Iterable[str]) -> None:
        """Note at these events that their vectors are there and go now: they are counted when the events go."""
        uids = sorted(uid(self.tenant, ident) for ident in ids)

        async def work(transaction: Transaction) -> None:
            await transaction.run(Erase.VECTORS_SEEN, uids=uids)

        if uids:
            await self._bolt.transact(work, what="note of vectors that go")

    async def remove(self, page: Page, erasure: Erasure | None = None, *, settle: bool = True) -> Removed:
        """Take a page of events out with everything that hangs on them; what goes is counted for the erasure, if given.

        Without `settle` names, entities and facts stay as they are, to be settled once at the end (`relearn`, `sweep`):
        page by page it costs as much as what is left.
        """
        uids = sorted(uid(self.tenant, ident) for ident in page.ids)

        async def work(transaction: Transaction) -> Removed:
            removed = await self._remove_in(transaction, uids, settle=settle)
            if erasure is not None and removed != Removed():
                await transaction.run(Erase.ERASURE_ADD, uid=self._erasure_uid(erasure), **asdict(removed))
            return removed

        return await self._bolt.transact(work, what="erasure of events")

    async def rebuild(self, session: str) -> None:
        """Make a session's chain and totals again from the events that are left; a session without events goes."""
        await Mender(self._bolt, self.tenant).rebuild_session(session)

    async def drop_unfounded(self) -> None:
        """Remove causes between events that stay of which an erased event told; walks over all events of the tenant."""
        low, high = session_range(self.tenant)
        while True:

            async def work(transaction: Transaction, low: str = low) -> str | None:
                top = await transaction.value(Query.CHAIN_PAGE_END, low=low, high=high, limit=_SWEEP_PAGE)
                if top is not None:
                    ends = await drop_unfounded_in(transaction, self.tenant, low, top)
                    await self._recount_causes(transaction, sorted(ends))
                return None if top is None else str(top)

            top = await self._bolt.transact(work, what="removal of causes that nothing tells of")
            if top is None:
                return
            low = top

    async def sweep_history(self) -> None:
        """Remove from the history of names what speaks of names that no event has any more."""
        await forgotten_names.sweep_history(self._bolt, self.tenant)

    async def relearn(self) -> None:
        """Learn all names and facts of the tenant again, from the events that are left."""
        await forgotten_names.relearn_all(self._bolt, self.tenant)
        await self._relearn_slots()

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

    async def _remove_in(self, transaction: Transaction, uids: Sequence[str], *, settle: bool) -> Removed:
        rows = await transaction.collected(Erase.EVENTS_FOR, uids=uids) if uids else []
        if not rows:
            return Removed()
        held = await hold(transaction, (uid(self.tenant, row[1]) for row in rows))
        rows = await transaction.collected(Erase.EVENTS_FOR, uids=uids)  # as they are now that the sessions are held
        there = sorted(row[0] for row in rows)
        chains = await unlinking(transaction, held, {row[0]: uid(self.tenant, row[1]) for row in rows})
        beside = await transaction.collected(Erase.CAUSES_BESIDE, uids=there)
        if beside:
            await transaction.collected(Statement.CAUSES_LOCK, uid=f"{self.tenant}|causes")
        names = await forgotten_names.of_events(transaction, self.tenant, there if settle else [])
        slots = sorted(await transaction.collected(Erase.SLOTS_OF, uids=there)) if settle else []
        episodes = sorted(await transaction.collected(Erase.EPISODES_OF, uids=there))
        edges = int(await transaction.value(Erase.EDGES_OF, uids=there) or 0)
        await transaction.run(Erase.EVENTS_DROP, uids=there)
        await leave(transaction, self.tenant, chains.empty)
        await chains.settle(transaction)
        awaited = [f"{self.tenant}|{row[0][self._strip :]}|{parent}" for row in rows for parent in (row[4] or ())]
        for part in chunks(awaited):
            await transaction.run(Statement.AWAITED_REMOVE, uids=part)
        edges += await self._drop_episodes(transaction, episodes)
        await self._recount_causes(transaction, sorted(set(beside) - set(there)))
        for slot in slots:
            await relearn_slot_in(transaction, self.tenant, slot[self._strip :])
        vectors = sum(bool(row[5]) for row in rows)
        return Removed(len(there), edges, await names.forget(transaction), len(episodes), vectors)

    async def _relearn_slots(self) -> None:
        low, high = session_range(self.tenant)
        while True:

            async def work(transaction: Transaction, low: str = low) -> str | None:
                top = await transaction.value(SweepEnd.SLOT, low=low, high=high, limit=_SLOTS_PAGE)
                for slot in await transaction.collected(Erase.SLOTS_PAGE, low=low, top=top) if top else []:
                    await relearn_slot_in(transaction, self.tenant, slot[self._strip :])
                return None if top is None else str(top)

            top = await self._bolt.transact(work, what="learning of facts after an erasure")
            if top is None:
                return
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
