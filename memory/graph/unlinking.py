"""Taking events out of their chains: what stays is linked over the gap in the transaction that takes them.

So the chain of a session is whole and sorted at every commit (the temporal edges of arXiv 2601.03236, section 3.2),
whoever writes to it meanwhile and wherever an erasure breaks off.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from memory.graph.batches import chunks
from memory.graph.chain import Link, Splice
from memory.graph.driver import Transaction
from memory.graph.erases import Erase
from memory.graph.statements import Statement


@dataclass(frozen=True, slots=True)
class Run:
    """Events that go and follow each other, as uids in order, with what stands before and behind them, if anything."""

    uids: tuple[str, ...]
    before: Link | None
    after: Link | None


def runs_of(gone: Collection[str], before: Mapping[str, Link], after: Mapping[str, Link]) -> list[Run]:
    """Put events that go, of any sessions, into runs. `before`, `after`: each one's neighbours in its chain, by uid."""
    going = frozenset(gone)
    runs = []
    for first in sorted(going):
        earlier = before.get(first)
        if earlier is not None and earlier.uid in going:
            continue
        uids = [first]
        while (later := after.get(uids[-1])) is not None and later.uid in going and len(uids) < len(going):
            uids.append(later.uid)
        runs.append(Run(tuple(uids), earlier, later))
    return runs


def splice_of(runs: Collection[Run]) -> Splice:
    """Give the edges that close the chains over the runs; those of the events themselves go with them."""
    splice = Splice()
    for run in runs:
        if run.before is not None and run.after is not None:
            splice.added.append((run.before.uid, run.after.uid, run.after.occurred_us - run.before.occurred_us))
    return splice


@dataclass(slots=True)
class Unlinking:
    """What must be set when the events are gone: edges, and sessions' ends and counts; sessions without events go."""

    splice: Splice
    totals: list[dict[str, object]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    async def settle(self, transaction: Transaction) -> None:
        """Set it; the events must be gone, and the sessions still held."""
        rows = [{"a": a, "b": b, "gap": gap_us} for a, b, gap_us in self.splice.added]
        for part in chunks(rows):
            await transaction.run(Statement.NEXT_CREATE, rows=part)
        for changed in chunks(self.totals):
            await transaction.run(Erase.SESSIONS_PUT, rows=changed)
        for dropped in chunks(self.empty):
            await transaction.run(Erase.SESSIONS_DROP, uids=dropped)


async def hold(transaction: Transaction, sessions: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Make other writers of these sessions (uids) wait or fail; gives how many events each has, and its last one."""
    found = await transaction.collected(Erase.SESSIONS_HOLD, uids=sorted(set(sessions)))
    return {session: (int(events), str(last_uid)) for session, events, last_uid in found}


async def unlinking(
    transaction: Transaction, held: Mapping[str, tuple[int, str]], session_of: Mapping[str, str]
) -> Unlinking:
    """Give what closes the chains of held sessions over events that will go. `session_of`: session's uid by event's."""
    uids = sorted(session_of)
    before = {
        here: Link(there, key) for here, there, key in await transaction.collected(Statement.CHAIN_BEFORE, uids=uids)
    }
    after = {here: Link(there, key) for here, there, key in await transaction.collected(Erase.CHAIN_BEHIND, uids=uids)}
    runs = runs_of(uids, before, after)
    found = Unlinking(splice_of(runs))
    by_session: dict[str, list[Run]] = {}
    for run in runs:
        by_session.setdefault(session_of[run.uids[0]], []).append(run)
    for session, own in by_session.items():
        if session not in held:
            continue
        events, last_uid = held[session]
        left = events - sum(len(run.uids) for run in own)
        if left <= 0 and all(run.before is None and run.after is None for run in own):
            found.empty.append(session)
        else:
            found.totals.append({"uid": session, "events": max(left, 0)} | _ends(own, last_uid))
    return found


def _ends(runs: Iterable[Run], last_uid: str) -> dict[str, object]:
    """Give the session's new first and last event where a run was its head or its tail."""
    ends: dict[str, object] = {}
    for run in runs:
        if run.before is None and run.after is not None:
            ends["first_us"] = run.after.occurred_us
        if run.after is None and run.before is not None and last_uid in run.uids:
            ends |= {"last_uid": run.before.uid, "last_chain": run.before.key, "last_us": run.before.occurred_us}
    return ends
