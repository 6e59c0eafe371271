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
from memory.graph.erasing import GraphEraser
from memory.graph.erasing_pages import Doomed, Page, Standing
from memory.vectors import Vectors

#: Told of a page of events before anything of it is removed.
BeforePage = Callable[[Sequence[Doomed]], Awaitable[None]]


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
            # what is cut anew is told again: the run that left the receipt may have broken off before it was told
            return Forgotten(standing.removed, await self._uncut(erasure, standing), standing.receipt)
        tenant = erasure.scope.tenant
        extractions = self._graph.extractions(tenant)
        whole = erasure.scope.kind is ScopeKind.TENANT
        if whole:
            await extractions.forget()
        async for page in eraser.covered.pages(erasure, standing):
            if page.doomed:
                await before(page.doomed)
                if not whole:
                    await extractions.forget(page.ids)
                await self._drop_vectors(eraser, page.ids)
                await eraser.remove(page, erasure, settle=not whole)
            for session in () if whole else page.ended:
                await eraser.rebuild(session)
        if whole and not await eraser.sweep(erasure):
            async for session in eraser.covered.sessions(erasure, standing):
                await eraser.rebuild(session)
            await eraser.relearn()
        await eraser.drop_unfounded()
        await eraser.sweep_history()
        return Forgotten((await eraser.standing(erasure)).removed, await self._uncut(erasure, standing))

    async def nothing_left(self, erasure: Erasure) -> bool:
        """Look again whether the stores hold anything that the erasure covers."""
        eraser = self._graph.eraser(erasure.scope.tenant)
        standing = await eraser.standing(erasure)
        async for page in eraser.covered.pages(erasure, standing):
            if page.doomed:
                return False
        return True

    async def refuse(self, nodes: Sequence[EventNode]) -> set[str]:
        """Give the uids of events that were erased; what was written of them meanwhile is gone when this returns."""
        refused = await self._graph.forgotten(nodes)
        written: dict[str, dict[str, list[str]]] = {}
        for node in nodes:
            if node.uid in refused:
                written.setdefault(node.tenant, {}).setdefault(node.session, []).append(node.id)
        for tenant, sessions in written.items():
            page = Page(tuple(Doomed(session, tuple(ids)) for session, ids in sessions.items()), tuple(sessions))
            await self._vectors.writer(tenant).delete(page.ids)
            eraser = self._graph.eraser(tenant)
            if (await eraser.remove(page)).events:
                for session in page.ended:
                    await eraser.rebuild(session)
        return refused

    async def _uncut(self, erasure: Erasure, standing: Standing) -> dict[str, tuple[str, ...]]:
        """Give the events, by session, that the erasure may have left without an episode."""
        left: dict[str, tuple[str, ...]] = {}
        async for session, ids in self._graph.eraser(erasure.scope.tenant).covered.uncut(erasure, standing):
            left[session] = left.get(session, ()) + ids
        return left

    async def _drop_vectors(self, eraser: GraphEraser, ids: Sequence[str]) -> None:
        """Remove the vectors of these events and look that they are gone; the graph notes first which there were."""
        reader = self._vectors.reader(eraser.tenant)
        there = sorted(await reader.present(ids))
        if not there:
            return
        await eraser.note_vectors(there)
        await self._vectors.writer(eraser.tenant).delete(there)
        left = await reader.present(there)
        if left:
            raise StoreUnavailable(f"{len(left)} erased vectors can still be read", hint="the erasure is tried again")
