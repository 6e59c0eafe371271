"""A memory on the real local stack that consolidation stages are run over."""

from collections.abc import AsyncIterator

import pytest

from memory.settings import Settings
from tests.consolidators.memory import Memory, open_memory


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[Memory]:
    """Open graph, vectors and encoder for one tenant that no other test uses."""
    async with open_memory(settings, tenant) as opened:
        yield opened
