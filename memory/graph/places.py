"""Where a late link belongs in a stored chain, without reading the chain: looked up by its key, proven by its edges.

The first node after a key comes from the index. The order of an index scan is promised by neither server, so the place
is proven by the chain: the stored predecessor of the found successor must lie before the late link. Where it does not,
the index gave a later node than the first, and the chain is walked back to the place.
"""

from collections.abc import Sequence

from memory.errors import StoreConflict
from memory.graph.chain import Gap, Link, session_range
from memory.graph.cypher import Cypher
from memory.graph.driver import Transaction
from memory.graph.statements import PROBES

#: An interval that holds no chain key: fills a probe's unused places.
NOWHERE = ("~", "")


async def find_gaps(
    transaction: Transaction, late: Sequence[tuple[Link, str]], *, after: Cypher, before: Cypher
) -> dict[str, Gap]:
    """Give by uid where each late link belongs. `late`: links, each with the uid of its chain's owner.

    `after` looks for the first node behind a key (as `Statement.CHAIN_AFTER`), `before` for a node's predecessor (as
    `Statement.CHAIN_BEFORE`). Must run before any of the late nodes has its key. Raises `StoreConflict` when the end of
    a chain moved, which a writer that holds the owner never sees.
    """
    if not late:
        return {}
    found: dict[str, Link] = {}
    for start in range(0, len(late), PROBES):
        part = late[start : start + PROBES]
        parameters: dict[str, str] = {}
        for i in range(PROBES):
            inside = i < len(part)
            parameters[f"low{i}"] = part[i][0].key if inside else NOWHERE[0]
            parameters[f"high{i}"] = session_range(part[i][1])[1] if inside else NOWHERE[1]
        for i, uid, key in await transaction.rows(after, **parameters):
            found[part[i][0].uid] = Link(uid, key)
    if len(found) < len(late):
        raise StoreConflict("the end of a chain moved while its session was held")
    return await _proven(transaction, {link.uid: link for link, _ in late}, found, before)


async def _proven(
    transaction: Transaction, late: dict[str, Link], after: dict[str, Link], predecessor: Cypher
) -> dict[str, Gap]:
    gaps: dict[str, Gap] = {}
    while after:
        before: dict[str, Link] = {}
        for uid, previous_uid, previous_key in await transaction.collected(
            predecessor, uids=list({link.uid for link in after.values()})
        ):
            before[uid] = Link(previous_uid, previous_key)
        onward: dict[str, Link] = {}
        for uid, successor in after.items():
            previous = before.get(successor.uid)
            if previous is not None and previous.key > late[uid].key:
                onward[uid] = previous
            else:
                gaps[uid] = Gap(previous, successor)
        after = onward
    return gaps
