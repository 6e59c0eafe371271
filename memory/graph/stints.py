"""The order of an agent's sessions: session-to-session temporal edges (arXiv 2601.03236, section 3.2).

An agent's part in a session is a `Stint`; its place is the agent's first event there, by time and then by the session's
name. The stints of one agent are one chain of NEXT_SESSION edges, spliced as a session's events are: whatever the order
of arrival, the chain is the sorted one. Only a first event costs anything: an agent that is new in a session, or an
event that comes before all others of its agent there.

Whoever changes a stint holds its session first, then the agent: both have one writer at a time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.chain import Gap, Link, Splice, is_late, plan, time_key
from memory.graph.driver import Transaction
from memory.graph.places import find_gaps
from memory.graph.stint_statements import StintStatement


@dataclass(frozen=True, slots=True)
class Stint:
    """An agent's part in a session. `first_us`: event time of its first event there, in UTC microseconds."""

    tenant: str
    agent: str
    session: str
    first_us: int

    @property
    def uid(self) -> str:
        """Key of the node."""
        return stint_uid(self.tenant, self.agent, self.session)

    @property
    def agent_uid(self) -> str:
        """Key of the agent's node."""
        return uid(self.tenant, self.agent)

    @property
    def place(self) -> str:
        """Place among the agent's sessions; written as a chain key is, so that `Link` reads its time."""
        return f"{self.agent_uid}|{time_key(self.first_us)}0|{self.session}"

    @property
    def link(self) -> Link:
        """The stint as a link of its agent's chain."""
        return Link(self.uid, self.place)

    def row(self) -> dict[str, Any]:
        """Give what is stored."""
        return {
            "uid": self.uid,
            "tenant": self.tenant,
            "agent": self.agent,
            "session": self.session,
            "first_us": self.first_us,
            "place": self.place,
        }


def stint_uid(tenant: str, agent: str, session: str) -> str:
    """Give the key of an agent's part in a session."""
    return f"{tenant}|{agent}|{session}"


async def news(transaction: Transaction, stints: Sequence[Stint]) -> list[Stint]:
    """Give those that have no place yet, or a later one."""
    known = await _known(transaction, [stint.uid for stint in stints])
    return [stint for stint in stints if not known.get(stint.uid) or stint.place < known[stint.uid]]


async def advance(transaction: Transaction, stints: Sequence[Stint]) -> list[tuple[str, str, int]]:
    """Take in what may be first events: an earlier one moves its stint, a later one changes nothing.

    Their sessions must be held. Gives the links that this made, as (uid, uid of the next one, gap in microseconds).
    """
    known = await _known(transaction, [stint.uid for stint in stints])
    moved = [stint for stint in stints if not known.get(stint.uid) or stint.place < known[stint.uid]]
    return await _relocate(transaction, moved, [], known)


async def settle(
    transaction: Transaction, tenant: str, session: str, agents: Iterable[str], wanted: Sequence[Stint]
) -> None:
    """Let a session have exactly the `wanted` stints, and close each chain; `agents` may have others there."""
    gone, moved, known = await _differing(transaction, tenant, session, agents, wanted)
    await _relocate(transaction, moved, gone, known)


async def leave(transaction: Transaction, tenant: str, session_uids: Sequence[str]) -> None:
    """Take sessions, whose nodes are held and about to go, out of the chains of their agents."""
    gone: list[Stint] = []
    for part in chunks(session_uids):
        for session, agents in await transaction.collected(StintStatement.SESSIONS_AGENTS, uids=part):
            gone += [Stint(tenant, agent, session, 0) for agent in agents]
    known = await _known(transaction, [stint.uid for stint in gone])
    await _relocate(transaction, [], [stint for stint in gone if stint.uid in known], known)


async def put(
    transaction: Transaction, tenant: str, session: str, agents: Iterable[str], wanted: Sequence[Stint]
) -> set[str]:
    """As `settle`, but leaves the chains to the caller; gives the agents whose stints changed."""
    gone, moved, _ = await _differing(transaction, tenant, session, agents, wanted)
    for part in chunks([stint.uid for stint in gone]):
        await transaction.run(StintStatement.STINTS_DROP, uids=part)
    for rows in chunks([stint.row() for stint in moved]):
        await transaction.run(StintStatement.STINTS_PUT, rows=rows)
    return {stint.agent for stint in (*gone, *moved)}


async def _differing(
    transaction: Transaction, tenant: str, session: str, agents: Iterable[str], wanted: Sequence[Stint]
) -> tuple[list[Stint], list[Stint], dict[str, str]]:
    """Give the stints that must go and those that must come or move, and the stored places by uid."""
    right = {stint.uid: stint for stint in wanted}
    maybe = {one.uid: one for one in (Stint(tenant, agent, session, 0) for agent in agents)}
    known = await _known(transaction, sorted({*right, *maybe}))
    gone = [maybe[key] for key in sorted(known.keys() - right.keys())]
    moved = [stint for key, stint in sorted(right.items()) if known.get(key) != stint.place]
    return gone, moved, known


async def _known(transaction: Transaction, uids: Sequence[str]) -> dict[str, str]:
    known: dict[str, str] = {}
    for part in chunks(uids):
        known |= dict(await transaction.collected(StintStatement.STINTS_KNOWN, uids=part))
    return known


