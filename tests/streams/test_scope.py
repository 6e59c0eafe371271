"""Cutting work short: also when it has failed in a task group before, as work that is tried again has."""

import asyncio

import pytest

from memory.errors import StoreUnavailable
from memory.records import Handled, Record
from streams.attempts import Attempts
from streams.retry import Backoff
from streams.scope import Cut, Scope, apart
from streams.state import DeliveryState, Need
from streams.topics import Stage


async def one_store_away() -> None:
    """Fail as a write to two stores does of which one is away: while its group is being left."""

    async def away() -> None:
        await asyncio.sleep(0.01)
        raise StoreUnavailable("away")

    async with asyncio.TaskGroup() as group:
        group.create_task(away())
        group.create_task(asyncio.sleep(5))


class Away:
    """A handler whose stores never come."""

    async def handle(self, records: object) -> Handled:
        await one_store_away()
        return Handled()


async def test_a_batch_that_is_cut_while_it_waits_for_a_store_ends_as_cut_and_not_as_cancelled() -> None:
    attempts = Attempts(Away(), Backoff(DeliveryState(Stage.INGEST), Need.STORES), timeout_s=5)
    scope = Scope()

    async def work() -> None:
        async with scope.open():
            await attempts.work_off([Record("t", 0, 0, 0, None, b"x")])

    task = asyncio.get_running_loop().create_task(work())
    await asyncio.sleep(0.3)
    scope.cut()
    with pytest.raises(Cut):
        await asyncio.wait_for(task, 5)


async def test_a_cut_is_kept_when_the_work_fails_at_the_same_moment() -> None:
    scope = Scope()

    async def stubborn() -> None:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            raise BaseExceptionGroup("while it was cut", [StoreUnavailable("away")]) from None

    async def work() -> None:
        async with scope.open():
            await apart(stubborn())

    task = asyncio.get_running_loop().create_task(work())
    await asyncio.sleep(0.05)
    scope.cut()
    with pytest.raises(Cut):
        await asyncio.wait_for(task, 5)


async def test_work_apart_gives_its_result_and_its_errors() -> None:
    async def right() -> int:
        return 3

    assert await apart(right()) == 3
    with pytest.raises(BaseExceptionGroup):
        await apart(one_store_away())
