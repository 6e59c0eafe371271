"""A collection of its own for each test, on the real local server."""

from collections.abc import AsyncIterator

import pytest

from memory.settings import Settings
from memory.vectors import Vectors
from tests.vectors.build import DIM, MODEL


@pytest.fixture
async def vectors(settings: Settings) -> AsyncIterator[Vectors]:
    """Open an empty collection."""
    async with Vectors.open(settings, model=MODEL, dim=DIM) as opened:
        yield opened
