"""One transaction: what is retried, what is not, and what a slow one leaves behind."""

import asyncio

import pytest

from memory.errors import StoreConflict, StoreRefused, StoreUnavailable
from memory.graph import driver
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.queries import Query
from memory.graph.statements import Statement
from memory.settings import Settings

pytestmark = pytest.mark.stack


class _Wrong(Cypher):
    STATEMENT = "MATCH (n RETURN n"


async def test_a_slow_transaction_is_given_up_and_the_next_one_works(stack: Settings) -> None:
    async with Bolt.open(stack.model_copy(update={"graph_timeout_s": 0.5})) as bolt:

        async def slow(transaction: Transaction) -> None:
            await transaction.value(Query.PING)
            await asyncio.sleep(5)

        with pytest.raises(StoreUnavailable):
            await bolt.transact(slow, what="test")
        assert bolt.retries == driver.ATTEMPTS_UNAVAILABLE - 1
        assert "ArcadeDB" in await bolt.ping() or "Memgraph" in await bolt.ping()


async def test_two_transactions_on_one_node_are_both_committed(stack: Settings, tenant: str) -> None:
    async with Bolt.open(stack) as bolt:

        async def bump(transaction: Transaction) -> None:
            await transaction.collected(Statement.CAUSES_LOCK, uid=tenant)

        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(bolt.transact(bump, what="test"))

        async def loose(transaction: Transaction) -> list[object]:
            await transaction.run(Statement.CAUSES_LOOSE, uid=tenant, loose=1, slack_us=5)
            return await transaction.collected(Statement.CAUSES_LOCK, uid=tenant)

        assert await bolt.transact(loose, what="test") == [[1, 5]]


async def test_a_race_lost_too_often_is_a_conflict_and_a_bad_statement_is_not_retried(
    stack: Settings, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "ATTEMPTS", 3)
    async with Bolt.open(stack) as bolt:

        async def twice(transaction: Transaction) -> None:
            await transaction.run(Statement.EVENTS_CREATE, rows=[{"uid": f"{tenant}|1"}] * 2)

        with pytest.raises(StoreConflict):
            await bolt.transact(twice, what="test")
        assert bolt.retries == 2

        async def wrong(transaction: Transaction) -> None:
            await transaction.run(_Wrong.STATEMENT)

        with pytest.raises(StoreRefused):
            await bolt.transact(wrong, what="test")
        assert bolt.retries == 2
