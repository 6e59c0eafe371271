"""Every Cypher statement that only reads; the same rules as in `memory.graph.statements`."""

from memory.graph.cypher import Cypher

#: Longest walk along a chain for the window of an event, in steps.
MAX_WINDOW = 16
#: Longest walk of the short window: its statement costs a quarter.
SHORT_WINDOW = 4


def _window(reach: int) -> str:
    """Write the statement for windows of so many steps: a parameter cannot bound the length of a path."""
    return f"""
UNWIND $uids AS uid
MATCH (n:Event {{uid: uid}})-[r:NEXT*1..{reach}]->(m:Event)
WHERE size(r) <= $after
RETURN 'after' AS part, collect([n.uid, size(r), m.uid]) AS found
UNION ALL
UNWIND $uids AS uid
MATCH (n:Event {{uid: uid}})<-[r:NEXT*1..{reach}]-(m:Event)
WHERE size(r) <= $before
RETURN 'before' AS part, collect([n.uid, size(r), m.uid]) AS found"""


class Query(Cypher):
    """Statements of the read path."""

    PING = "RETURN 1"

    EVENTS_BY_UID = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect(properties(n))"""

    EVENTS_MARKS = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect([n.uid, n.c_semantic, n.c_entities, n.c_causal, n.c_episodes])"""

    NEIGHBOURS = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:NEXT|CAUSES|SIMILAR]-(m:Event)
RETURN 'direct' AS part,
  collect([n.uid, m.uid, type(r), startNode(r) = n, r.gap_us, coalesce(r.cosine, r.confidence), r.origin, r.kind,
    coalesce(r.rule, r.model)]) AS found
UNION ALL
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:MENTIONS|SPOKEN_BY]->(e:Entity)
RETURN 'touched' AS part,
  collect([n.uid, e.uid, e.name, e.events, type(r), r.confidence, r.origin, coalesce(r.rule, r.model)]) AS found
UNION ALL
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:MENTIONS|SPOKEN_BY]->(e:Entity)
WHERE e.events <= $hub_limit
WITH DISTINCT e
MATCH (e)<-[r:MENTIONS|SPOKEN_BY]-(m:Event)
RETURN 'members' AS part,
  collect([e.uid, m.uid, type(r), r.confidence, r.origin, coalesce(r.rule, r.model)]) AS found"""

    SIMILAR_TO = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:SIMILAR]-(m:Event)
RETURN collect([n.uid, m.uid])"""

    WINDOW = _window(MAX_WINDOW)
    WINDOW_SHORT = _window(SHORT_WINDOW)

    ENTITIES_BY_UID = """
UNWIND $uids AS uid
MATCH (e:Entity {uid: uid})
RETURN collect([e.key, e.name, e.type, e.aliases, e.events, e.first_us, e.last_us])"""

    MENTIONS_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:MENTIONS|SPOKEN_BY]->(e:Entity)
