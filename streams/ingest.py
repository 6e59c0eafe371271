"""The fast path: events of the log become nodes in their session's chain and vectors, in one batch each.

The two stores are written side by side; both writes are idempotent, so a crash between them is mended when the batch
comes again. An id that is used for two different events belongs to the first: the graph says which are such
conflicts, their vector rows, written meanwhile, are put back from the stored node, and the late event is rejected.
Only then the batch counts as durable, so the wrong row is never acknowledged.

What was erased is not written again, whatever brings it: erasures are looked up before the write, and once more after
it, since one may have passed these events by while they were on their way.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from memory.embedding import Encoder, make_encoder
from memory.events import EventNode
from memory.forgetting import Forgetting
from memory.graph import Graph
from memory.records import Handled, Ingested, Outgoing, Record, Rejected, session_key
from memory.settings import Settings
from memory.text import document_keywords, document_text
from memory.vectors import Vectors, vector_row
from streams.prepare import Prepared, conflict, prepare

#: Most ids in one `memory.ingested` value.
MAX_IDS = 1_000


class IngestHandler:
    """Stage `ingest`: makes events durable in both stores and gives out their ids, session by session."""

    def __init__(self, graph: Graph, vectors: Vectors, encoder: Encoder) -> None:
        self._graph = graph
        self._writer = graph.writer()
        self._vectors = vectors
        self._encoder = encoder
        self._forgetting = Forgetting(graph, vectors)

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Write the batch to both stores.

        Gives out the ids of all its events, also of those that were there before: a crash between the stores and the
        log must not hide an event from the consolidators. Raises `StoreUnavailable`, `StoreConflict`, `StoreRefused`.
        """
        batch = await asyncio.to_thread(prepare, records)
        batch = batch.without(await self._forgetting.refuse(batch.nodes))
        if not batch.nodes:
            return Handled(rejected=batch.rejected)
        rows = batch.rows(await self._encoder.encode(batch.texts))
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(self._writer.write_events(batch.nodes))
            group.create_task(self._vectors.upsert(rows))
        batch = batch.without(await self._forgetting.refuse(batch.nodes))
        conflicts = writing.result().conflicts
        if not conflicts:
            return Handled(tuple(ingested(batch.nodes)), batch.rejected)
        return await self._without(conflicts, batch)

    async def _without(self, conflicts: frozenset[str], batch: Prepared) -> Handled:
        """Put the vector rows of the stored events back and reject the events that came too late with their ids."""
        by_tenant: dict[str, list[str]] = {}
        for node in batch.nodes:
            if node.uid in conflicts:
                by_tenant.setdefault(node.tenant, []).append(node.id)
        stored: dict[str, EventNode] = {}
        for tenant, ids in by_tenant.items():
            found = await self._graph.reader(tenant).events(ids)
            stored |= {node.uid: node for node in found.values()}
        kept = list(stored.values())
        if kept:
            vectors = await self._encoder.encode([document_text(node) for node in kept])
            rows = [
                vector_row(node, document_keywords(node), vector) for node, vector in zip(kept, vectors, strict=True)
            ]
            await self._vectors.upsert(rows)
        late = (
            Rejected(record, conflict(stored.get(node.uid, node)))
            for node, carriers in zip(batch.nodes, batch.records, strict=True)
            if node.uid in conflicts
            for record in carriers
        )
        taken = [node for node in batch.nodes if node.uid not in conflicts]
        return Handled(tuple(ingested(taken)), (*batch.rejected, *late))


@asynccontextmanager
async def open_ingest(settings: Settings) -> AsyncIterator[IngestHandler]:
    """Open the handler of stage `ingest` with its stores and its encoder; raises as they do."""
    encoder = await asyncio.to_thread(make_encoder, settings)
    try:
        async with (
            Graph.open(settings) as graph,
            Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
        ):
            await graph.ensure_schema()
            yield IngestHandler(graph, vectors, encoder)
    finally:
        await encoder.close()


def ingested_ids(tenant: str, session: str, ids: Sequence[str]) -> Iterable[Outgoing]:
    """Give the `memory.ingested` records for events of one session."""
    for start in range(0, len(ids), MAX_IDS):
        value = Ingested(tenant=tenant, session=session, ids=tuple(ids[start : start + MAX_IDS]))
        yield Outgoing(session_key(tenant, session), value.encode())


def ingested(nodes: Iterable[EventNode]) -> Iterable[Outgoing]:
    """Give the `memory.ingested` records of durable events, at least one for each session."""
    sessions: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        sessions.setdefault((node.tenant, node.session), []).append(node.id)
    for (tenant, session), ids in sessions.items():
        yield from ingested_ids(tenant, session, ids)
