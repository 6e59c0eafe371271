"""The graph of the local stack, with its schema."""

from collections.abc import AsyncIterator

import pytest

from memory.graph import Graph
from memory.settings import Settings


@pytest.fixture
async def graph(settings: Settings) -> AsyncIterator[Graph]:
    """Open the graph."""
    async with Graph.open(settings) as opened:
        await opened.ensure_schema()
        yield opened
