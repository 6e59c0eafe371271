"""Cypher statements about stored causes and where they come from; same rules as `memory.graph.statements`."""

from memory.graph.cypher import Cypher


class CauseStatement(Cypher):
    """Statements that read the provenance of causes, and of edges that are withdrawn or taken over."""

    # Edges into events, with what says where they come from; producers' edges may lack the rest.
    CAUSES_KNOWN = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})<-[r:CAUSES]-(c:Event)
RETURN collect([c.uid, n.uid, r.kind, coalesce(r.origin, 'producer'), coalesce(r.confidence, 0.0), coalesce(r.rule, ''),
  coalesce(r.model, ''), coalesce(r.prompt_version, ''), coalesce(r.rationale, ''), coalesce(r.evidence, []),
  coalesce(r.created_us, 0)])"""

    CAUSES_WITHDRAW = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:CAUSES]->(b:Event {uid: row.b})
WHERE r.kind = row.kind AND r.origin = row.origin
DELETE r"""

    CAUSES_RETELL = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:CAUSES]->(b:Event {uid: row.b})
WHERE r.kind = row.edge.kind
SET r = row.edge"""
