"""Every Cypher statement that mends what a proof has found; the same rules as in `memory.graph.statements`."""

from memory.graph.cypher import Cypher


class Mend(Cypher):
    """Statements of `memory.graph.mending`."""

    # ---- edges ------------------------------------------------------------------------------------------------------
    EDGES_BETWEEN = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r]->(b)
WHERE b.uid = row.b
RETURN collect([row.a, type(r), row.b, coalesce(r.kind, r.form)])"""

    # Touching the source first makes writers of its edges wait or fail, as they do themselves.
    EDGES_KEEP_FIRST = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
SET a.edge_rev = $born
WITH a, row
MATCH (a)-[r]->(b)
WHERE b.uid = row.b AND type(r) = row.type AND coalesce(r.kind, r.form, '') = row.kind
WITH row, r ORDER BY coalesce(r.created_us, 0)
WITH row, collect(r) AS found
UNWIND tail(found) AS later
DELETE later"""

    # ---- chains -----------------------------------------------------------------------------------------------------
    EVENTS_PLACES = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect([n.uid, n.session, n.chain, n.occurred_us, n.sequence])"""

    EVENTS_PLACE = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.uid})
SET n.chain = row.chain"""

    # Changing `rev` first, as a writer of events does: both exclude each other.
    SESSION_HOLD = """
MERGE (s:Session {uid: $uid})
ON CREATE SET s.tenant = $tenant, s.session = $session, s.rev = 0, s.agents = []
SET s.rev = s.rev + 1
RETURN s.agents"""

    SESSION_SET = """
MATCH (s:Session {uid: $uid})
SET s += $totals"""

    SESSION_DROP = """
MATCH (s:Session {uid: $uid})
DETACH DELETE s"""

    CHAIN_AGENTS = """
MATCH (n:Event) WHERE n.chain > $low AND n.chain <= $top
RETURN collect([n.uid, n.chain, n.occurred_us, n.agent])"""

    NEXT_FROM = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:NEXT]->(m:Event)
RETURN collect([n.uid, m.uid, r.gap_us])"""

    # ---- causes -----------------------------------------------------------------------------------------------------
    CAUSES_BETWEEN = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:CAUSES]->(b:Event {uid: row.b})
RETURN collect([row.a, row.b, r.origin, coalesce(r.confidence, 0.0)])"""

    CAUSES_REMOVE = """
MATCH (a:Event {uid: $a})-[r:CAUSES]->(b:Event {uid: $b})
DELETE r"""

    CAUSES_OUT = """
MATCH (n:Event {uid: $uid})-[r:CAUSES]->(:Event)
RETURN collect(coalesce(r.origin, ''))"""

    CAUSES_IN = """
MATCH (n:Event {uid: $uid})<-[r:CAUSES]-(:Event)
RETURN collect(coalesce(r.origin, ''))"""

    # ---- entities and episodes --------------------------------------------------------------------------------------
    ENTITIES_COUNT = """
UNWIND $uids AS uid
MATCH (e:Entity {uid: uid})<-[r:MENTIONS|SPOKEN_BY]-(n:Event)
WITH e, count(r) AS events, min(n.occurred_us) AS first_us, max(n.occurred_us) AS last_us
SET e.rev = coalesce(e.rev, 0) + 1, e.events = events, e.first_us = first_us, e.last_us = last_us"""

    EPISODES_FOR = """
MATCH (n:Event {uid: $uid})-[:PART_OF]->(p:Episode)
RETURN collect([p.uid, p.session = n.session, p.first_us, p.last_us, n.occurred_us, n.session])"""
