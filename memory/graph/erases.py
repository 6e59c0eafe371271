"""Every Cypher statement that forgets; the same rules as in `memory.graph.statements`."""

from memory.graph.cypher import Cypher
from memory.graph.schema import Label

#: What an erased tenant may leave behind that hangs on no event: all labels but those that speak of the
#: erasure itself, and of what the tenant may use of a model today.
SWEPT = tuple(label for label in Label if label not in (Label.EVENT, Label.BUDGET, Label.ERASED, Label.ERASURE))


def _page_end(label: Label) -> str:
    return f"MATCH (n:{label.value}) WHERE n.uid > $low AND n.uid < $high WITH n.uid AS at LIMIT $limit RETURN max(at)"


def _drop(label: Label) -> str:
    return f"MATCH (n:{label.value}) WHERE n.uid > $low AND n.uid <= $top DETACH DELETE n"


class Erase(Cypher):
    """Statements of `memory.graph.erasing`."""

    # ---- what is remembered of an erasure ---------------------------------------------------------------------------
    MARKER_SET = """
MERGE (m:Erased {uid: $uid})
ON CREATE SET m.at_us = $at_us
SET m.at_us = CASE WHEN $at_us > m.at_us THEN $at_us ELSE m.at_us END"""

    MARKERS_AMONG = """
UNWIND $uids AS uid
MATCH (m:Erased {uid: uid})
RETURN collect([m.uid, m.at_us])"""

    ERASURE_OPEN = """
MERGE (x:Erasure {uid: $uid})
ON CREATE SET x.tenant = $tenant, x.events = 0, x.edges = 0, x.entities = 0, x.episodes = 0, x.vectors = 0,
  x.sessions = $sessions, x.receipt = ''
RETURN [x.events, x.edges, x.entities, x.episodes, x.vectors, x.sessions, x.receipt]"""

    ERASURE_READ = """
MATCH (x:Erasure {uid: $uid})
RETURN [x.events, x.edges, x.entities, x.episodes, x.vectors, x.sessions, x.receipt]"""

    ERASURE_ADD = """
MATCH (x:Erasure {uid: $uid})
SET x.events = x.events + $events, x.edges = x.edges + $edges, x.entities = x.entities + $entities,
  x.episodes = x.episodes + $episodes, x.vectors = x.vectors + $vectors"""

    ERASURE_CLOSE = """
MATCH (x:Erasure {uid: $uid})
SET x.receipt = CASE WHEN x.receipt = '' THEN $receipt ELSE x.receipt END
RETURN x.receipt"""

    # ---- what hangs on the events that go ---------------------------------------------------------------------------
    EVENTS_FOR = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
RETURN collect([n.uid, n.session, n.agent, n.ingested_us, n.parents, coalesce(n.vector_seen, false)])"""

    VECTORS_SEEN = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
SET n.vector_seen = true"""

    CHAIN_FOR = """
MATCH (n:Event) WHERE n.chain > $low AND n.chain <= $top
RETURN collect([n.uid, n.chain, n.agent, n.ingested_us, n.parents, n.c_episodes, n.session])"""

    EDGES_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r]-()
RETURN count(DISTINCT r)"""

    NAMES_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:MENTIONS|SPOKEN_BY]->(e:Entity)
RETURN collect(DISTINCT [coalesce(r.form, e.key), e.key])"""

    NAMES_ASIDE_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:MAYBE]->(m:Name)
RETURN collect(DISTINCT m.form)"""

    SLOTS_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:STATES]->(s:Slot)
RETURN collect(DISTINCT s.uid)"""

    SLOTS_PAGE = "MATCH (s:Slot) WHERE s.uid > $low AND s.uid <= $top RETURN collect(s.uid)"

    CHAIN_BEHIND = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:NEXT]->(m:Event)
RETURN collect([n.uid, m.uid, m.chain])"""

    # Changing `rev` first makes writers of one session exclude each other, as Statement.SESSIONS_LOCK does.
    SESSIONS_HOLD = """
