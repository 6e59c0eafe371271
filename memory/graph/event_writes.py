"""Events into the graph: nodes, their session's node and the spliced chain, in one transaction.

Round trips of a batch do not depend on its size or on what is stored: what is known, hold the sessions and read their
tails, (only with late events: their places,) nodes, (removed edges,) new edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.events import EventNode
from memory.graph.batches import chunks, halving
from memory.graph.chain import Gap, Link, is_late, plan
from memory.graph.driver import Bolt, Transaction
from memory.graph.model import EventsWritten
from memory.graph.places import find_gaps
from memory.graph.records import event_row, row_bytes
from memory.graph.statements import Statement

Row = dict[str, Any]


@dataclass(slots=True)
class _Session:
    """New events of one session in one batch."""

    uid: str
    rows: list[Row] = field(default_factory=list)
    tail: Link | None = None

    def links(self) -> list[Link]:
        return [Link(row["uid"], row["chain"]) for row in self.rows]

    def lock_row(self) -> Row:
        """What the session's node must take in: rows stand in chain order."""
        first, last = self.rows[0], self.rows[-1]
        return {
            "uid": self.uid,
            "tenant": first["tenant"],
            "session": first["session"],
            "agents": list(dict.fromkeys(row["agent"] for row in self.rows)),
            "events": len(self.rows),
            "first_us": first["occurred_us"],
            "last_us": last["occurred_us"],
            "last_uid": last["uid"],
            "last_chain": last["chain"],
        }


async def write_events(bolt: Bolt, nodes: Sequence[EventNode]) -> EventsWritten:
    """Write events as `GraphWriter.write_events` says."""
    first: dict[str, Row] = {}
    repeated: list[Row] = []
    for node in nodes:
        row = event_row(node)
        if first.setdefault(row["uid"], row) is not row:
            repeated.append(row)
    rows = sorted(first.values(), key=_chain)
    outcome = EventsWritten()
    for chunk in chunks(rows, row_bytes):
        for written in await halving(chunk, lambda part: _write(bolt, part)):
            outcome = outcome.joined(written)
    return outcome.joined(_compare(repeated, {uid: row["digest"] for uid, row in first.items()}))


async def _write(bolt: Bolt, rows: Sequence[Row]) -> EventsWritten:
    async def work(transaction: Transaction) -> EventsWritten:
        return await _write_in(transaction, rows)

    return await bolt.transact(work, what="write of events")


async def _write_in(transaction: Transaction, rows: Sequence[Row]) -> EventsWritten:
    known = dict(await transaction.collected(Statement.EVENTS_KNOWN, uids=[row["uid"] for row in rows]))
    outcome = _compare([row for row in rows if row["uid"] in known], known)
    new = [row for row in rows if row["uid"] not in known] if known else list(rows)
    if not new:
        return outcome
    sessions = await _hold_sessions(transaction, new)
    gaps = await _gaps(transaction, sessions)
    await transaction.run(Statement.EVENTS_CREATE, rows=new)
    removed: list[Row] = []
    added: list[Row] = []
    for session in sessions:
        splice = plan(session.tail, session.links(), gaps)
        removed += [{"a": a, "b": b} for a, b in splice.removed]
        added += [{"a": a, "b": b, "gap": gap_us} for a, b, gap_us in splice.added]
    if removed:
        await transaction.run(Statement.NEXT_REMOVE, rows=removed)
    for chunk in chunks(added):
        await transaction.run(Statement.NEXT_CREATE, rows=chunk)
    return outcome.joined(EventsWritten(created=frozenset(row["uid"] for row in new)))


async def _hold_sessions(transaction: Transaction, new: Sequence[Row]) -> list[_Session]:
    """Make other writers of these sessions wait or fail, then read where the chains end."""
    sessions: dict[str, _Session] = {}
    for row in new:
        uid = f"{row['tenant']}|{row['session']}"
        session = sessions.get(uid)
        if session is None:
            session = sessions[uid] = _Session(uid)
        session.rows.append(row)
    rows = [session.lock_row() for session in sessions.values()]
    for uid, tail_uid, tail_chain in await transaction.collected(Statement.SESSIONS_LOCK, rows=rows):
        if tail_uid:
            sessions[uid].tail = Link(tail_uid, tail_chain)
    return list(sessions.values())


async def _gaps(transaction: Transaction, sessions: Sequence[_Session]) -> dict[str, Gap]:
    """Find where each late event belongs, by uid, before any of the new nodes exists."""
    late: list[tuple[Link, str]] = []
    for session in sessions:
        late += [(link, session.uid) for link in session.links() if is_late(link, session.tail)]
    return await find_gaps(transaction, late, after=Statement.CHAIN_AFTER, before=Statement.CHAIN_BEFORE)


def _compare(rows: Sequence[Row], digests: dict[str, str]) -> EventsWritten:
    """Tell true duplicates from ids that were used twice, by the digest of what is stored."""
    conflicts = frozenset(row["uid"] for row in rows if digests[row["uid"]] != row["digest"])
    return EventsWritten(duplicates=frozenset(row["uid"] for row in rows) - conflicts, conflicts=conflicts)


def _chain(row: Row) -> str:
    chain: str = row["chain"]
    return chain
