"""Stage `erase`: forgets in stores, log and dead letters what the orders of `memory.erasures` cover.

For each order: it is remembered first, so nothing of it is written any more; then, page by page, a tombstone goes to
`memory.events` before the stores give the events up; then the log is read once for what was on its way and never
reached the stores; then the dead letters; then everything is looked at again, and a signed receipt is kept. Any of it
may be repeated. Architecture: docs/decisions/0001-erasure.md.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from memory.embedding import make_encoder
from memory.erasure import Erasure, Receipt, Scope, decode_erasure
from memory.errors import Poison
from memory.forgetting import Forgetting
from memory.graph import Graph
from memory.graph.erasing_pages import Doomed
from memory.receipts import Signer
from memory.records import Handled, Outgoing, Record, Rejected, event_key, session_key
from memory.settings import Settings
from memory.vectors import Vectors
from streams.erased_letters import remove_letters
from streams.erased_log import stragglers
from streams.ingest import ingested_ids
from streams.publisher import Publisher
from streams.scan import scan
from streams.topics import Topic


class EraseHandler:
    """Carries orders out, one after the other."""

    def __init__(
        self, settings: Settings, graph: Graph, vectors: Vectors, publisher: Publisher, signer: Signer
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._forgetting = Forgetting(graph, vectors)
        self._publisher = publisher
        self._signer = signer

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Forget; gives out the events that must be consolidated again. Raises what the stores and the broker raise."""
        outgoing: list[Outgoing] = []
        rejected: list[Rejected] = []
        for record in records:
            try:
                erasure = decode_erasure(record.value)
            except Poison as error:
                rejected.append(Rejected(record, error))
                continue
            _, again = await self.erase(erasure)
            outgoing += again
        return Handled(tuple(outgoing), tuple(rejected))

    async def erase(self, erasure: Erasure) -> tuple[Receipt, list[Outgoing]]:
        """Carry one order out; gives its receipt, and what goes to `memory.ingested` for events that stay."""
        tenant = erasure.scope.tenant
        done = await self._forgetting.run(erasure, lambda doomed: self._bury(tenant, doomed))
        again = [one for session, ids in done.uncut.items() for one in ingested_ids(tenant, session, ids)]
        if done.receipt:
            return Receipt.model_validate_json(done.receipt), again
        found = await stragglers(self._settings, erasure)
        await self._bury(tenant, [Doomed(session, ids) for session, ids in found.buried.items()])
        letters = await remove_letters(self._settings, self._publisher, erasure)
        verified = await self._forgetting.nothing_left(erasure)
        receipt = self._signer.sign(
            Receipt(
                id=erasure.id,
                scope=erasure.scope,
                asked_at_us=erasure.at_us,
                done_at_us=time.time_ns() // 1_000,
                events=done.removed.events,
                edges=done.removed.edges,
                entities=done.removed.entities,
                episodes=done.removed.episodes,
                vectors=done.removed.vectors,
                log_records=found.records,
                letters=letters.removed,
                letters_left=letters.left,
                letters_unreadable=letters.unreadable,
                verified=verified,
            )
        )
        kept = await self._graph.eraser(tenant).close(erasure, receipt.model_dump_json(exclude_none=True))
        return Receipt.model_validate_json(kept), again

    async def _bury(self, tenant: str, doomed: Sequence[Doomed]) -> None:
        """Write a tombstone for each event over its record in the log."""
        tombs = [
            Outgoing(event_key(tenant, one.session, ident), None, placed_by=session_key(tenant, one.session))
            for one in doomed
            for ident in one.ids
        ]
        await self._publisher.publish(Topic.MEMORY_EVENTS.name_in(self._settings), tombs)


@asynccontextmanager
async def open_erase(settings: Settings) -> AsyncIterator[EraseHandler]:
    """Open the handler of stage `erase` with its stores; raises as they do."""
    encoder = await asyncio.to_thread(make_encoder, settings)
    try:
        async with (
            Graph.open(settings) as graph,
            Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
            Publisher.open(settings) as publisher,
        ):
            await graph.ensure_schema()
            signer = await asyncio.to_thread(Signer.open, settings)
            yield EraseHandler(settings, graph, vectors, publisher, signer)
    finally:
        await encoder.close()


async def remember_erasures(settings: Settings, tenant: str | None = None) -> int:
    """Put what was ever erased, of one tenant or of all, into the graph again; gives how many orders there are.

    A graph that was lost knows nothing of them. Raises `StoreUnavailable`; an unreadable order was dead-lettered.
    """
    count = 0
    async with Graph.open(settings) as graph:
        await graph.ensure_schema()
        async for records in scan(settings, Topic.MEMORY_ERASURES.name_in(settings)):
            for record in records:
                try:
                    erasure = decode_erasure(record.value)
                except Poison:
                    continue
                if tenant is None or erasure.scope.tenant == tenant:
                    await graph.eraser(erasure.scope.tenant).remember(erasure)
                    count += 1
    return count


async def ask(settings: Settings, scope: Scope) -> Erasure:
    """Order that everything of the scope accepted until now be forgotten; it is in the log when this returns."""
    erasure = Erasure.of(scope, time.time_ns() // 1_000)
    async with Publisher.open(settings) as publisher:
        key = scope.tenant.encode()
        await publisher.publish(Topic.MEMORY_ERASURES.name_in(settings), [Outgoing(key, erasure.encode())])
    return erasure
