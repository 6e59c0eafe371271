"""Every Cypher statement about the order of an agent's sessions; the same rules as in `memory.graph.statements`.

`Agent`: an agent and the end of its chain. `Stint`: an agent's part in one session; its `place` is indexed.
"""

from memory.graph.cypher import Cypher
from memory.graph.statements import PROBES

_PROBE = """
MATCH (n:Stint) WHERE n.place > $low{i} AND n.place < $high{i}
RETURN {i} AS i, n.uid AS uid, n.place AS place LIMIT 1"""


class StintStatement(Cypher):
    """Statements of `memory.graph.stints`, of its proof and of its mend."""

    STINTS_KNOWN = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})
RETURN collect([n.uid, n.place])"""

    SESSIONS_AGENTS = """
UNWIND $uids AS uid
MATCH (s:Session {uid: uid})
RETURN collect([s.session, s.agents])"""

    FIRSTS = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
WITH n.agent AS agent, n.session AS session, min(n.occurred_us) AS first_us
RETURN collect([agent, session, first_us])"""

    # Changing `rev` makes writers of one agent's chain exclude each other; its end is what the plan starts from.
    AGENTS_HOLD = """
UNWIND $rows AS row
MERGE (g:Agent {uid: row.uid})
ON CREATE SET g.tenant = row.tenant, g.agent = row.agent, g.rev = 0, g.last_uid = '', g.last_place = ''
SET g.rev = g.rev + 1
RETURN collect([g.uid, g.last_uid, g.last_place])"""

    AGENTS_SET = """
UNWIND $rows AS row
MATCH (g:Agent {uid: row.uid})
SET g.last_uid = row.last_uid, g.last_place = row.last_place"""

    AGENTS_DROP = """
UNWIND $uids AS uid
MATCH (g:Agent {uid: uid})
DETACH DELETE g"""

    STINTS_AFTER_KEY = "\nUNION ALL".join(_PROBE.replace("{i}", str(i)) for i in range(PROBES))

    STINTS_BEFORE = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})<-[:NEXT_SESSION]-(p:Stint)
RETURN collect([n.uid, p.uid, p.place])"""

    STINTS_AFTER = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})-[:NEXT_SESSION]->(p:Stint)
RETURN collect([n.uid, p.uid, p.place])"""

    STINTS_UNPLACE = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})
SET n.place = ''"""

    STINTS_PUT = """
UNWIND $rows AS row
MERGE (n:Stint {uid: row.uid})
SET n += row"""

    STINTS_DROP = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})
DETACH DELETE n"""

    NEXT_SESSION_REMOVE = """
UNWIND $rows AS row
MATCH (a:Stint {uid: row.a})-[r:NEXT_SESSION]->(b:Stint {uid: row.b})
DELETE r"""

    # CREATE, not MERGE: the agent is held, and the plan knows what is there.
    NEXT_SESSION_CREATE = """
UNWIND $rows AS row
MATCH (a:Stint {uid: row.a})
MATCH (b:Stint {uid: row.b})
CREATE (a)-[r:NEXT_SESSION]->(b)
SET r.gap_us = row.gap"""

    # ---- reading and proving ----------------------------------------------------------------------------------------
    BESIDE = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})-[:NEXT_SESSION]->(p:Stint)
RETURN 'next' AS part, collect([n.session, n.agent, p.session]) AS found
UNION ALL
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})<-[:NEXT_SESSION]-(p:Stint)
RETURN 'previous' AS part, collect([n.session, n.agent, p.session]) AS found"""

    STINTS_PAGE_END = (
        "MATCH (n:Stint) WHERE n.uid > $low AND n.uid < $high WITH n.uid AS at LIMIT $limit RETURN max(at)"
    )
    STINTS_PAGE = """
MATCH (n:Stint) WHERE n.uid > $low AND n.uid <= $top
RETURN collect([n.uid, n.agent, n.session, n.place, n.first_us])"""

    LINKS_FROM = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})-[r:NEXT_SESSION]->(m:Stint)
RETURN collect([n.uid, m.uid, r.gap_us])"""

    LINKS_TO = """
UNWIND $uids AS uid
MATCH (n:Stint {uid: uid})<-[r:NEXT_SESSION]-(m:Stint)
RETURN collect([m.uid, n.uid, r.gap_us])"""

    AGENTS_PAGE_END = (
        "MATCH (g:Agent) WHERE g.uid > $low AND g.uid < $high WITH g.uid AS at LIMIT $limit RETURN max(at)"
    )
    AGENTS_PAGE = """
MATCH (g:Agent) WHERE g.uid > $low AND g.uid <= $top
RETURN collect([g.uid, g.agent, g.last_uid, g.last_place])"""
