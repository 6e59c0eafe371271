"""What tenants have used of a language model on a UTC day: shared by all processes, kept over their restarts.

It stands in the graph because every consolidation worker has one open and nothing else is shared by them: one node for
each tenant and day, changed in the same managed transactions as everything else. It costs two small transactions a
model call, milliseconds beside the call itself, and only when a budget is set.
"""

from datetime import UTC, date, datetime, timedelta

from memory.events import uid
from memory.graph.driver import Bolt, Transaction
from memory.graph.model_statements import ModelStatement

#: Days of which a tenant's use is kept.
KEPT_DAYS = 40


class Budgets:
    """Counts tokens of tenants by UTC day. Every method raises what `Bolt.transact` raises."""

    def __init__(self, bolt: Bolt) -> None:
        self._bolt = bolt

    async def charge(self, tenant: str, day: date, tokens: int, most: int) -> int:
        """Add tokens to a tenant's day unless `most` or more are counted already; give what was counted before.

        So the call was charged exactly when the answer is below `most`: a day passes its bound by one call at most,
        however many processes ask. After a lost answer to a commit the charge may be counted twice, never not at all.
        """

        async def work(transaction: Transaction) -> int:
            key = uid(tenant, day.isoformat())
            before = await transaction.value(
                ModelStatement.BUDGET_CHARGE, uid=key, tenant=tenant, day=day.isoformat(), tokens=tokens, most=most
            )
            if not before:  # the first of its day: those of long ago go
                oldest = day - timedelta(days=KEPT_DAYS)
                await transaction.run(
                    ModelStatement.BUDGETS_DROP, low=uid(tenant, ""), high=uid(tenant, oldest.isoformat())
                )
            return int(before)

        return await self._bolt.transact(work, what="charge of a budget")

    async def correct(self, tenant: str, day: date, change: int) -> int:
        """Add what a charge was too low by (below 0: too high); give what is counted now."""

        async def work(transaction: Transaction) -> int:
            key = uid(tenant, day.isoformat())
            return int(await transaction.value(ModelStatement.BUDGET_CORRECT, uid=key, change=change) or 0)

        return await self._bolt.transact(work, what="correction of a budget")

    async def spent(self, tenant: str, day: date) -> int:
        """Give the tokens that are counted for a tenant's day."""

        async def work(transaction: Transaction) -> int:
            return int(await transaction.value(ModelStatement.BUDGET_SPENT, uid=uid(tenant, day.isoformat())) or 0)

        return await self._bolt.transact(work, what="look at a budget")


def next_day(day: date) -> datetime:
    """Give the moment at which the UTC day after `day` begins."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
