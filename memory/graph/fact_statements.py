"""Every Cypher statement over facts and what supersedes them; the same rules as in `memory.graph.statements`."""

from memory.graph.cypher import Cypher


class FactStatement(Cypher):
    """Statements over `Slot` nodes (a subject's attribute), STATES and SUPERSEDES."""

    # Changing `rev` first makes writers of one slot exclude each other: what is read after it is committed.
    SLOTS_HOLD = """
UNWIND $rows AS row
MERGE (s:Slot {uid: row.uid})
ON CREATE SET s.tenant = row.tenant, s.subject = row.subject, s.attribute = row.attribute, s.rev = 0, s.said = 0,
  s.recent = '[]'
SET s.rev = s.rev + 1
RETURN collect([s.uid, s.said, s.recent])"""

    STATES_MERGE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
MATCH (b:Slot {uid: row.b})
SET a.edge_rev = $born
MERGE (a)-[r:STATES]->(b)
ON CREATE SET r += row.edge, r.born = $born
WITH a, r, row WHERE r.born = $born
RETURN collect([row.i, a.occurred_us, a.sequence, a.id])"""

    STATES_INTO = """
MATCH (s:Slot {uid: $uid})<-[r:STATES]-(n:Event)
RETURN collect([n.occurred_us, n.sequence, n.id, r.sign])"""

    STATES_OF = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.uid})-[r:STATES]->(s:Slot {uid: row.slot})
RETURN collect([n.id, properties(r), n.ingested_us])"""

    SLOTS_SET = """
UNWIND $rows AS row
MATCH (s:Slot {uid: row.uid})
SET s.said = row.said, s.recent = row.recent"""

    SLOTS_DROP = """
UNWIND $uids AS uid
MATCH (s:Slot {uid: uid})
WHERE NOT (s)<-[:STATES]-(:Event)
DETACH DELETE s"""

    SUPERSEDES_OF = """
UNWIND $uids AS uid
MATCH (a:Event {uid: uid})-[r:SUPERSEDES]->(b:Event)
WHERE r.kind = $kind
RETURN collect([a.id, b.id])"""

    SUPERSEDES_MERGE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
MATCH (b:Event {uid: row.b})
SET a.edge_rev = $born
MERGE (a)-[r:SUPERSEDES {kind: row.kind}]->(b)
ON CREATE SET r += row.edge, r.born = $born
WITH r, row WHERE r.born = $born
RETURN collect(row.i)"""

    SUPERSEDES_REMOVE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:SUPERSEDES]->(b:Event {uid: row.b})
WHERE r.kind = row.kind
DELETE r"""

    SUPERSEDES_DROP = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:SUPERSEDES]->(b:Event {uid: row.b})
DELETE r"""

    SUPERSEDING = """
UNWIND $uids AS uid
MATCH (b:Event {uid: uid})<-[r:SUPERSEDES]-(a:Event)
RETURN collect([b.id, a.id, a.ref, a.occurred_us, r.subject, r.attribute, r.old, r.new])"""

    SLOTS_PAGE_END = "MATCH (s:Slot) WHERE s.uid > $low AND s.uid < $high WITH s.uid AS at LIMIT $limit RETURN max(at)"
    SLOTS_PAGE = "MATCH (s:Slot) WHERE s.uid > $low AND s.uid <= $top RETURN collect(s.uid)"
    SLOT_DEGREES = """
UNWIND $uids AS uid
MATCH (s:Slot {uid: uid})
OPTIONAL MATCH (s)<-[r:STATES]-(:Event)
WITH s, count(r) AS said
RETURN collect([s.uid, s.said, said])"""
