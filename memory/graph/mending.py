"""Mends one tenant's graph where a proof found it broken (`memory.check`, `memory.repair`).

Each mend is one transaction that looks again before it changes anything, so it is idempotent and what was found on an
older look does no harm. It takes the locks that the writers take. All raise what `GraphWriter` raises.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from memory.events import uid
from memory.graph import stint_mends, stints
from memory.graph.batches import chunks
from memory.graph.chain import key_of_place, session_range
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_statements import EntityStatement
from memory.graph.fact_statements import FactStatement
from memory.graph.mends import Mend
from memory.graph.queries import Query
from memory.graph.statements import Statement
from memory.graph.stints import Stint
from memory.relations import Origin

_PAGE = 1_000


class Mender:
    """Mends of one tenant. Ids go in and come out without the tenant."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self.tenant = tenant

    async def drop_later_edges(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Of edges between the same two nodes, of one type and kind, keep the one made first."""
        for part in chunks([self._pair(one) for one in sorted(set(pairs))]):

            async def work(transaction: Transaction, part: Sequence[Any] = part) -> None:
                found = Counter(map(tuple, await transaction.collected(Mend.EDGES_BETWEEN, rows=part)))
                rows = [
                    {"a": a, "type": name, "b": b, "kind": kind or ""}
                    for (a, name, b, kind), times in found.items()
                    if times > 1
                ]
                if rows:
                    await transaction.run(Mend.EDGES_KEEP_FIRST, rows=rows, born=secrets.randbits(62))

            await self._bolt.transact(work, what="mend of doubled edges")

    async def put_in_place(self, ids: Iterable[str]) -> set[str]:
        """Give each event the chain key that its values give; gives the sessions whose chains they touch."""
        sessions: set[str] = set()
        for part in chunks(sorted({uid(self.tenant, ident) for ident in ids})):

            async def work(transaction: Transaction, part: Sequence[str] = part) -> set[str]:
                touched: set[str] = set()
                rows = []
                for key, session, chain, us, sequence in await transaction.collected(Mend.EVENTS_PLACES, uids=part):
                    right = key_of_place(self.tenant, session, us, sequence, self._ident(key))
                    touched.add(session)
                    if chain != right:
                        rows.append({"uid": key, "chain": right})
                        touched |= {chain.split("|", 2)[1]} if chain and chain.count("|") >= 2 else set()
                if rows:
                    await transaction.run(Mend.EVENTS_PLACE, rows=rows)
                return touched

            sessions |= await self._bolt.transact(work, what="mend of chain keys")
        return sessions

    async def rebuild_session(self, session: str) -> None:
        """Make a session's chain and its node's totals again from its events; a session without events goes.

        Only edges that are wrong change, and its place among the sessions of its agents, whose chains must be sound.
        Events' chain keys must be right (`put_in_place`).
        """

        async def work(transaction: Transaction) -> None:
            agents, wanted = await self._rebuild(transaction, session)
            await stints.settle(transaction, self.tenant, session, agents, wanted)

        await self._bolt.transact(work, what="mend of a session's chain")

    async def rebuild_apart(self, session: str, agents: Iterable[str]) -> set[str]:
        """As `rebuild_session`, but leaves the chains of its agents to `rebuild_agent`; gives the agents concerned.

        `agents`: who may be said to have a part in it, besides those that it says itself.
        """

        async def work(transaction: Transaction) -> set[str]:
            known, wanted = await self._rebuild(transaction, session)
            return await stints.put(transaction, self.tenant, session, {*known, *agents}, wanted)

        return await self._bolt.transact(work, what="mend of a session's chain")

    async def rebuild_agent(self, agent: str) -> None:
        """Make the chain of an agent's sessions again from their places; an agent without sessions goes."""

        async def work(transaction: Transaction) -> None:
            await stint_mends.relink(transaction, self.tenant, agent)

        await self._bolt.transact(work, what="mend of an agent's sessions")

    async def _rebuild(self, transaction: Transaction, session: str) -> tuple[list[str], list[Stint]]:
        """Rebuild a session; gives the agents that it had, and the parts that agents have in it."""
        key = uid(self.tenant, session)
        known = await transaction.collected(Mend.SESSION_HOLD, uid=key, tenant=self.tenant, session=session)
        events = await _events_of(transaction, key)
        await _relink(transaction, events)
        if not events:
            await transaction.run(Mend.SESSION_DROP, uid=key)
            return known, []
        first_us: dict[str, int] = {}
        for event in events:
            first_us.setdefault(event[3], event[2])
        totals = {
            "events": len(events),
            "agents": [name for name in dict.fromkeys([*known, *first_us]) if name in first_us],
            "first_us": events[0][2],
            "last_us": events[-1][2],
            "last_chain": events[-1][1],
            "last_uid": events[-1][0],
        }
        await transaction.run(Mend.SESSION_SET, uid=key, totals=totals)
        return known, [Stint(self.tenant, agent, session, at_us) for agent, at_us in first_us.items()]

    async def break_cycle(self, cycle: Sequence[str]) -> tuple[str, str] | None:
        """Remove the least certain link of a causal cycle, as (cause, effect); None when producers made every link.

        A link of which the producer says any part is never removed. None, too, when the cycle is not there any more.
        """
        pairs = [self._pair(pair) for pair in pairwise([*cycle, cycle[0]])]

        async def work(transaction: Transaction) -> tuple[str, str] | None:
            await transaction.collected(Statement.CAUSES_LOCK, uid=f"{self.tenant}|causes")
            certainty: dict[tuple[str, str], float] = {}
            for a, b, origin, confidence in await transaction.collected(Mend.CAUSES_BETWEEN, rows=pairs):
                says = 2.0 if origin == Origin.PRODUCER else confidence
                certainty[a, b] = max(says, certainty.get((a, b), 0.0))
            if len(certainty) < len(pairs):
                return None
            (a, b), least = min(certainty.items(), key=lambda item: (item[1], item[0]))
            if least > 1.0:
                return None
            await transaction.run(Mend.CAUSES_REMOVE, a=a, b=b)
            await transaction.run(Statement.CAUSES_DEGREES, rows=[await _degrees(transaction, end) for end in (a, b)])
            return self._ident(a), self._ident(b)

        return await self._bolt.transact(work, what="mend of a causal cycle")

    async def drop_entities(self, keys: Iterable[str]) -> None:
        """Remove entities that no event is linked to."""
        await self._in_turns(EntityStatement.ENTITIES_DROP, keys, "mend of orphan entities")

    async def count_entities(self, keys: Iterable[str]) -> None:
        """Let entities say how many edges they have, and of which time."""
        await self._in_turns(Mend.ENTITIES_COUNT, keys, "mend of entity counts")

    async def drop_supersessions(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Remove what says that an event supersedes another, given as (newer, older)."""
        for part in chunks([self._pair(one) for one in sorted(set(pairs))]):

            async def work(transaction: Transaction, part: Sequence[Any] = part) -> None:
                await transaction.run(FactStatement.SUPERSEDES_DROP, rows=part)

            await self._bolt.transact(work, what="mend of supersessions")

    async def drop_episodes(self, ids: Iterable[str]) -> None:
        """Remove episodes without events."""
        await self._in_turns(Statement.EPISODES_DROP_EMPTY, ids, "mend of orphan episodes")

    async def keep_one_episode(self, event: str) -> None:
        """Leave an event in one episode: of its own session, that spans its time, the one that begins last."""
        key = uid(self.tenant, event)

        async def work(transaction: Transaction) -> None:
            found = await transaction.collected(Mend.EPISODES_FOR, uid=key)
            sessions = sorted({uid(self.tenant, row[5]) for row in found})
            await transaction.collected(Statement.SESSIONS_TOUCH, uids=sessions)
            best = sorted({_fitness(row) for row in found}, reverse=True)
            others = [episode for *_, episode in best[1:]]
            if others:
                await transaction.run(Statement.PART_OF_REMOVE, rows=[{"a": key, "b": other} for other in others])
                await transaction.run(Statement.EPISODES_DROP_EMPTY, uids=others)

        await self._bolt.transact(work, what="mend of overlapping episodes")

    async def _in_turns(self, statement: Cypher, idents: Iterable[str], what: str) -> None:
        for part in chunks(sorted({uid(self.tenant, ident) for ident in idents})):

            async def work(transaction: Transaction, part: Sequence[str] = part) -> None:
                await transaction.run(statement, uids=part)

            await self._bolt.transact(work, what=what)

    def _pair(self, pair: tuple[str, str]) -> dict[str, str]:
        return {"a": uid(self.tenant, pair[0]), "b": uid(self.tenant, pair[1])}

    def _ident(self, stored_uid: str) -> str:
        return stored_uid[len(self.tenant) + 1 :]


async def _events_of(transaction: Transaction, session_uid: str) -> list[Any]:
    """Give [uid, chain key, event time in microseconds, agent] of a session's events, in chain order."""
    low, high = session_range(session_uid)
    events: list[Any] = []
    while (top := await transaction.value(Query.CHAIN_PAGE_END, low=low, high=high, limit=_PAGE)) is not None:
        events += await transaction.collected(Mend.CHAIN_AGENTS, low=low, top=top)
        low = top
    return sorted(events, key=lambda event: str(event[1]))


async def _relink(transaction: Transaction, events: Sequence[Any]) -> None:
    """Make the NEXT edges that leave these events the ones that their order gives, and touch no other."""
    wanted = {(a[0], b[0]): b[2] - a[2] for a, b in pairwise(events)}
    found: list[tuple[str, str, int | None]] = []
    for part in chunks([event[0] for event in events]):
        found += map(tuple, await transaction.collected(Mend.NEXT_FROM, uids=part))
    times = Counter((a, b) for a, b, _ in found)
    right = {(a, b) for a, b, gap in found if times[a, b] == 1 and gap is not None and wanted.get((a, b)) == gap}
    removed = [{"a": a, "b": b} for a, b in sorted(times.keys() - right)]
    added = [{"a": a, "b": b, "gap": gap} for (a, b), gap in wanted.items() if (a, b) not in right]
    for rows in chunks(removed):
        await transaction.run(Statement.NEXT_REMOVE, rows=rows)
    for rows in chunks(added):
        await transaction.run(Statement.NEXT_CREATE, rows=rows)


async def _degrees(transaction: Transaction, end: str) -> dict[str, Any]:
    """Count the inferred causal edges out of an event and into it."""
    out = await transaction.collected(Mend.CAUSES_OUT, uid=end)
    into = await transaction.collected(Mend.CAUSES_IN, uid=end)
    inferred = [sum(origin != Origin.PRODUCER for origin in origins) for origins in (out, into)]
    return {"uid": end, "causes_out": inferred[0], "causes_in": inferred[1]}


def _fitness(row: Sequence[Any]) -> tuple[bool, bool, int, str]:
    """Rank an episode of an event, the best highest; its uid comes last."""
    episode, same_session, first_us, last_us, at_us, _ = row
    first_us, last_us = first_us or 0, last_us or 0
    return bool(same_session), first_us <= at_us <= last_us, first_us, episode
