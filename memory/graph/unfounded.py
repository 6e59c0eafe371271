"""Causes that an erased event told of: an edge between events that stay goes when what it rests on is gone.

Its rationale quotes the event that told of it, and without that event nothing says that the edge holds.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.cause_statements import CauseStatement
from memory.graph.driver import Transaction
from memory.graph.erases import Erase
from memory.graph.statements import Statement


async def drop_unfounded_in(transaction: Transaction, tenant: str, low: str, top: str) -> set[str]:
    """Remove the causes of events between two chain keys that rest on an event that is not stored.

    Gives the uids of the ends of what was removed: their degrees must be counted again.
    """
    told = [row for row in await transaction.collected(Erase.CAUSES_TOLD, low=low, top=top) if _tellers(tenant, row)]
    if not told:
        return set()
    await transaction.collected(Statement.CAUSES_LOCK, uid=f"{tenant}|causes")
    tellers = sorted({teller for row in told for teller in _tellers(tenant, row)})
    known: set[str] = set()
    for part in chunks(tellers):
        known |= {row[0] for row in await transaction.collected(Statement.EVENTS_KNOWN, uids=part)}
    gone = [row for row in told if not known.issuperset(_tellers(tenant, row))]
    rows = [{"a": a, "b": b, "kind": kind, "origin": origin} for a, b, kind, origin, _ in gone]
    for changed in chunks(rows):
        await transaction.run(CauseStatement.CAUSES_WITHDRAW, rows=changed)
    return {end for row in gone for end in row[:2]}


def _tellers(tenant: str, row: Sequence[Any]) -> set[str]:
    """Give the events, by uid, that an edge rests on beside its own ends."""
    cause, effect, _, _, evidence = row
    found: Iterable[str] = evidence or ()
    return {uid(tenant, ident) for ident in found} - {cause, effect}
