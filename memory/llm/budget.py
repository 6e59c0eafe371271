"""The daily token budget of a tenant: charged before a call with what it may cost, corrected after it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from memory.errors import BudgetSpent
from memory.graph import Budgets, next_day
from memory.llm import accounting


@dataclass(slots=True)
class Bill:
    """What a call costs: `tokens` starts with what it may cost and is set to what it did."""

    tokens: int


class DailyBudget:
    """Bounds the tokens of each tenant and UTC day, over all processes that share the graph."""

    def __init__(self, budgets: Budgets, most: int) -> None:
        self._budgets = budgets
        self._most = most

    @asynccontextmanager
    async def bill(self, tenant: str, tokens: int) -> AsyncIterator[Bill]:
        """Hold while a call runs that may cost so many tokens; raises `BudgetSpent` when the day's are used up.

        A process that dies in a call leaves the whole charge: a day is never used more than it is counted.
        """
        day = datetime.now(UTC).date()
        before = await self._budgets.charge(tenant, day, tokens, self._most)
        if before >= self._most:
            resumes_at = next_day(day)
            accounting.budget_seen(tenant, 0, resumes_at)
            raise BudgetSpent(
                f"tenant {tenant} has used its {self._most} tokens of {day.isoformat()}; "
                f"its events wait until {resumes_at.isoformat()}",
                tenant=tenant,
                resumes_at=resumes_at,
                hint="raise llm_daily_tokens to go on sooner",
            )
        bill = Bill(tokens)
        try:
            yield bill
        finally:
            counted = before + tokens
            if bill.tokens != tokens:
                counted = await self._budgets.correct(tenant, day, bill.tokens - tokens)
            accounting.budget_seen(tenant, self._most - counted, None)
