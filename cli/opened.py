"""The stores and the retriever as a command needs them, opened on its loop and closed after it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from memory.embedding import Encoder, make_encoder
from memory.errors import BadSetting, NotFound
from memory.graph import Graph
from memory.settings import Settings
from memory.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Stores:
    """Both stores and the encoder that belongs to the collection."""

    graph: Graph
    vectors: Vectors
    encoder: Encoder


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[Stores]:
    """Open graph and vectors; raises `StoreUnavailable`, `StoreRefused` or `EmbeddingMismatch`."""
    encoder = make_encoder(settings)
    async with Graph.open(settings) as graph:
        await graph.ensure_schema()
        async with Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors:
            yield Stores(graph, vectors, encoder)


async def the_tenant(graph: Graph, given: str | None) -> str:
    """Give the tenant that a command means: the named one, or the only one that there is."""
    if given is not None:
        return given
    tenants = await graph.tenants()
    if not tenants:
        raise NotFound("the memory is empty", hint="`magma ingest FILE --wait` or `magma demo --keep` fills it")
    if len(tenants) > 1:
        raise BadSetting(f"there are several tenants: {', '.join(tenants[:20])}", hint="say which with --tenant")
    return tenants[0]
