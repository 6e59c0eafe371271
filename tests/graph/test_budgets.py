"""A tenant's tokens of the day, counted by all processes together."""

import asyncio
from datetime import UTC, date, datetime

import pytest

from memory.graph import Graph, next_day

pytestmark = pytest.mark.stack

DAY = date(2026, 3, 3)


async def test_a_day_passes_its_bound_by_one_call_at_most_whoever_asks(graph: Graph, tenant: str) -> None:
    budgets = graph.budgets()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(budgets.charge(tenant, DAY, 40, 100)) for _ in range(8)]
    charged = [task.result() for task in tasks if task.result() < 100]
    assert sorted(charged) == [0, 40, 80]
    assert await budgets.spent(tenant, DAY) == 120


async def test_a_charge_is_corrected_and_the_next_one_fits(graph: Graph, tenant: str) -> None:
    budgets = graph.budgets()
    assert await budgets.charge(tenant, DAY, 100, 100) == 0
    assert await budgets.charge(tenant, DAY, 100, 100) == 100
    assert await budgets.correct(tenant, DAY, -70) == 30
    assert await budgets.charge(tenant, DAY, 10, 100) == 30


async def test_tenants_and_days_are_apart_and_those_of_long_ago_go(graph: Graph, tenant: str) -> None:
    budgets, long_ago = graph.budgets(), date(2025, 12, 1)
    await budgets.charge(tenant, long_ago, 7, 100)
    await budgets.charge(f"{tenant}-2", long_ago, 5, 100)
    assert await budgets.charge(tenant, DAY, 1, 100) == 0
    assert await budgets.spent(tenant, long_ago) == 0
    assert await budgets.spent(f"{tenant}-2", long_ago) == 5


def test_the_next_day_begins_at_midnight_utc() -> None:
    assert next_day(date(2026, 12, 31)) == datetime(2027, 1, 1, tzinfo=UTC)
