"""Stores events as the fast path does, and runs stages over them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from consolidators import open_handler
from memory.embedding import Encoder, make_encoder
from memory.events import AgentEvent, EventKind, EventNode, derive_id
from memory.graph import Graph, GraphReader
from memory.records import Changed, Handled, Ingested, Record
from memory.settings import Settings
from memory.text import document_keywords, document_text
from memory.vectors import Vectors
from streams.prepare import event_node, vector_row

START = datetime(2026, 3, 3, 8, 0, tzinfo=UTC)


def agent_event(tenant: str, ident: str, text: str, **given: Any) -> AgentEvent:
    """Make an event; minutes after `START` by `at`."""
    fields: dict[str, Any] = {
        "id": ident,
        "tenant": tenant,
        "agent": "ana",
        "session": "s1",
        "kind": EventKind.MESSAGE,
        "text": text,
        "occurred_at": START + timedelta(minutes=given.pop("at", 0)),
    }
    return AgentEvent(**(fields | given))


def node(ident: str, text: str, **given: Any) -> EventNode:
    """Make a stored event of a tenant of its own, for tests without a store."""
    event = agent_event("t", ident, text, **given)
    return event_node(event, derive_id("t", event.source, ident), arrival=0, ingested_us=0)


@dataclass
class Memory:
    """One tenant's memory, open."""

    settings: Settings
    tenant: str
    graph: Graph
    vectors: Vectors
    encoder: Encoder

    @property
    def reader(self) -> GraphReader:
        """The graph as the tenant sees it."""
        return self.graph.reader(self.tenant)

    def event(self, ident: str, text: str, **given: Any) -> AgentEvent:
        """Make an event of the tenant."""
        return agent_event(self.tenant, ident, text, **given)

    def id(self, ident: str) -> str:
        """Give the stored id of the event that its producer calls `ident`."""
        return derive_id(self.tenant, None, ident)

    async def store(self, events: Sequence[AgentEvent]) -> list[Record]:
        """Write events durably; gives the records of `memory.ingested`, one a session."""
        nodes = [
            event_node(event, derive_id(event.tenant, event.source, event.id or ""), arrival=at, ingested_us=0)
            for at, event in enumerate(events)
        ]
        vectors = await self.encoder.encode([document_text(each) for each in nodes])
        await self.graph.writer().write_events(nodes)
        await self.vectors.upsert(
            [vector_row(each, document_keywords(each), vector) for each, vector in zip(nodes, vectors, strict=True)]
        )
        sessions: dict[str, list[str]] = {}
        for each in nodes:
            sessions.setdefault(each.session, []).append(each.id)
        return [
            ingested(Ingested(tenant=self.tenant, session=session, ids=tuple(ids)), at)
            for at, (session, ids) in enumerate(sessions.items())
        ]

    async def run(self, stage: str, records: Sequence[Record], settings: Settings | None = None) -> Handled:
        """Run a stage over records of `memory.ingested`, as a worker does that publishes all that it gives out."""
        async with open_handler(stage, settings or self.settings) as handler:
            handled = await handler.handle(records)
            if handled.published is not None:
                await handled.published()
            return handled


def ingested(value: Ingested, offset: int = 0) -> Record:
    """Give a record of `memory.ingested`."""
    return Record("memory.ingested", 0, offset, 0, None, value.encode())


def edges_of(handled: Handled) -> list[dict[str, Any]]:
    """Give all edges that a stage published."""
    return [edge for outgoing in handled.outgoing for edge in Changed.model_validate_json(outgoing.value).edges]


@asynccontextmanager
async def open_memory(settings: Settings, tenant: str) -> AsyncIterator[Memory]:
    """Open the stores under the settings."""
    encoder = make_encoder(settings)
    async with (
        Graph.open(settings) as graph,
        Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
    ):
        await graph.ensure_schema()
        yield Memory(settings, tenant, graph, vectors, encoder)
