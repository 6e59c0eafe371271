"""Forgets events in both stores (arXiv 2601.03236 leaves forgetting open; here it is complete or it is not done).

Vectors go before the events that name them, page by page: whatever the crash, what is left in the graph leads the next
run to what is left beside it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from memory.erasure import Erasure, Removed, ScopeKind
from memory.errors import StoreUnavailable
from memory.events import EventNode
from memory.graph import Graph
from memory.graph.erasing import Doomed
from memory.vectors import Vectors

#: Told of a page of events before anything of it is removed.
BeforePage = Callable[[Doomed], Awaitable[None]]


@dataclass(slots=True)
class Forgotten:
    """What both stores gave up, over all runs of the erasure. `uncut`: events, by session, that are in no episode now;
    `receipt`: of an earlier run that finished, JSON, else empty."""

    removed: Removed = field(default_factory=Removed)
    uncut: dict[str, tuple[str, ...]] = field(default_factory=dict)
    receipt: str = ""


class Forgetting:
    """Erases by orders; all may be repeated. Raises what the stores raise."""

    def __init__(self, graph: Graph, vectors: Vectors) -> None:
        self._graph = graph
        self._vectors = vectors

    async def run(self, erasure: Erasure, before: BeforePage) -> Forgotten:
        """Take out what the erasure covers; nothing of it is written any more once this has begun."""
        eraser = self._graph.eraser(erasure.scope.tenant)
        standing = await eraser.open(erasure)
        if standing.receipt:
            return Forgotten(standing.removed, receipt=standing.receipt)
        tenant = erasure.scope.tenant
        extractions = self._graph.extractions(tenant)
        whole = erasure.scope.kind is ScopeKind.TENANT
        if whole:
            await extractions.forget()
        uncut: dict[str, tuple[str, ...]] = {}
        async for session in eraser.sessions(erasure, standing):
            async for doomed in eraser.doomed(erasure, session):
                await before(doomed)
                if not whole:
                    await extractions.forget(doomed.ids)
                vectors = await self._drop_vectors(tenant, doomed.ids)
                await eraser.remove(doomed, erasure, vectors=vectors, learn=not whole)
            left = [ident async for ids in eraser.uncut(session) for ident in ids]
            if left:
                uncut[session] = tuple(left)
            await eraser.rebuild(session)
        if whole and not await eraser.sweep(erasure):
            await eraser.relearn()
        await eraser.sweep_history()
        return Forgotten((await eraser.standing(erasure)).removed, uncut)

    async def nothing_left(self, erasure: Erasure) -> bool:
        """Look again whether the stores hold anything that the erasure covers."""
        eraser = self._graph.eraser(erasure.scope.tenant)
        standing = await eraser.standing(erasure)
        async for session in eraser.sessions(erasure, standing):
            async for _ in eraser.doomed(erasure, session):
                return False
        return True

    async def refuse(self, nodes: Sequence[EventNode]) -> set[str]:
        """Give the uids of events that were erased; what was written of them meanwhile is gone when this returns."""
        refused = await self._graph.forgotten(nodes)
        written: dict[tuple[str, str], list[str]] = {}
        for node in nodes:
            if node.uid in refused:
                written.setdefault((node.tenant, node.session), []).append(node.id)
        for (tenant, session), ids in written.items():
            await self._vectors.writer(tenant).delete(ids)
            eraser = self._graph.eraser(tenant)
            if (await eraser.remove(Doomed(session, tuple(ids)))).events:
                await eraser.rebuild(session)
        return refused

    async def _drop_vectors(self, tenant: str, ids: Sequence[str]) -> int:
        """Remove the vectors of these events and look that they are gone; gives how many there were."""
        reader = self._vectors.reader(tenant)
        there = await reader.present(ids)
        if not there:
            return 0
        await self._vectors.writer(tenant).delete(sorted(there))
        left = await reader.present(sorted(there))
        if left:
            raise StoreUnavailable(f"{len(left)} erased vectors can still be read", hint="the erasure is tried again")
        return len(there)
