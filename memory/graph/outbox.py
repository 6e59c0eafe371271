"""Whose edges are still to be told on `memory.changes`: noted before a stage writes them, closed once published.

A worker that dies in between leaves its note, and whoever gets the same records again tells what stands in the graph:
at least once, for every edge. A note names the events of one window of a session and nothing of what they say.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from memory.events import uid
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.model import Mark
from memory.graph.session_order import SessionLink, links_beside
from memory.graph.untold import notes_of, told_again
from memory.relations import EdgeType

_DIGITS = 32
#: Events whose edges are read in one statement.
_TURN = 500
#: Properties of edges that say nothing of the memory, and those that are called otherwise outside of the graph.
_INTERNAL = frozenset({"born", "edge_rev", "sign"})
_SHOWN_AS = {"type": "entity_type"}


class OutboxStatement(Cypher):
    """Statements of the outbox; same rules as in `memory.graph.statements`."""

    OUTBOX_OF = """
UNWIND $places AS place
MATCH (o:Outbox {place: place})
RETURN collect([o.uid, o.session, o.ids])"""

    OUTBOX_MERGE = """
UNWIND $rows AS row
MERGE (o:Outbox {uid: row.uid})
SET o += row"""

    OUTBOX_REMOVE = """
UNWIND $uids AS uid
MATCH (o:Outbox {uid: uid})
DELETE o"""

    STANDING_EVENTS = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:SIMILAR|CAUSES]-(m:Event)
RETURN collect([n.id, n.session, type(r), startNode(r) = n, m.id, properties(r)])"""

    STANDING_ENTITIES = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:MENTIONS|SPOKEN_BY]->(m:Entity)
RETURN collect([n.id, n.session, type(r), true, m.key, properties(r)])"""

    STANDING_FACTS = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:STATES]->(m:Slot)
RETURN collect([n.id, n.session, type(r), true, [m.subject, m.attribute], properties(r)])"""

    STANDING_SUPERSEDES = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:SUPERSEDES]-(m:Event)
RETURN collect([n.id, n.session, type(r), startNode(r) = n, m.id, properties(r)])"""

    STANDING_EPISODES = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:PART_OF]->(m:Episode)
RETURN collect([n.id, n.session, type(r), true, m.id, {title: m.title, rule: m.reason}])"""


_STANDING: dict[Mark, tuple[tuple[OutboxStatement, frozenset[EdgeType]], ...]] = {
    Mark.SEMANTIC: ((OutboxStatement.STANDING_EVENTS, frozenset({EdgeType.SIMILAR})),),
    Mark.CAUSAL: ((OutboxStatement.STANDING_EVENTS, frozenset({EdgeType.CAUSES})),),
    Mark.ENTITIES: (
        (OutboxStatement.STANDING_ENTITIES, frozenset({EdgeType.MENTIONS, EdgeType.SPOKEN_BY})),
        (OutboxStatement.STANDING_FACTS, frozenset({EdgeType.STATES})),
        (OutboxStatement.STANDING_SUPERSEDES, frozenset({EdgeType.SUPERSEDES})),
    ),
    Mark.EPISODES: ((OutboxStatement.STANDING_EPISODES, frozenset({EdgeType.PART_OF})),),
}


