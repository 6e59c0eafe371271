"""One collection of one Milvus, for one event loop: opening, calls with their bounds, errors in our words."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import grpc
from pymilvus import AsyncMilvusClient, MilvusClient
from pymilvus.client import entity_helper
from pymilvus.exceptions import MilvusException

from memory.connections import milvus_options
from memory.errors import StoreUnavailable
from memory.settings import Settings
from memory.vectors.failures import is_not_loaded, translate
from memory.vectors.schema import ensure_collection, is_local_server

T = TypeVar("T")

# It checks the length of a string field by looking at each character of each row: 1 ms for an event of 1 KB.
# `memory.vectors.rows.check_row` has looked at every row that is written.
entity_helper.CHECK_STR_ARRAY = False

#: One opening at a time in a process: the local server has no lock of its own around creating and opening.
_opening = threading.Lock()

#: What pymilvus lets out; anything else is a bug of ours and goes on as it is.
STORE_ERRORS = (MilvusException, grpc.RpcError, TimeoutError)
#: How much longer than its own timeout a call is waited for, in seconds, before it is given up from outside.
_GRACE_S = 5.0
#: Pause before the one retry of a read whose connection broke, in seconds.
_RECONNECT_S = 0.1


class Connection:
    """An async client for data, made on the running loop, and a synchronous one, used in threads, for what only it can
    do: creating, loading, iterating.
    """

    def __init__(self, settings: Settings, blocking: MilvusClient, version: str) -> None:
        self.uri = settings.milvus_uri
        self.collection = settings.milvus_collection
        self.timeout_s = settings.milvus_timeout_s
        self.version = version
        self.local = is_local_server(version)
        self.blocking = blocking
        self.client = AsyncMilvusClient(**milvus_options(settings), timeout=settings.milvus_timeout_s)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, *, model: str, dim: int) -> AsyncIterator[Self]:
        """Connect, bring the collection into being and load it.

        Raises `StoreUnavailable`, `StoreRefused`, `EmbeddingMismatch`.
        """
        # pymilvus logs each failed call with a traceback; we raise, and whoever handles it decides what is logged
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        blocking, version = await asyncio.to_thread(_prepare, settings, model, dim)
        try:
            connection = cls(settings, blocking, version)
            try:
                yield connection
            finally:
                await connection.client.close()
        finally:
            await asyncio.to_thread(blocking.close)

    async def read(self, doing: str, call: Callable[[AsyncMilvusClient], Awaitable[T]]) -> T:
        """Make a call that changes nothing; tried once more when the connection broke, as after a server's restart."""
        try:
            return await self.once(doing, call)
        except StoreUnavailable:
            await asyncio.sleep(_RECONNECT_S)
            return await self.once(doing, call)

    async def once(self, doing: str, call: Callable[[AsyncMilvusClient], Awaitable[T]]) -> T:
        """Make one call; loads the collection first when the server has forgotten to."""
        try:
            try:
                return await self._bounded(call(self.client))
            except MilvusException as error:
                if not is_not_loaded(error):
                    raise
                await asyncio.to_thread(self.blocking.load_collection, self.collection, timeout=self.timeout_s)
                return await self._bounded(call(self.client))
        except STORE_ERRORS as error:
            raise translate(error, doing=doing, uri=self.uri, local=self.local) from error

    async def in_thread(self, doing: str, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Make a call of the synchronous client in a thread."""
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except STORE_ERRORS as error:
            raise translate(error, doing=doing, uri=self.uri, local=self.local) from error

    async def _bounded(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(self.timeout_s + _GRACE_S):
            return await call


def _prepare(settings: Settings, model: str, dim: int) -> tuple[MilvusClient, str]:
    local = False
    try:
        client = MilvusClient(**milvus_options(settings), timeout=settings.milvus_timeout_s)
        try:
            version = str(client.get_server_version(timeout=settings.milvus_timeout_s))
            local = is_local_server(version)
            with _opening:
                ensure_collection(
                    client,
                    settings.milvus_collection,
                    model=model,
                    dim=dim,
                    local=local,
                    timeout_s=settings.milvus_timeout_s,
                )
        except BaseException:  # whatever it is, the channel must not stay open
            client.close()
            raise
    except STORE_ERRORS as error:
        raise translate(error, doing="connection", uri=settings.milvus_uri, local=local) from error
    return client, version