RETURN collect([n.uid, e.key, r.surface, type(r)])"""

    EPISODES_WITH = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:PART_OF]->(p:Episode)
RETURN collect([n.uid, p.id, p.session, p.title, p.reason, p.first_us, p.last_us])"""

    EPISODE_EVENTS = """
UNWIND $uids AS uid
MATCH (p:Episode {uid: uid})<-[:PART_OF]-(n:Event)
RETURN collect([p.id, n.uid, n.chain])"""

    # Pages. The first of each pair guesses the end of the page; the second answers the whole interval up to it, so
    # that no order is needed of the index: a page is complete whatever the guess.
    EVENTS_PAGE_END = (
        "MATCH (n:Event) WHERE n.uid > $low AND n.uid < $high WITH n.uid AS at LIMIT $limit RETURN max(at)"
    )
    EVENTS_PAGE = "MATCH (n:Event) WHERE n.uid > $low AND n.uid <= $top RETURN collect(n.uid)"
    CHAIN_PAGE_END = (
        "MATCH (n:Event) WHERE n.chain > $low AND n.chain < $high WITH n.chain AS at LIMIT $limit RETURN max(at)"
    )
    CHAIN_PAGE = "MATCH (n:Event) WHERE n.chain > $low AND n.chain <= $top RETURN collect(properties(n))"
    CHAIN_PAGE_KEYS = """
MATCH (n:Event) WHERE n.chain > $low AND n.chain <= $top
RETURN collect([n.uid, n.chain, n.tenant, n.session, n.occurred_us, n.sequence, n.agent, n.c_episodes])"""
    SESSIONS_PAGE_END = (
        "MATCH (s:Session) WHERE s.uid > $low AND s.uid < $high WITH s.uid AS at LIMIT $limit RETURN max(at)"
    )
    SESSIONS_PAGE = """
MATCH (s:Session) WHERE s.uid > $low AND s.uid <= $top
RETURN collect([s.uid, s.session, s.agents, s.events, s.first_us, s.last_us, s.last_uid])"""
    ENTITIES_PAGE_END = (
        "MATCH (e:Entity) WHERE e.uid > $low AND e.uid < $high WITH e.uid AS at LIMIT $limit RETURN max(at)"
    )
    ENTITIES_PAGE = """
MATCH (e:Entity) WHERE e.uid > $low AND e.uid <= $top
RETURN collect([e.key, e.name, e.type, e.aliases, e.events, e.first_us, e.last_us])"""
    ENTITIES_PAGE_UIDS = """
MATCH (e:Entity) WHERE e.uid > $low AND e.uid <= $top
RETURN collect(e.uid)"""
    EPISODES_PAGE_END = (
        "MATCH (p:Episode) WHERE p.uid > $low AND p.uid < $high WITH p.uid AS at LIMIT $limit RETURN max(at)"
    )
    EPISODES_PAGE = "MATCH (p:Episode) WHERE p.uid > $low AND p.uid <= $top RETURN collect(p.uid)"
    AWAITED_PAGE_END = (
        "MATCH (w:Awaited) WHERE w.uid > $low AND w.uid < $high WITH w.uid AS at LIMIT $limit RETURN max(at)"
    )
    AWAITED_PAGE = (
        "MATCH (w:Awaited) WHERE w.uid > $low AND w.uid <= $top RETURN collect([w.uid, w.cause_uid, w.effect_uid])"
    )

    SESSIONS_TOTAL = """
MATCH (s:Session) WHERE s.uid > $low AND s.uid < $high
RETURN collect([s.events, s.last_us])"""
    TOTALS = "MATCH (s:Session) WHERE s.uid > $low AND s.uid < $high RETURN [sum(s.events), max(s.last_us)]"
    TENANTS = "MATCH (s:Session) RETURN collect(DISTINCT s.tenant)"
    ENTITIES_TOTAL = "MATCH (e:Entity) WHERE e.uid > $low AND e.uid < $high RETURN count(e)"
    EPISODES_TOTAL = "MATCH (p:Episode) WHERE p.uid > $low AND p.uid < $high RETURN count(p)"
    EDGES_TOTAL = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r]->()
WITH type(r) AS kind, count(r) AS edges
RETURN collect([kind, edges])"""

    # ---- proving ----------------------------------------------------------------------------------------------------
    EVENTS_PRESENT = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect(n.uid)"""

    EDGES_OUT = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r]->(m)
RETURN collect([n.uid, type(r), m.uid, coalesce(r.kind, r.form)])"""

    ENTITY_DEGREES = """
UNWIND $uids AS uid
MATCH (e:Entity {uid: uid})
OPTIONAL MATCH (e)<-[r:MENTIONS|SPOKEN_BY]-(:Event)
WITH e, count(r) AS edges
RETURN collect([e.uid, e.events, edges])"""

    ENTITY_FORMS = """
UNWIND $uids AS uid
MATCH (e:Entity {uid: uid})<-[r:MENTIONS|SPOKEN_BY]-(:Event)
RETURN collect(DISTINCT [e.key, coalesce(r.form, e.key)])"""

    NAMES_PAGE_END = "MATCH (n:Name) WHERE n.uid > $low AND n.uid < $high WITH n.uid AS at LIMIT $limit RETURN max(at)"
    NAMES_PAGE = "MATCH (n:Name) WHERE n.uid > $low AND n.uid <= $top RETURN collect([n.uid, n.form, n.key, n.pinned])"
    NAMES_ASIDE = """
UNWIND $uids AS uid
MATCH (n:Name {uid: uid})<-[r:MAYBE]-(:Event)
RETURN collect(DISTINCT n.form)"""

    EPISODE_DEGREES = """
UNWIND $uids AS uid
MATCH (p:Episode {uid: uid})
OPTIONAL MATCH (p)<-[r:PART_OF]-(:Event)
WITH p, count(r) AS edges
RETURN collect([p.uid, edges])"""
