"""Makes the chain of an agent's sessions again from the places of its stints, whatever the chain is now."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.chain import Link, session_range
from memory.graph.driver import Transaction
from memory.graph.stint_statements import StintStatement

_PAGE = 1_000


async def relink(transaction: Transaction, tenant: str, agent: str) -> None:
    """Link an agent's stints in their order and let the agent say which is the last; without stints it goes.

    Only edges that are wrong change. Reads all stints of the agent.
    """
    key = uid(tenant, agent)
    row = {"uid": key, "tenant": tenant, "agent": agent}
    await transaction.collected(StintStatement.AGENTS_HOLD, rows=[row])
    links = await _links(transaction, key)
    if not links:
        await transaction.run(StintStatement.AGENTS_DROP, uids=[key])
        return
    wanted = {(a.uid, b.uid): b.occurred_us - a.occurred_us for a, b in pairwise(links)}
    found: list[tuple[str, str, int | None]] = []
    for part in chunks([link.uid for link in links]):
        found += map(tuple, await transaction.collected(StintStatement.LINKS_FROM, uids=part))
    times = Counter((a, b) for a, b, _ in found)
    right = {(a, b) for a, b, gap in found if times[a, b] == 1 and gap is not None and wanted.get((a, b)) == gap}
    removed = [{"a": a, "b": b} for a, b in sorted(times.keys() - right)]
    added = [{"a": a, "b": b, "gap": gap} for (a, b), gap in wanted.items() if (a, b) not in right]
    for rows in chunks(removed):
        await transaction.run(StintStatement.NEXT_SESSION_REMOVE, rows=rows)
    for new in chunks(added):
        await transaction.run(StintStatement.NEXT_SESSION_CREATE, rows=new)
    last = {"uid": key, "last_uid": links[-1].uid, "last_place": links[-1].key}
    await transaction.run(StintStatement.AGENTS_SET, rows=[last])


async def _links(transaction: Transaction, agent_uid: str) -> Sequence[Link]:
    """Give an agent's stints in the order of their places."""
    low, high = session_range(agent_uid)
    links: list[Link] = []
    while (top := await transaction.value(StintStatement.STINTS_PAGE_END, low=low, high=high, limit=_PAGE)) is not None:
        rows: list[Any] = await transaction.collected(StintStatement.STINTS_PAGE, low=low, top=top)
        links += [Link(row[0], row[3]) for row in rows]
        low = top
    return sorted(links, key=_key)


def _key(link: Link) -> str:
    return link.key