UNWIND $uids AS uid
MATCH (s:Session {uid: uid})
SET s.rev = s.rev + 1
RETURN collect([s.uid, s.events, s.last_uid])"""

    EPISODES_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:PART_OF]->(p:Episode)
RETURN collect(DISTINCT p.uid)"""

    EPISODE_MEMBERS = """
UNWIND $uids AS uid
MATCH (p:Episode {uid: uid})<-[:PART_OF]-(n:Event)
RETURN collect(DISTINCT n.uid)"""

    CAUSES_BESIDE = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[:CAUSES]-(m:Event)
RETURN collect(DISTINCT m.uid)"""

    CAUSES_LEFT = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
OPTIONAL MATCH (n)-[r:CAUSES]-(:Event)
WITH n, collect([startNode(r) = n, r.origin]) AS found
RETURN collect([n.uid, found])"""

    CAUSES_TOLD = """
MATCH (n:Event)<-[r:CAUSES]-(c:Event) WHERE n.chain > $low AND n.chain <= $top
RETURN collect([c.uid, n.uid, r.kind, r.origin, r.evidence])"""

    # ---- taking out -------------------------------------------------------------------------------------------------
    EVENTS_DROP = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
DETACH DELETE n"""

    SESSIONS_PUT = """
UNWIND $rows AS row
MATCH (s:Session {uid: row.uid})
SET s += row"""

    SESSIONS_DROP = """
UNWIND $uids AS uid
MATCH (s:Session {uid: uid})
DETACH DELETE s"""

    EPISODES_DROP = """
UNWIND $uids AS uid
MATCH (p:Episode {uid: uid})
DETACH DELETE p"""

    EPISODES_UNMARK = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})
REMOVE n.c_episodes"""

    # ---- what is remembered of names --------------------------------------------------------------------------------
    NAMES_AMONG = """
UNWIND $uids AS uid
MATCH (n:Name {uid: uid})
RETURN collect(n.form)"""

    ENTITIES_AMONG = """
UNWIND $uids AS uid
MATCH (e:Entity {uid: uid})
RETURN collect(e.key)"""

    NAMES_PAGE = """
MATCH (n:Name) WHERE n.uid > $low AND n.uid <= $top
RETURN collect([n.form, n.key])"""

    CHANGES_PAGE_END = (
        "MATCH (c:EntityChange) WHERE c.uid > $low AND c.uid < $high WITH c.uid AS at LIMIT $limit RETURN max(at)"
    )
    CHANGES_PAGE = """
MATCH (c:EntityChange) WHERE c.uid > $low AND c.uid <= $top
RETURN collect([c.uid, c.form, c.before, c.after])"""

    CHANGES_DROP = """
UNWIND $uids AS uid
MATCH (c:EntityChange {uid: uid})
DETACH DELETE c"""

    BLOCKS_DROP = """
UNWIND $uids AS uid
MATCH (b:Block {uid: uid})
DETACH DELETE b"""


class SweepEnd(Cypher):
    """Where a page of a tenant's nodes ends, for each label in `SWEPT`."""

    SESSION = _page_end(Label.SESSION)
    AGENT = _page_end(Label.AGENT)
    STINT = _page_end(Label.STINT)
    ENTITY = _page_end(Label.ENTITY)
    EPISODE = _page_end(Label.EPISODE)
    AWAITED = _page_end(Label.AWAITED)
    LOCK = _page_end(Label.LOCK)
    NAME = _page_end(Label.NAME)
    BLOCK = _page_end(Label.BLOCK)
    ENTITY_CHANGE = _page_end(Label.ENTITY_CHANGE)
    SLOT = _page_end(Label.SLOT)
    EXTRACTION = _page_end(Label.EXTRACTION)
    OUTBOX = _page_end(Label.OUTBOX)


class Sweep(Cypher):
    """What removes such a page, by the same names."""

    SESSION = _drop(Label.SESSION)
    AGENT = _drop(Label.AGENT)
    STINT = _drop(Label.STINT)
    ENTITY = _drop(Label.ENTITY)
    EPISODE = _drop(Label.EPISODE)
    AWAITED = _drop(Label.AWAITED)
    LOCK = _drop(Label.LOCK)
    NAME = _drop(Label.NAME)
    BLOCK = _drop(Label.BLOCK)
    ENTITY_CHANGE = _drop(Label.ENTITY_CHANGE)
    SLOT = _drop(Label.SLOT)
    EXTRACTION = _drop(Label.EXTRACTION)
    OUTBOX = _drop(Label.OUTBOX)
