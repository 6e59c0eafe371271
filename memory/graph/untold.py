"""Edges that were taken back and whose withdrawal is still to be told on `memory.changes`.

What stands in the graph can be told again by looking at it (`memory.graph.outbox`); what was removed cannot. So whoever
removes an edge because something new has come leaves a note in the same transaction, at the new event. Notes hold ids
and a digest, nothing of what events say: an erased event takes what its notes would tell with it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.cypher import Cypher
from memory.graph.driver import Transaction
from memory.graph.model import Mark
from memory.relations import CausalKind, EdgeType

_DIGITS = 16


class UntoldStatement(Cypher):
    """Statements over these notes, which are `Outbox` nodes; same rules as in `memory.graph.statements`."""

    NOTES_PUT = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.by})
MERGE (o:Outbox {uid: row.uid})
SET o += row.note, o.place = row.prefix + n.session, o.session = n.session, o.by = n.id"""

    NOTES_OF = """
UNWIND $places AS place
MATCH (o:Outbox {place: place})
RETURN collect([o.uid, o.session, o.by, o.type, o.source, o.target, o.kind])"""

    STILL_THERE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
MATCH (b:Event {uid: row.b})
OPTIONAL MATCH (a)-[r:CAUSES|SUPERSEDES]->(b)
WITH row, collect([type(r), r.kind]) AS found
RETURN collect([row.i, found])"""

    BOTH_STATE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[x:STATES]->(s:Slot)
MATCH (b:Event {uid: row.b})-[y:STATES]->(s)
RETURN collect([row.i, s.subject, s.attribute, y.value, x.value])"""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """An edge that was removed. `by`: id of the event whose arrival removed it, one of those being consolidated."""

    by: str
    type: EdgeType
    source: str
    target: str
    kind: str


async def note_withdrawn(transaction: Transaction, tenant: str, stage: Mark, edges: Iterable[Withdrawn]) -> None:
    """Note edges that this transaction removes; see `Outbox.withdrawn`."""
    prefix = _prefix(tenant, stage)
    rows = []
    for edge in edges:
        kind = _sign(edge.type, edge.kind)
        digest = hashlib.sha256("\x00".join((edge.type, edge.source, edge.target, kind)).encode()).hexdigest()
        note = {"type": edge.type.value, "source": edge.source, "target": edge.target, "kind": kind}
        rows.append({"uid": f"{prefix}{digest[:32]}", "by": uid(tenant, edge.by), "prefix": prefix, "note": note})
    for part in chunks(rows):
        await transaction.run(UntoldStatement.NOTES_PUT, rows=part)


def places_of(tenant: str, stage: Mark, sessions: Iterable[str]) -> list[str]:
    """Give where the notes of sessions stand."""
    return sorted(_prefix(tenant, stage) + session for session in sessions)


async def notes_of(
    transaction: Transaction, tenant: str, stage: Mark, windows: Mapping[str, Sequence[str]]
) -> list[Sequence[Any]]:
    """Give the notes that the events of these windows left, as `UntoldStatement.NOTES_OF` has them."""
    found = await transaction.collected(UntoldStatement.NOTES_OF, places=places_of(tenant, stage, windows))
    ours = {session: set(ids) for session, ids in windows.items()}
    return sorted(row for row in found if row[2] in ours[row[1]])


async def told_again(
    transaction: Transaction, tenant: str, notes: Sequence[Sequence[Any]]
) -> list[tuple[str, str, dict[str, Any]]]:
    """Give what notes have to tell, as (session, event, edge).

    Nothing of an edge that stands again, which is told as any that stands; nothing of one whose events are gone.
    """
    rows = [{"i": at, "a": uid(tenant, note[4]), "b": uid(tenant, note[5])} for at, note in enumerate(notes)]
    there = dict(await transaction.collected(UntoldStatement.STILL_THERE, rows=rows))
    facts: dict[int, list[Sequence[Any]]] = {}
    for at, *fact in await transaction.collected(UntoldStatement.BOTH_STATE, rows=rows):
        facts.setdefault(at, []).append(fact)
    told = []
    for at, (_, session, by, kind_of_edge, source, target, sign) in enumerate(notes):
        standing = {(name, _sign(EdgeType(name), kind or "")) for name, kind in there.get(at, ()) if name}
        if at not in there or (kind_of_edge, sign) in standing:
            continue
        edge = {"type": kind_of_edge, "source": source, "target": target, "withdrawn": True}
        if kind_of_edge == EdgeType.CAUSES:
            told.append((session, by, {**edge, "kind": CausalKind(sign).value}))
            continue
        for subject, attribute, old, new in facts.get(at, ()):
            kind = f"{subject}|{attribute}"
            if _sign(EdgeType.SUPERSEDES, kind) == sign:
                said = {"subject": subject, "attribute": attribute, "old": old, "new": new, "kind": kind}
                told.append((session, by, {**edge, **said}))
    return told


def _prefix(tenant: str, stage: Mark) -> str:
    """Give what the keys of a stage's notes begin with: no session's place does."""
    return f"{uid(tenant, stage.value)}>"


def _sign(type_: EdgeType, kind: str) -> str:
    """Give what is noted of an edge's kind: of a fact's, which names what events speak of, a digest."""
    return kind if type_ is EdgeType.CAUSES else hashlib.sha256(kind.encode()).hexdigest()[:_DIGITS]
