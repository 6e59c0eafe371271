"""Marks of finished consolidation on events: a stage's mark is written with its edges or not at all."""

from collections.abc import Sequence

from memory.events import uid
from memory.graph.driver import Transaction
from memory.graph.model import Done
from memory.graph.statements import Statement


async def mark_in(transaction: Transaction, tenant: str, done: Done | None) -> None:
    """Mark events as finished by a stage, inside the transaction that writes the stage's edges."""
    if done is not None and done.ids:
        await transaction.run(
            Statement.EVENTS_MARK, uids=uids_of(tenant, done.ids), mark={done.stage.property_name: True}
        )


def uids_of(tenant: str, ids: Sequence[str]) -> list[str]:
    """Give the distinct uids of a tenant's ids, sorted: writers touch nodes in one order."""
    return sorted({uid(tenant, ident) for ident in ids})
