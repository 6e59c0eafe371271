"""Every Cypher statement that writes entities, names and mentions, or reads them in order to write.

The same rules as in `memory.graph.statements`. A `Name` is a spelling of a tenant (its normal form): what its mentions
say of it, and the entity that it stands for. It is what writers of a spelling hold, so that no mention is written to an
entity that the spelling has just left.
"""

from memory.graph.cypher import Cypher


def _of_form(pattern: str) -> str:
    """Write the statement for the edges of one spelling into one node. Edges of older stores name no form."""
    return f"""
MATCH {pattern}
WHERE coalesce(r.form, b.key) = $form
RETURN collect([n.uid, properties(r), n.occurred_us, n.id, n.session])"""


def _remove(pattern: str) -> str:
    return f"""
MATCH {pattern}
WHERE coalesce(r.form, b.key) = $form
DELETE r"""


def _merge(label: str, edge: str) -> str:
    return f"""
UNWIND $rows AS row
MATCH (a:Event {{uid: row.a}})
MATCH (b:{label} {{uid: row.b}})
SET a.edge_rev = $born
MERGE (a)-[r:{edge} {{form: row.form}}]->(b)
ON CREATE SET r += row.edge, r.born = $born
WITH a, r, row WHERE r.born = $born
RETURN collect([row.i, a.occurred_us, a.id])"""


class EntityStatement(Cypher):
    """Statements over entities and their names."""

    NAMES_LOCK = """
MERGE (l:Lock {uid: $uid})
ON CREATE SET l.rev = 0
SET l.rev = l.rev + 1
RETURN l.rev"""

    NAMES_READ = """
UNWIND $uids AS uid
MATCH (n:Name {uid: uid})
RETURN collect([n.form, n.key, n.type, n.weight, n.standing, n.pinned, n.rule, n.confidence])"""

    # Changing `rev` first makes writers of one name exclude each other: what is read after it is committed.
    NAMES_HOLD = """
UNWIND $uids AS uid
MATCH (n:Name {uid: uid})
SET n.rev = n.rev + 1
RETURN collect([n.form, n.key, n.type, n.weight, n.standing, n.pinned, n.rule, n.confidence])"""

    NAMES_PUT = """
UNWIND $rows AS row
MERGE (n:Name {uid: row.uid})
ON CREATE SET n.rev = 0
SET n.rev = n.rev + 1
SET n += row.name"""

    NAMES_DROP = """
UNWIND $uids AS uid
MATCH (n:Name {uid: uid})
DETACH DELETE n"""

    BLOCKS_READ = """
UNWIND $uids AS uid
MATCH (b:Block {uid: uid})
RETURN collect([b.uid, b.forms])"""

    BLOCKS_PUT = """
UNWIND $rows AS row
MERGE (b:Block {uid: row.uid})
SET b.forms = row.forms"""

    ENTITIES_LOCK = """
UNWIND $rows AS row
MERGE (e:Entity {uid: row.uid})
ON CREATE SET e.tenant = row.tenant, e.key = row.key, e.name = row.name, e.type = row.type, e.weight = 0.0,
  e.named = '', e.rev = 0, e.events = 0, e.aliases = []
SET e.rev = e.rev + 1
RETURN collect([e.uid, e.name, e.named, e.type, e.weight, e.aliases, e.events, e.first_us, e.last_us])"""

    ENTITIES_UPDATE = """
UNWIND $rows AS row
MATCH (e:Entity {uid: row.uid})
SET e += row.entity"""

    ENTITIES_DROP = """
UNWIND $uids AS uid
MATCH (e:Entity {uid: uid})
WHERE NOT (e)<-[:MENTIONS|SPOKEN_BY]-(:Event)
DETACH DELETE e"""

    ENTITY_EDGES = """
MATCH (b:Entity {uid: $uid})<-[r:MENTIONS|SPOKEN_BY]-(n:Event)
RETURN collect([coalesce(r.form, b.key), r.surface, r.type, r.weight, n.occurred_us, n.id])"""

    MENTIONS_MERGE = _merge("Entity", "MENTIONS")
    SPOKEN_MERGE = _merge("Entity", "SPOKEN_BY")
    MAYBE_MERGE = _merge("Name", "MAYBE")

    MENTIONS_OF_FORM = _of_form("(b:Entity {uid: $uid})<-[r:MENTIONS]-(n:Event)")
    SPOKEN_OF_FORM = _of_form("(b:Entity {uid: $uid})<-[r:SPOKEN_BY]-(n:Event)")
    MAYBE_OF_FORM = _of_form("(b:Name {uid: $uid})<-[r:MAYBE]-(n:Event)")
    # Everything that a spelling is known by, wherever its mentions are.
    EDGES_OF_FORMS = """
UNWIND $rows AS row
MATCH (b:Entity {uid: row.entity})<-[r:MENTIONS|SPOKEN_BY]-(:Event)
WHERE coalesce(r.form, b.key) = row.form
RETURN collect([row.form, row.key, r.type, r.weight, type(r) = 'SPOKEN_BY', r.doubtful])"""

    MENTIONS_REMOVE = _remove("(b:Entity {uid: $uid})<-[r:MENTIONS]-(n:Event)")
    SPOKEN_REMOVE = _remove("(b:Entity {uid: $uid})<-[r:SPOKEN_BY]-(n:Event)")
    MAYBE_REMOVE = _remove("(b:Name {uid: $uid})<-[r:MAYBE]-(n:Event)")

    # What an operator or a model decided, of every spelling of a tenant.
    NAMES_PINNED = """
MATCH (n:Name)
WHERE n.uid > $low AND n.uid < $high AND n.pinned <> ''
RETURN collect([n.form, n.pinned])"""

    CHANGES_OF = """
MATCH (c:EntityChange)
WHERE c.uid > $low AND c.uid < $high AND ($form = '' OR c.form = $form OR c.before = $form OR c.after = $form)
WITH c ORDER BY c.uid DESC LIMIT $limit
RETURN collect(properties(c))"""

    CHANGE_AT = """
MATCH (c:EntityChange {uid: $uid})
RETURN collect(properties(c))"""

    # A few events that name an entity, whichever the server finds first.
    EXAMPLES_OF = """
MATCH (e:Entity {uid: $uid})<-[:MENTIONS]-(n:Event)
WITH n LIMIT $limit
RETURN collect(n.id)"""

    CHANGES_PUT = """
UNWIND $rows AS row
MERGE (c:EntityChange {uid: row.uid})
SET c += row.change"""