class Outbox:
    """The notes of one tenant and stage. Raises as `Bolt.transact` does."""

    def __init__(self, bolt: Bolt, tenant: str, stage: Mark) -> None:
        self._bolt = bolt
        self._tenant = tenant
        self._stage = stage

    async def open(self, windows: Mapping[str, Sequence[str]]) -> set[str]:
        """Note the events of sessions' windows, ids by session; gives those that were noted before and never closed."""
        places = {self._place(session): session for session in windows}

        async def work(transaction: Transaction) -> set[str]:
            found = await transaction.collected(OutboxStatement.OUTBOX_OF, places=sorted(places))
            rows = [self._row(session, ids) for session, ids in sorted(windows.items()) if ids]
            await transaction.run(OutboxStatement.OUTBOX_MERGE, rows=rows)
            return {ident for _, session, ids in found for ident in ids if ident in set(windows[session])}

        return await self._bolt.transact(work, what="opening of the outbox") if windows else set()

    async def close(self, windows: Mapping[str, Sequence[str]]) -> None:
        """Note that what these events have brought is published."""
        places = {self._place(session): set(ids) for session, ids in windows.items()}

        async def work(transaction: Transaction) -> None:
            found = await transaction.collected(OutboxStatement.OUTBOX_OF, places=sorted(places))
            done: list[str] = []
            rows: list[dict[str, Any]] = []
            for at, session, ids in sorted(found):
                left = [ident for ident in ids if ident not in places[self._place(session)]]
                if not left:
                    done.append(at)
                elif len(left) < len(ids):
                    rows.append({"uid": at, "ids": left})
            if rows:
                await transaction.run(OutboxStatement.OUTBOX_MERGE, rows=rows)
            done += [str(note[0]) for note in await notes_of(transaction, self._tenant, self._stage, windows)]
            if done:
                await transaction.run(OutboxStatement.OUTBOX_REMOVE, uids=done)

        if windows:
            await self._bolt.transact(work, what="closing of the outbox")

    async def standing(self, ids: Sequence[str]) -> list[tuple[str, str, dict[str, Any]]]:
        """Give the stage's edges that these events have now, as (session, event, edge), in a stable order."""
        uids = sorted({uid(self._tenant, ident) for ident in ids})
        edges: dict[tuple[str, ...], tuple[str, str, dict[str, Any]]] = {}
        for statement, types in _STANDING[self._stage]:
            for start in range(0, len(uids), _TURN):

                async def work(
                    transaction: Transaction, start: int = start, statement: OutboxStatement = statement
                ) -> list[Any]:
                    return await transaction.collected(statement, uids=uids[start : start + _TURN])

                for row in await self._bolt.transact(work, what="query of edges"):
                    if row[2] in types:
                        key, shown = _shown(row)
                        edges.setdefault(key, shown)
        return [edges[key] for key in sorted(edges)]

    async def withdrawn(self, windows: Mapping[str, Sequence[str]]) -> list[tuple[str, str, dict[str, Any]]]:
        """Give the edges that these windows' events removed and that were not told, as (session, event, edge)."""

        async def work(transaction: Transaction) -> list[tuple[str, str, dict[str, Any]]]:
            notes = await notes_of(transaction, self._tenant, self._stage, windows)
            return await told_again(transaction, self._tenant, notes) if notes else []

        return await self._bolt.transact(work, what="query of withdrawn edges") if windows else []

    async def links(self, ids: Sequence[str]) -> list[SessionLink]:
        """Give the links that the sessions of these events have now in the order of their agents' sessions."""
        uids = sorted({uid(self._tenant, ident) for ident in ids})
        found: dict[SessionLink, None] = {}
        for start in range(0, len(uids), _TURN):

            async def work(transaction: Transaction, start: int = start) -> list[SessionLink]:
                return await links_beside(transaction, self._tenant, uids[start : start + _TURN])

            found |= dict.fromkeys(await self._bolt.transact(work, what="query of session links"))
        return list(found)

    def _place(self, session: str) -> str:
        return f"{uid(self._tenant, self._stage.value)}|{session}"

    def _row(self, session: str, ids: Sequence[str]) -> dict[str, Any]:
        place = self._place(session)
        digest = hashlib.sha256("\x00".join(sorted(ids)).encode()).hexdigest()[:_DIGITS]
        return {"uid": f"{place}|{digest}", "place": place, "session": session, "ids": sorted(set(ids))}


def _shown(row: Sequence[Any]) -> tuple[tuple[str, ...], tuple[str, str, dict[str, Any]]]:
    """Give an edge's key, and the edge as it is told: (session, event, edge)."""
    event, session, type_, forward, end, stored = row
    other = end if isinstance(end, str) else "|".join(end)
    source, target = (event, other) if forward else (other, event)
    shown = {_SHOWN_AS.get(name, name): stored[name] for name in stored if name not in _INTERNAL}
    edge = {**shown, "type": type_, "source": source, "target": target}
    return (type_, source, target, str(shown.get("kind", ""))), (session, event, edge)
