"""Every Cypher statement that writes, or reads in order to write: with `memory.graph.queries` a closed registry.

Rules (a lint in `tests/graph` holds them): values travel as parameters only; labels and types are written out; one
label a node, keyed by `uid`; lists are unwound before a match, never `IN $ids`; an answer is one record whose first
column is a `collect` (or a few records of a UNION); nothing that one of the two servers lacks or does differently.

A range on an index is a statement of its own with scalar parameters: that is the shape both servers answer from the
index alone.
"""

from memory.graph.cypher import Cypher

#: How many late events one statement looks up; the rest of its parameters are filled with empty ranges.
PROBES = 64
_PROBE = """
MATCH (n:Event) WHERE n.chain > $low{i} AND n.chain < $high{i}
RETURN {i} AS i, n.uid AS uid, n.chain AS chain LIMIT 1"""


class Statement(Cypher):
    """Statements of the write path."""

    # ---- events and their chain -------------------------------------------------------------------------------------
    EVENTS_KNOWN = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect([n.uid, n.digest])"""

    EVENTS_INGESTED = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect([n.uid, n.ingested_us])"""

    # Changing `rev` first makes writers of one session exclude each other; the old tail is what the plan starts from.
    SESSIONS_LOCK = """
UNWIND $rows AS row
MERGE (s:Session {uid: row.uid})
ON CREATE SET s.tenant = row.tenant, s.session = row.session, s.rev = 0, s.events = 0, s.agents = [],
  s.first_us = row.first_us, s.last_us = row.last_us, s.last_chain = '', s.last_uid = ''
WITH s, row, s.last_chain AS tail_chain, s.last_uid AS tail_uid
SET s.rev = s.rev + 1, s.events = s.events + row.events,
  s.agents = s.agents + [name IN row.agents WHERE NOT name IN s.agents],
  s.first_us = CASE WHEN row.first_us < s.first_us THEN row.first_us ELSE s.first_us END,
  s.last_us = CASE WHEN row.last_us > s.last_us THEN row.last_us ELSE s.last_us END,
  s.last_chain = CASE WHEN row.last_chain > tail_chain THEN row.last_chain ELSE tail_chain END,
  s.last_uid = CASE WHEN row.last_chain > tail_chain THEN row.last_uid ELSE tail_uid END
RETURN collect([s.uid, tail_uid, tail_chain])"""

    EVENTS_CREATE = """
UNWIND $rows AS row
CREATE (n:Event {uid: row.uid})
SET n += row"""

    # The first event after each key, from the index. The order of an index scan is promised by neither server, so the
    # caller proves the place by the chain itself (CHAIN_BEFORE) and walks back when it must.
    CHAIN_AFTER = "\nUNION ALL".join(_PROBE.replace("{i}", str(i)) for i in range(PROBES))

    CHAIN_BEFORE = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})<-[:NEXT]-(p:Event)
RETURN collect([n.uid, p.uid, p.chain])"""

    NEXT_REMOVE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:NEXT]->(b:Event {uid: row.b})
DELETE r"""

    # CREATE, not MERGE: the session is held, and the plan knows what is there.
    NEXT_CREATE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
MATCH (b:Event {uid: row.b})
CREATE (a)-[r:NEXT]->(b)
SET r.gap_us = row.gap"""

    EVENTS_MARK = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
SET n += $mark"""

    # ---- causes -----------------------------------------------------------------------------------------------------
    CAUSES_LOCK = """
MERGE (l:Lock {uid: $uid})
ON CREATE SET l.rev = 0, l.loose = 0, l.slack_us = 0
SET l.rev = l.rev + 1
RETURN collect([l.loose, l.slack_us])"""

    CAUSES_LOOSE = """
MATCH (l:Lock {uid: $uid})
SET l.loose = l.loose + $loose, l.slack_us = l.slack_us + $slack_us"""

    CAUSES_ENDS = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect([n.uid, n.occurred_us, n.sequence, n.dates, n.causes_out, n.causes_in])"""

    CAUSES_INTO = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})<-[r:CAUSES]-(c:Event)
RETURN collect([c.uid, n.uid, r.kind])"""

    CAUSES_ONWARD = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:CAUSES]->(m:Event)
WHERE m.occurred_us <= $until_us
RETURN collect(DISTINCT [n.uid, m.uid])"""

    CAUSES_CREATE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
MATCH (b:Event {uid: row.b})
CREATE (a)-[r:CAUSES]->(b)
SET r += row.edge"""

    CAUSES_DEGREES = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.uid})
SET n.causes_out = row.causes_out, n.causes_in = row.causes_in"""

    AWAITED_MERGE = """
UNWIND $rows AS row
MERGE (w:Awaited {uid: row.uid})
ON CREATE SET w.cause_uid = row.cause_uid, w.effect_uid = row.effect_uid, w.since_us = row.since_us"""

    AWAITED_FOR = """
UNWIND $uids AS uid
MATCH (w:Awaited {cause_uid: uid})
RETURN collect([w.uid, w.cause_uid, w.effect_uid])"""

    AWAITED_REMOVE = """
UNWIND $uids AS uid
MATCH (w:Awaited {uid: uid})
DETACH DELETE w"""

    # ---- similar ----------------------------------------------------------------------------------------------------
    # Touching the source with a changing value makes concurrent writers of one source exclude each other: without it
    # two of them may each add the same edge. `born` tells which edges this transaction created.
    SIMILAR_MERGE = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})
MATCH (b:Event {uid: row.b})
SET a.edge_rev = $born
MERGE (a)-[r:SIMILAR]->(b)
ON CREATE SET r.cosine = row.cosine, r.born = $born
WITH r, row WHERE r.born = $born
RETURN collect(row.i)"""

    # ---- episodes ---------------------------------------------------------------------------------------------------
    SESSIONS_TOUCH = """
UNWIND $uids AS uid
MATCH (s:Session {uid: uid})
SET s.rev = s.rev + 1
RETURN collect(s.uid)"""

    EPISODES_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:PART_OF]->(p:Episode)
RETURN collect([n.uid, p.uid])"""

    EPISODES_KNOWN = """
UNWIND $uids AS uid
MATCH (p:Episode {uid: uid})
OPTIONAL MATCH (p)<-[:PART_OF]-(n:Event)
WITH p, collect(n.uid) AS members
RETURN collect([p.uid, p.title, p.reason, p.first_us, p.last_us, members])"""

    EPISODES_MERGE = """
UNWIND $rows AS row
MERGE (p:Episode {uid: row.uid})
SET p += row"""

    PART_OF_REMOVE = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.a})-[r:PART_OF]->(p:Episode {uid: row.b})
DELETE r"""

    PART_OF_CREATE = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.a})
MATCH (p:Episode {uid: row.b})
CREATE (n)-[:PART_OF]->(p)"""

    EPISODES_DROP_EMPTY = """
UNWIND $uids AS uid
MATCH (p:Episode {uid: uid})
WHERE NOT (p)<-[:PART_OF]-(:Event)
DETACH DELETE p"""
