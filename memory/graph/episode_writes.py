"""Episodes into the graph: nodes and PART_OF. An event is part of one episode at most; the last write decides."""

from collections.abc import Sequence
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.marks import mark_in, uids_of
from memory.graph.model import Done
from memory.graph.statements import Statement
from memory.relations import Episode


async def write_episodes(bolt: Bolt, tenant: str, episodes: Sequence[Episode], done: Done | None) -> list[Episode]:
    """Write episodes as `GraphWriter.write_episodes` says."""
    last = {episode.id: episode for episode in episodes}
    changed: list[Episode] = []
    parts = list(chunks(list(last.values()), lambda episode: len(episode.events), most=1_000)) or [[]]
    for number, part in enumerate(parts, start=1):
        marked = done if number == len(parts) else None

        async def work(
            transaction: Transaction, part: Sequence[Episode] = part, marked: Done | None = marked
        ) -> list[Episode]:
            written = await _write_in(transaction, tenant, part) if part else []
            await mark_in(transaction, tenant, marked)
            return written

        changed += await bolt.transact(work, what="write of episodes")
    return changed


async def _write_in(transaction: Transaction, tenant: str, episodes: Sequence[Episode]) -> list[Episode]:
    sessions = uids_of(tenant, [episode.session for episode in episodes])
    await transaction.collected(Statement.SESSIONS_TOUCH, uids=sessions)
    known = {
        item[0]: item[1:]
        for item in await transaction.collected(
            Statement.EPISODES_KNOWN, uids=[uid(tenant, episode.id) for episode in episodes]
        )
    }
    changed = [episode for episode in episodes if not _same(tenant, episode, known.get(uid(tenant, episode.id)))]
    if not changed:
        return []
    wanted = {uid(tenant, event): uid(tenant, episode.id) for episode in changed for event in episode.events}
    current = {
        (event, episode) for event, episode in await transaction.collected(Statement.EPISODES_OF, uids=sorted(wanted))
    }
    for episode in changed:
        key = uid(tenant, episode.id)
        current |= {(event, key) for event in (known[key][-1] if key in known else ())}
    target = set(wanted.items())
    removed, added = sorted(current - target), sorted(target - current)
    await transaction.run(Statement.EPISODES_MERGE, rows=[_row(tenant, episode) for episode in changed])
    if removed:
        await transaction.run(Statement.PART_OF_REMOVE, rows=[{"a": a, "b": b} for a, b in removed])
    if added:
        await transaction.run(Statement.PART_OF_CREATE, rows=[{"a": a, "b": b} for a, b in added])
    left = {episode for _, episode in removed} - set(wanted.values())
    if left:
        await transaction.run(Statement.EPISODES_DROP_EMPTY, uids=sorted(left))
    return changed


def _row(tenant: str, episode: Episode) -> dict[str, Any]:
    return {
        "uid": uid(tenant, episode.id),
        "tenant": tenant,
        "id": episode.id,
        "session": episode.session,
        "title": episode.title,
        "reason": episode.reason,
        "first_us": episode.first_us,
        "last_us": episode.last_us,
    }


def _same(tenant: str, episode: Episode, stored: Sequence[Any] | None) -> bool:
    if stored is None:
        return False
    title, reason, first_us, last_us, members = stored
    return (title, reason, first_us, last_us) == (
        episode.title,
        episode.reason,
        episode.first_us,
        episode.last_us,
    ) and set(members) == {uid(tenant, event) for event in episode.events}
