"""Writing the vector store: upserts in bounded calls, and what erasure needs."""

import asyncio
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from memory.vectors.connection import Connection
from memory.vectors.expression import Field, Where, expression
from memory.vectors.rows import MAX_ENTITIES, VectorRow, check_row

#: Bounds on one upsert: Milvus takes 64 MB a call, and is at its best well below.
ROWS_A_CALL = 500
BYTES_A_CALL = 8_000_000
#: The local server searches rows that are not flushed one by one; a Milvus server flushes by itself.
LOCAL_FLUSH_ROWS = 1_000
_IDS_A_CALL = 1_000


class Upserter:
    """Writes rows of any tenant: the tenant is part of each row, as it is of each event."""

    def __init__(self, connection: Connection, dim: int) -> None:
        self._connection = connection
        self._dim = dim
        self._unflushed = 0

    async def upsert(self, rows: Sequence[VectorRow]) -> None:
        """Write rows; of two rows with one id the last stays, and running it again changes nothing.

        Raises `Poison` (see `check_row`) before anything is written, `StoreUnavailable` and `StoreRefused`. After an
        error some rows may be written.
        """
        for row in rows:
            check_row(row, self._dim)
        connection = self._connection
        async with write_lock(connection):
            for chunk in _chunks(list({row.id: row for row in rows}.values())):
                await self._write(chunk)
                self._unflushed += len(chunk)
            if connection.local and self._unflushed >= LOCAL_FLUSH_ROWS:
                await self._flush()

    async def close(self) -> None:
        """Leave nothing for searches to look through row by row."""
        if self._connection.local and self._unflushed:
            async with write_lock(self._connection):
                await self._flush()

    async def _write(self, rows: list[VectorRow]) -> None:
        connection = self._connection
        documents = [_document(row) for row in rows]
        await connection.once(
            "write",
            lambda client: client.upsert(connection.collection, documents, timeout=connection.timeout_s),
        )

    async def _flush(self) -> None:
        connection = self._connection
        await connection.once("flush", lambda client: client.flush(connection.collection, timeout=connection.timeout_s))
        self._unflushed = 0


class VectorWriter:
    """Erases events of one tenant. All raise `StoreUnavailable` and `StoreRefused`; erasing twice changes nothing."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self.tenant = tenant

    async def delete(self, ids: Sequence[str]) -> None:
        """Erase these events, as far as they are this tenant's."""
        for start in range(0, len(ids), _IDS_A_CALL):
            await self._delete(Where(ids=tuple(ids[start : start + _IDS_A_CALL])))

    async def delete_session(self, session: str) -> None:
        """Erase all events of a session."""
        await self._delete(Where(session=session))

    async def delete_agent(self, agent: str) -> None:
        """Erase all events of an agent."""
        await self._delete(Where(agent=agent))

    async def delete_tenant(self) -> None:
        """Erase all events of the tenant."""
        await self._delete(Where())

    async def _delete(self, where: Where) -> None:
        connection = self._connection
        async with write_lock(connection):
            await connection.once(
                "delete",
                lambda client: client.delete(
                    connection.collection, filter=expression(self.tenant, where), timeout=connection.timeout_s
                ),
            )


_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Lock]] = WeakKeyDictionary()


def write_lock(connection: Connection) -> asyncio.Lock:
    """Give the lock that all writers of a collection in this process share.

    Two writes at one time damage the log of the local server; its wrapper serialises too, this keeps them from queueing
    there. On a Milvus server it costs nothing, since a process has one fast path.
    """
    locks = _locks.setdefault(asyncio.get_running_loop(), {})
    return locks.setdefault((connection.uri, connection.collection), asyncio.Lock())


def _chunks(rows: list[VectorRow]) -> Iterator[list[VectorRow]]:
    chunk: list[VectorRow] = []
    size = 0
    for row in rows:
        row_bytes = len(row.keywords) * 2 + row.vector.nbytes + 1_000
        if chunk and (len(chunk) == ROWS_A_CALL or size + row_bytes > BYTES_A_CALL):
            yield chunk
            chunk, size = [], 0
        chunk.append(row)
        size += row_bytes
    if chunk:
        yield chunk


def _document(row: VectorRow) -> dict[str, object]:
    return {
        Field.ID.value: row.id,
        Field.TENANT.value: row.tenant,
        Field.SESSION.value: row.session,
        Field.AGENT.value: row.agent,
        Field.SPEAKER.value: row.speaker,
        Field.OCCURRED_US.value: row.occurred_us,
        Field.KEYWORDS.value: row.keywords,
        Field.ENTITIES.value: list(row.entities[:MAX_ENTITIES]),
        Field.VECTOR.value: row.vector,
    }
