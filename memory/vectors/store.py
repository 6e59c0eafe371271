"""The vector store, opened: the place from which readers and writers come."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from memory.settings import Settings
from memory.vectors.connection import Connection
from memory.vectors.reader import VectorReader
from memory.vectors.rows import VectorRow
from memory.vectors.writer import Upserter, VectorWriter


class Vectors:
    """A collection of one embedding model, for the event loop it was opened on."""

    def __init__(self, connection: Connection, dim: int) -> None:
        self._connection = connection
        self._upserter = Upserter(connection, dim)
        self.dim = dim

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, model: str, dim: int) -> AsyncIterator[Self]:
        """Create the collection when it is missing, check that it holds vectors of this model, load it, and close it.

        Raises `EmbeddingMismatch`, `StoreUnavailable`, `StoreRefused`.
        """
        async with Connection.open(settings, model=model, dim=dim) as connection:
            vectors = cls(connection, dim)
            yield vectors
            await vectors._upserter.close()

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Write rows, of any tenants; see `Upserter.upsert`."""
        await self._upserter.upsert(rows)

    async def ping(self) -> str:
        """Give the server's version, after it has answered a read of the collection. Raises `StoreUnavailable`."""
        await self.reader("").vectors(["-"])
        return self._connection.version

    def reader(self, tenant: str) -> VectorReader:
        """Give the handle that sees this tenant's events and no others."""
        return VectorReader(self._connection, tenant)

    def writer(self, tenant: str) -> VectorWriter:
        """Give the handle that erases this tenant's events and no others."""
        return VectorWriter(self._connection, tenant)
