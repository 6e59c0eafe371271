"""A small memory on the real stores, written the way the pipeline writes it: nodes, vectors, then links."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from memory.dates import find_dates
from memory.embedding import Encoder, make_encoder
from memory.events import EventKind, EventNode, Trust, content_digest, derive_id, to_us, validate_event
from memory.graph import Graph
from memory.names import normal_form, provisional_names
from memory.relations import CausalEdge, CausalKind, EntityType, Mention, Origin, Provenance, SimilarEdge
from memory.settings import Settings
from memory.text import document_keywords, document_text
from memory.vectors import VectorRow, Vectors
from query_api.engine import Retriever

BY_RULE = Provenance(Origin.RULE, 0.9, created_us=1, rule="test")


@dataclass(frozen=True)
class Said:
    """One event to be: `ref` is its producer's id."""

    ref: str
    at: str
    speaker: str
    text: str
    session: str = "s1"
    kind: EventKind = EventKind.MESSAGE
    trust: Trust = Trust.NORMAL
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class SmallMemory:
    """The opened stores of one tenant."""

    tenant: str
    graph: Graph
    vectors: Vectors
    encoder: Encoder
    retriever: Retriever

    def id(self, ref: str) -> str:
        return derive_id(self.tenant, None, ref)

    async def write(self, *said: Said) -> list[EventNode]:
        """Write events as the fast path does, with provisional names for the vector store's filter."""
        nodes = [self._node(one) for one in said]
        await self.graph.writer().write_events(nodes)
        encoded = await self.encoder.encode([document_text(node) for node in nodes])
        await self.vectors.upsert(
            [
                VectorRow(
                    tenant=self.tenant,
                    id=node.id,
                    session=node.session,
                    agent=node.agent,
                    speaker=node.speaker,
                    occurred_us=node.occurred_us,
                    keywords=document_keywords(node),
                    entities=tuple(sorted({*node.mentions, normal_form(node.speaker)})),
                    vector=vector,
                )
                for node, vector in zip(nodes, encoded, strict=True)
            ]
        )
        return nodes

    async def cause(self, *pairs: tuple[str, str]) -> None:
        """Link (cause, effect) refs."""
        edges = [CausalEdge(self.id(a), self.id(b), CausalKind.LEADS_TO, BY_RULE) for a, b in pairs]
        assert len(await self.graph.writer().write_causes(self.tenant, edges)) == len(edges)

    async def name(self, nodes: Sequence[EventNode]) -> None:
        """Link events to the entities they mention and to their speakers."""
        mentions = [
            Mention(node.id, key, key, EntityType.OTHER, BY_RULE, spoken=key == normal_form(node.speaker))
            for node in nodes
            for key in {*node.mentions, normal_form(node.speaker)}
        ]
        await self.graph.writer().write_mentions(self.tenant, mentions)

    async def alike(self, *pairs: tuple[str, str]) -> None:
        """Link refs as similar."""
        ids = [sorted((self.id(a), self.id(b))) for a, b in pairs]
        await self.graph.writer().write_similar(self.tenant, [SimilarEdge(a, b, 0.8) for a, b in ids])

    def _node(self, said: Said) -> EventNode:
        event = validate_event(
            {
                "id": said.ref,
                "tenant": self.tenant,
                "agent": said.speaker,
                "session": said.session,
                "kind": said.kind,
                "text": said.text,
                "speaker": said.speaker,
                "occurred_at": said.at,
            }
        )
        at = datetime.fromisoformat(said.at)
        offset = at.utcoffset()
        assert offset is not None
        node = EventNode(
            tenant=self.tenant,
            id=self.id(said.ref),
            ref=said.ref,
            source="",
            session=said.session,
            agent=said.speaker,
            kind=said.kind,
            text=said.text,
            speaker=said.speaker,
            occurred_us=to_us(event.occurred_at),
            offset_minutes=round(offset.total_seconds() / 60),
            sequence=0,
            ingested_us=to_us(event.occurred_at),
            arrival=0,
            digest=content_digest(event),
            dates=tuple(find_dates(said.text, at)),
            trust=said.trust,
            derived_from=tuple(self.id(ref) for ref in said.derived_from),
        )
        return replace(node, mentions=tuple(dict.fromkeys(span.key for span in provisional_names(said.text))))


@asynccontextmanager
async def small_memory(settings: Settings, tenant: str) -> AsyncIterator[SmallMemory]:
    encoder = make_encoder(settings)
    async with Graph.open(settings) as graph:
        await graph.ensure_schema()
        async with Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors:
            yield SmallMemory(tenant, graph, vectors, encoder, Retriever(graph, vectors, encoder))
    await encoder.close()
