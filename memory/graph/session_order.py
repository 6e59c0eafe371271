"""Puts stored events' sessions into the order of their agents' sessions: a part of consolidation, in transactions of
its own.

Not in the fast path: writers of one agent's sessions exclude each other here, and must not repeat a batch of events for
it (docs/decisions/0002-order-of-sessions.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.statements import Statement
from memory.graph.stint_statements import StintStatement
from memory.graph.stints import Stint, advance, news


@dataclass(frozen=True, slots=True)
class SessionLink:
    """An agent's session and the one that it begins next. `gap_us`: between the first events, in microseconds."""

    agent: str
    source: str
    target: str
    gap_us: int


async def place_sessions(bolt: Bolt, tenant: str, ids: Sequence[str]) -> list[SessionLink]:
    """Order sessions as `GraphWriter.place_sessions` says."""
    made: list[SessionLink] = []
    for part in chunks(sorted({uid(tenant, ident) for ident in ids})):

        async def work(transaction: Transaction, part: Sequence[str] = part) -> list[SessionLink]:
            new = await news(transaction, await _firsts(transaction, tenant, part))
            if not new:
                return []
            sessions = sorted({uid(tenant, stint.session) for stint in new})
            await transaction.collected(Statement.SESSIONS_TOUCH, uids=sessions)
            # again, now that nobody else writes them: an event that was erased meanwhile has no place
            return _links(await advance(transaction, await _firsts(transaction, tenant, part)))

        made += await bolt.transact(work, what="order of an agent's sessions")
    return made


async def links_beside(transaction: Transaction, tenant: str, event_uids: Sequence[str]) -> list[SessionLink]:
    """Give the stored links that lead to the sessions of these events and away from them, for their agents."""
    stints = [stint.uid for stint in await _firsts(transaction, tenant, event_uids)]
    found = set(map(tuple, await transaction.collected(StintStatement.LINKS_FROM, uids=stints)))
    found |= set(map(tuple, await transaction.collected(StintStatement.LINKS_TO, uids=stints)))
    return _links(sorted(found))


async def _firsts(transaction: Transaction, tenant: str, event_uids: Sequence[str]) -> list[Stint]:
    """Give where each agent's first of these events stands, in each session, in a stable order."""
    rows = await transaction.collected(StintStatement.FIRSTS, uids=event_uids)
    return [Stint(tenant, agent, session, first_us) for agent, session, first_us in sorted(rows)]


def _links(edges: Sequence[tuple[str, str, int]]) -> list[SessionLink]:
    links = []
    for source, target, gap_us in edges:
        _, agent, session = source.split("|", 2)
        links.append(SessionLink(agent, session, target.split("|", 2)[2], gap_us))
    return links
