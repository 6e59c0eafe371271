"""The memory of the tests that erase."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from consolidators import open_handler
from memory.embedding import make_encoder
from memory.graph import Graph
from memory.settings import Settings
from memory.vectors import Vectors
from streams.admin import ensure_topics
from streams.erasures import open_erase
from streams.ingest import open_ingest
from streams.publisher import Publisher
from streams.topics import CONSOLIDATION
from tests.erasure.remembered import Memory


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[Memory]:
    await ensure_topics(settings)
    encoder = make_encoder(settings)
    async with (
        open_ingest(settings) as ingest,
        open_erase(settings) as eraser,
        Publisher.open(settings) as publisher,
        Graph.open(settings) as graph,
        Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
    ):
        yield Memory(settings, tenant, ingest, eraser, publisher, graph, vectors)


@pytest.fixture
async def deep(memory: Memory) -> AsyncIterator[Memory]:
    """A memory that is consolidated too."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_handler(stage.value, memory.settings)) for stage in CONSOLIDATION
        ]
        memory.consolidators = tuple(opened)
        yield memory
