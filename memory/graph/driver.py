"""The Bolt connection: one driver a process, explicit transactions, client-side timeouts, our own retries.

Autocommit is left to DDL and to single reads, which it saves two of three round trips: on the local server a write by
it is not atomic.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncTransaction
from neo4j.exceptions import ConfigurationError, DriverError, Neo4jError

from memory.connections import bolt_options
from memory.errors import MagmaError, Poison, Retryable, StoreConflict, StoreRefused, StoreUnavailable
from memory.graph.classify import Verdict, classify
from memory.graph.cypher import Cypher
from memory.graph.queries import Query
from memory.settings import Settings

T = TypeVar("T")

log = logging.getLogger(__name__)

#: Attempts of one transaction before the caller is told to wait; a caller that must not lose work repeats for ever.
ATTEMPTS = 12
#: Attempts while the server does not answer: the caller's own, slower, retry takes over.
ATTEMPTS_UNAVAILABLE = 3
#: What the driver raises: the server's errors, its own, the network's, and those of packing a value.
DRIVER_ERRORS = (Neo4jError, DriverError, TimeoutError, OSError, UnicodeError, OverflowError)
_BACKOFF_S = 0.02
_BACKOFF_MAX_S = 2.0
_CONNECT_S = 5.0
_MESSAGE_CHARS = 300


class TooLarge(Retryable):
    """Raised when a transaction took longer than the server allows: the same work must come in smaller pieces."""

    code = "transaction_too_large"


class Transaction:
    """One running transaction. Runs statements of the registry only; every answer is read to its end."""

    def __init__(self, transaction: AsyncTransaction) -> None:
        self._transaction = transaction

    async def collected(self, statement: Cypher, **parameters: Any) -> list[Any]:
        """Run a statement that answers with one collected list."""
        value = await self.value(statement, **parameters)
        return value if isinstance(value, list) else []

    async def value(self, statement: Cypher, **parameters: Any) -> Any:
        """Run a statement that answers with one record; give its first column, or nothing when there is no record."""
        result = await self._transaction.run(statement.value, parameters)
        record = await result.single()
        return None if record is None else record[0]

    async def rows(self, statement: Cypher, **parameters: Any) -> list[list[Any]]:
        """Run a statement that answers with a few records."""
        result = await self._transaction.run(statement.value, parameters)
        return [list(record.values()) async for record in result]

    async def run(self, statement: Cypher, **parameters: Any) -> None:
        """Run a statement for its effect."""
        result = await self._transaction.run(statement.value, parameters)
        await result.consume()


Work = Callable[[Transaction], Awaitable[T]]


class Bolt:
    """Transactions on one graph server, made on the running loop."""

    def __init__(self, driver: AsyncDriver, *, address: str, database: str, timeout_s: float) -> None:
        self._driver = driver
        self._address = address
        self._database = database
        self._timeout_s = timeout_s
        self.retries = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[Self]:
        """Connect and prove it by a query; raises `StoreUnavailable` or `StoreRefused`."""
        try:
            driver = AsyncGraphDatabase.driver(
                settings.graph_uri,
                **bolt_options(settings),
                connection_timeout=_CONNECT_S,
                connection_acquisition_timeout=max(10.0, settings.graph_timeout_s / 2),
                keep_alive=True,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
            )
        except (ConfigurationError, ValueError) as error:
            raise StoreRefused(
                f"{settings.graph_uri} is not a Bolt address", hint="set graph_uri to bolt://host:port"
            ) from error
        async with driver:
            bolt = cls(
                driver,
                address=settings.graph_uri,
                database=settings.graph_database,
                timeout_s=settings.graph_timeout_s,
            )
            await bolt.ping()
            yield bolt

    async def ping(self) -> str:
        """Ask the server for anything; give its agent string."""
        await self.transact(_ping, what="ping")
        try:
            async with asyncio.timeout(self._timeout_s):
                info = await self._driver.get_server_info()
        except DRIVER_ERRORS as error:
            raise self._error(error, classify(error), "ping") from error
        return str(info.agent)

    async def transact(self, work: Work[T], *, what: str) -> T:
        """Run `work` in one explicit transaction and commit it.

        The whole transaction runs again after a lost race, with full jitter, so `work` must be idempotent and keep its
        state inside. Raises `StoreConflict`, `StoreUnavailable`, `TooLarge` (all `Retryable`), `StoreRefused`, or
        `Poison` for values that the server will never take.
        """
        return await self._repeated(lambda: self._attempt(work), what)

    async def ask(self, statement: Cypher, **parameters: Any) -> list[list[Any]]:
        """Run one statement that only reads, in one round trip; give its records. Repeats and raises as `transact`."""
        return await self._repeated(lambda: self._asked(statement, parameters), f"query {statement.name}")

    async def _repeated(self, attempted: Callable[[], Awaitable[T]], what: str) -> T:
        for attempt in range(ATTEMPTS):
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await attempted()
            except MagmaError:
                raise
            except DRIVER_ERRORS as error:
                verdict = classify(error)
                last = ATTEMPTS if verdict is Verdict.RETRY else ATTEMPTS_UNAVAILABLE
                if verdict not in (Verdict.RETRY, Verdict.UNAVAILABLE) or attempt + 1 >= last:
                    raise self._error(error, verdict, what) from error
            self.retries += 1
            await asyncio.sleep(random.uniform(0, min(_BACKOFF_MAX_S, _BACKOFF_S * 2**attempt)))
        raise StoreConflict(f"{what} at {self._address} lost against concurrent writers {ATTEMPTS} times")

    async def define(self, statement: str) -> None:
        """Run one DDL statement, outside of a transaction as Memgraph demands."""
        try:
            async with asyncio.timeout(self._timeout_s), self._driver.session(database=self._database) as session:
                result = await session.run(statement)
                await result.consume()
        except DRIVER_ERRORS as error:
            raise self._error(error, classify(error), "schema") from error

    async def _attempt(self, work: Work[T]) -> T:
        async with self._driver.session(database=self._database) as session:
            transaction = await session.begin_transaction()
            async with transaction:
                outcome = await work(Transaction(transaction))
                await transaction.commit()
                return outcome

    async def _asked(self, statement: Cypher, parameters: dict[str, Any]) -> list[list[Any]]:
        async with self._driver.session(database=self._database) as session:
            result = await session.run(statement.value, parameters)
            return [list(record) async for record in result]

    def _error(self, error: BaseException, verdict: Verdict, what: str) -> MagmaError:
        said = f"{error.message} ({error.code})" if isinstance(error, Neo4jError) else str(error)
        said = (said or type(error).__name__)[:_MESSAGE_CHARS]
        where = f"graph {what} at {self._address}"
        if verdict is Verdict.RETRY:
            return StoreConflict(f"{where} lost against concurrent writers too often: {said}")
        if verdict is Verdict.HALVE:
            return TooLarge(f"{where} took longer than the server allows: {said}")
        if verdict is Verdict.UNAVAILABLE:
            return StoreUnavailable(f"{where} got no answer: {said}", hint="is the graph server up? see `magma status`")
        if verdict is Verdict.POISON:
            return Poison(f"{where}: the values are not acceptable: {said}")
        return StoreRefused(f"{where} was refused: {said}", hint="check graph_user, graph_password and graph_database")


async def _ping(transaction: Transaction) -> None:
    await transaction.value(Query.PING)
