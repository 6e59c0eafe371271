"""Names and entities of events that are erased: what is left of them, and that nothing else remembers the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.chain import session_range
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_moves import recount
from memory.graph.entity_statements import EntityStatement
from memory.graph.erases import Erase, SweepEnd
from memory.graph.name_mends import relearn_in
from memory.graph.name_writes import hold_tenant
from memory.identity import blocks_of, former_blocks

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Names:
    """The spellings of some events, each with the keys of the entities that it was at; ask before the events go."""

    tenant: str
    places: Mapping[str, frozenset[str]]

    async def forget(self, transaction: Transaction) -> int:
        """Learn the names again once their events are gone; gives how many entities went with them."""
        if not self.places:
            return 0
        keys = sorted({key for found in self.places.values() for key in found})
        for key in keys:
            await recount(transaction, self.tenant, key)
        await relearn_in(transaction, self.tenant, self.places)
        left = set(await _among(transaction, Erase.NAMES_AMONG, self.tenant, sorted(self.places)))
        await self._leave_blocks(transaction, sorted(self.places.keys() - left))
        return len(keys) - len(await _among(transaction, Erase.ENTITIES_AMONG, self.tenant, keys))

    async def _leave_blocks(self, transaction: Transaction, gone: Sequence[str]) -> None:
        """Take forms that are gone out of the blocks in which they could be found."""
        if not gone:
            return
        blocks = sorted({block for form in gone for block in (*blocks_of(form), *former_blocks(form))})
        rows, empty = [], []
        for part in chunks([uid(self.tenant, block) for block in blocks]):
            for stored, forms in await transaction.collected(EntityStatement.BLOCKS_READ, uids=part):
                left = sorted(set(forms) - set(gone))
                if not left:
                    empty.append(stored)
                elif len(left) < len(forms):
                    rows.append({"uid": stored, "forms": left})
        for changed in chunks(rows):
            await transaction.run(EntityStatement.BLOCKS_PUT, rows=changed)
        for dropped in chunks(empty):
            await transaction.run(Erase.BLOCKS_DROP, uids=dropped)


async def of_events(transaction: Transaction, tenant: str, uids: Sequence[str]) -> Names:
    """Give the names of events that are there still, and hold the tenant's names until the commit."""
    places: dict[str, set[str]] = {}
    for form, key in await transaction.collected(Erase.NAMES_OF, uids=uids):
        places.setdefault(form, set()).add(key)
    for form in await transaction.collected(Erase.NAMES_ASIDE_OF, uids=uids):
        places.setdefault(form, set())
    if places:
        await hold_tenant(transaction, tenant)
    return Names(tenant, {form: frozenset(keys) for form, keys in places.items()})


async def relearn_all(bolt: Bolt, tenant: str) -> None:
    """Learn every name of a tenant again; walks over all of them, a page in a transaction."""
    low, high = session_range(tenant)
    while True:

        async def work(transaction: Transaction, low: str = low) -> str | None:
            top = await transaction.value(SweepEnd.NAME, low=low, high=high, limit=_PAGE)
            if top is None:
                return None
            page = await transaction.collected(Erase.NAMES_PAGE, low=low, top=top)
            await hold_tenant(transaction, tenant)
            await Names(tenant, {form: frozenset({key} - {""}) for form, key in page}).forget(transaction)
            return str(top)

        top = await bolt.transact(work, what="learning of names after an erasure")
        if top is None:
            return
        low = top


async def sweep_history(bolt: Bolt, tenant: str) -> None:
    """Remove changes of names that are not there any more; walks over the tenant's whole history of names."""
    low, high = session_range(tenant)
    while True:

        async def work(transaction: Transaction, low: str = low) -> str | None:
            top = await transaction.value(Erase.CHANGES_PAGE_END, low=low, high=high, limit=_PAGE)
            if top is None:
                return None
            page = await transaction.collected(Erase.CHANGES_PAGE, low=low, top=top)
            named = {form for _, *forms in page for form in forms if form}
            left = set(await _among(transaction, Erase.NAMES_AMONG, tenant, sorted(named)))
            gone = [stored for stored, *forms in page if not left.issuperset(form for form in forms if form)]
            for part in chunks(sorted(gone)):
                await transaction.run(Erase.CHANGES_DROP, uids=part)
            return str(top)

        top = await bolt.transact(work, what="sweep of the history of names")
        if top is None:
            return
        low = top


async def _among(transaction: Transaction, statement: Erase, tenant: str, idents: Sequence[str]) -> list[str]:
    found: list[str] = []
    for part in chunks([uid(tenant, ident) for ident in idents]):
        found += await transaction.collected(statement, uids=part)
    return found