async def _relocate(
    transaction: Transaction, moved: Sequence[Stint], gone: Sequence[Stint], known: Mapping[str, str]
) -> list[tuple[str, str, int]]:
    """Take `gone` out of their chains and put each of `moved` into its place; gives the links that this made."""
    if not moved and not gone:
        return []
    closed = Splice()
    tails = await _hold_agents(transaction, [*moved, *gone])
    out = sorted({stint.uid: stint for stint in (*moved, *gone) if stint.uid in known}.values(), key=_uid)
    if out:
        closed = await _take_out(transaction, out, tails)
        for part in chunks([stint.uid for stint in gone]):
            await transaction.run(StintStatement.STINTS_DROP, uids=part)
    late = [(stint.link, stint.agent_uid) for stint in moved if is_late(stint.link, tails[stint.agent_uid])]
    gaps = await find_gaps(
        transaction, late, after=StintStatement.STINTS_AFTER_KEY, before=StintStatement.STINTS_BEFORE
    )
    for rows in chunks([stint.row() for stint in moved]):
        await transaction.run(StintStatement.STINTS_PUT, rows=rows)
    spliced = _spliced(moved, tails, gaps)
    await _link(transaction, spliced)
    await _leave(transaction, tails)
    cut = set(spliced.removed)
    return [*(link for link in closed.added if link[:2] not in cut), *spliced.added]


async def _hold_agents(transaction: Transaction, stints: Sequence[Stint]) -> dict[str, Link | None]:
    """Make other writers of these agents' chains wait or fail; gives where each chain ends, by the agent's uid."""
    agents = {stint.agent_uid: stint for stint in stints}
    tails: dict[str, Link | None] = dict.fromkeys(sorted(agents))
    for rows in chunks([{"uid": key, "tenant": agents[key].tenant, "agent": agents[key].agent} for key in tails]):
        for key, last_uid, last_place in await transaction.collected(StintStatement.AGENTS_HOLD, rows=rows):
            if last_uid:
                tails[key] = Link(last_uid, last_place)
    return tails


async def _take_out(transaction: Transaction, stints: Sequence[Stint], tails: dict[str, Link | None]) -> Splice:
    """Close the chains over these stints, which keep no place, and let the tails be of those that stay."""
    uids = [stint.uid for stint in stints]
    before: dict[str, Link] = {}
    after: dict[str, Link] = {}
    for part in chunks(uids):
        for key, other, place in await transaction.collected(StintStatement.STINTS_BEFORE, uids=part):
            before[key] = Link(other, place)
        for key, other, place in await transaction.collected(StintStatement.STINTS_AFTER, uids=part):
            after[key] = Link(other, place)
    closed = closing(uids, before, after)
    await _link(transaction, closed)
    for part in chunks(uids):
        await transaction.run(StintStatement.STINTS_UNPLACE, uids=part)
    leaving = set(uids)
    for key, tail in tails.items():
        last = tail
        while last is not None and last.uid in leaving:
            last = before.get(last.uid)
        tails[key] = last
    return closed


def closing(uids: Sequence[str], before: Mapping[str, Link], after: Mapping[str, Link]) -> Splice:
    """Plan how chains close over links that leave them, given the neighbours of each; runs of them close at once."""
    splice = Splice()
    leaving = set(uids)
    edges = {(before[key].uid, key) for key in uids if key in before} | {
        (key, after[key].uid) for key in uids if key in after
    }
    splice.removed += sorted(edges)
    for key in uids:
        start = before.get(key)
        if start is None or start.uid in leaving:
            continue
        end = after.get(key)
        while end is not None and end.uid in leaving:
            end = after.get(end.uid)
        if end is not None:
            splice.added.append((start.uid, end.uid, end.occurred_us - start.occurred_us))
    return splice


def _spliced(moved: Sequence[Stint], tails: dict[str, Link | None], gaps: Mapping[str, Gap]) -> Splice:
    """Plan where stints go in, and let the tails be what the chains then end with."""
    splice = Splice()
    by_agent: dict[str, list[Link]] = {}
    for stint in moved:
        by_agent.setdefault(stint.agent_uid, []).append(stint.link)
    for agent, links in by_agent.items():
        tail = tails[agent]
        one = plan(tail, links, gaps)
        splice.removed += one.removed
        splice.added += one.added
        tails[agent] = max([*links, *([tail] if tail else [])], key=_key)
    return splice


async def _link(transaction: Transaction, splice: Splice) -> None:
    for rows in chunks([{"a": a, "b": b} for a, b in splice.removed]):
        await transaction.run(StintStatement.NEXT_SESSION_REMOVE, rows=rows)
    for new in chunks([{"a": a, "b": b, "gap": gap_us} for a, b, gap_us in splice.added]):
        await transaction.run(StintStatement.NEXT_SESSION_CREATE, rows=new)


async def _leave(transaction: Transaction, tails: Mapping[str, Link | None]) -> None:
    """Let the agents say where their chains end; an agent without sessions goes."""
    ends = [{"uid": key, "last_uid": tail.uid, "last_place": tail.key} for key, tail in tails.items() if tail]
    for rows in chunks(ends):
        await transaction.run(StintStatement.AGENTS_SET, rows=rows)
    for left in chunks([key for key, tail in tails.items() if tail is None]):
        await transaction.run(StintStatement.AGENTS_DROP, uids=left)


def _uid(stint: Stint) -> str:
    return stint.uid


def _key(link: Link) -> str:
    return link.key
