"""Taking back what a consolidation stage inferred about some events, so that it can be done again.

Each call is one transaction, idempotent, under the locks that the stage's own writes take. What a producer said stays,
and so do episodes: their stage replaces them itself. Events lose the stage's mark in the same transaction.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from memory.events import uid
from memory.graph.chain import session_range
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_moves import hold_entities, recount
from memory.graph.marks import uids_of
from memory.graph.model import Mark
from memory.graph.name_mends import relearn_names
from memory.graph.statements import Statement
from memory.relations import Origin


class ClearStatement(Cypher):
    """Statements of clearing; same rules as in `memory.graph.statements`."""

    CAUSES_WITH = """
MATCH (n:Event) WHERE n.chain > $low AND n.chain < $high
MATCH (n)<-[r:CAUSES]-(:Event) WHERE r.prompt_version = $version
RETURN count(r)"""

    MENTIONS_WITH = """
MATCH (n:Event) WHERE n.chain > $low AND n.chain < $high
MATCH (n)-[r:MENTIONS|MAYBE]->(m) WHERE r.prompt_version = $version
RETURN count(r)"""

    SIMILAR_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:SIMILAR]-(m:Event)
RETURN collect([CASE WHEN startNode(r) = n THEN n.uid ELSE m.uid END,
  CASE WHEN startNode(r) = n THEN m.uid ELSE n.uid END])"""

    SIMILAR_DROP = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:SIMILAR]->(b:Event {uid: row.b})
DELETE r"""

    LOCK = """
MERGE (l:Lock {uid: $uid})
ON CREATE SET l.rev = 0, l.loose = 0, l.slack_us = 0
SET l.rev = l.rev + 1"""

    CAUSES_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})<-[r:CAUSES]-(m:Event)
RETURN collect([m.uid, n.uid, r.kind, r.origin, coalesce(r.prompt_version, '')])"""

    CAUSES_DROP = """
UNWIND $rows AS row
MATCH (a:Event {uid: row.a})-[r:CAUSES]->(b:Event {uid: row.b})
WHERE r.kind = row.kind AND r.origin = row.origin
DELETE r"""

    CAUSES_LEFT = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:CAUSES]-(m:Event)
RETURN collect([n.uid, startNode(r) = n, r.origin])"""

    DEGREES_SET = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.uid})
SET n.causes_out = row.causes_out, n.causes_in = row.causes_in"""

    ENTITIES_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:MENTIONS|SPOKEN_BY]->(e:Entity)
RETURN collect([n.uid, e.uid, e.key, type(r), r.origin, coalesce(r.prompt_version, ''), coalesce(r.form, '')])"""

    ENTITIES_UNLINK = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.a})-[r:MENTIONS|SPOKEN_BY]->(e:Entity {uid: row.b})
WHERE type(r) = row.type
DELETE r"""

    MAYBE_OF = """
UNWIND $uids AS uid
MATCH (n:Event {uid: uid})-[r:MAYBE]->(m:Name)
RETURN collect([n.uid, m.uid, r.origin, coalesce(r.prompt_version, ''), coalesce(r.form, '')])"""

    MAYBE_UNLINK = """
UNWIND $rows AS row
MATCH (n:Event {uid: row.a})-[r:MAYBE]->(m:Name {uid: row.b})
DELETE r"""


class Clearer:
    """Clears one tenant's events. Ids go in and come out without the tenant."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        self._bolt = bolt
        self.tenant = tenant

    async def clear(self, stage: Mark, ids: Sequence[str], *, prompt_version: str | None = None) -> int:
        """Remove what the stage inferred at these events, and their marks; gives the number of edges removed.

        Causal edges belong to their effect. With a `prompt_version` only the edges that were made with it go.
        """
        uids = uids_of(self.tenant, ids)

        async def work(transaction: Transaction) -> tuple[int, dict[str, set[str]]]:
            forms: dict[str, set[str]] = {}
            match stage:
                case Mark.SEMANTIC:
                    gone = await self._similar(transaction, uids) if prompt_version is None else 0
                case Mark.CAUSAL:
                    gone = await self._causes(transaction, uids, prompt_version)
                case Mark.ENTITIES:
                    gone, forms = await self._entities(transaction, uids, prompt_version)
                case Mark.EPISODES:
                    gone = 0
            await transaction.run(Statement.EVENTS_MARK, uids=uids, mark={stage.property_name: False})
            return gone, forms

        if not uids:
            return 0
        gone, forms = await self._bolt.transact(work, what=f"clearing of {stage.value}")
        if forms:
            await relearn_names(self._bolt, self.tenant, forms)
        return gone

    async def holds(self, stage: Mark, session: str, prompt_version: str) -> bool:
        """Tell whether an edge of the stage at an event of the session was made with this prompt version."""
        statements = {Mark.CAUSAL: ClearStatement.CAUSES_WITH, Mark.ENTITIES: ClearStatement.MENTIONS_WITH}
        statement = statements.get(stage)
        if statement is None:
            return False
        low, high = session_range(uid(self.tenant, session))

        async def work(transaction: Transaction) -> bool:
            return bool(await transaction.value(statement, low=low, high=high, version=prompt_version))

        return await self._bolt.transact(work, what="query of prompt versions")

    async def _similar(self, transaction: Transaction, uids: Sequence[str]) -> int:
        pairs = sorted({(a, b) for a, b in await transaction.collected(ClearStatement.SIMILAR_OF, uids=uids)})
        if pairs:
            await transaction.run(ClearStatement.SIMILAR_DROP, rows=[{"a": a, "b": b} for a, b in pairs])
        return len(pairs)

    async def _causes(self, transaction: Transaction, uids: Sequence[str], prompt_version: str | None) -> int:
        await transaction.run(ClearStatement.LOCK, uid=f"{self.tenant}|causes")
        rows = [
            {"a": a, "b": b, "kind": kind, "origin": origin}
            for a, b, kind, origin, version in await transaction.collected(ClearStatement.CAUSES_OF, uids=uids)
            if _goes(origin, version, prompt_version)
        ]
        if not rows:
            return 0
        await transaction.run(ClearStatement.CAUSES_DROP, rows=rows)
        ends = sorted({end for row in rows for end in (row["a"], row["b"])})
        left: Counter[tuple[str, bool]] = Counter()
        for end, outward, origin in await transaction.collected(ClearStatement.CAUSES_LEFT, uids=ends):
            left[end, outward] += origin != Origin.PRODUCER
        degrees = [{"uid": end, "causes_out": left[end, True], "causes_in": left[end, False]} for end in ends]
        await transaction.run(ClearStatement.DEGREES_SET, rows=degrees)
        return len(rows)

    async def _entities(
        self, transaction: Transaction, uids: Sequence[str], prompt_version: str | None
    ) -> tuple[int, dict[str, set[str]]]:
        forms: dict[str, set[str]] = {}
        rows: list[dict[str, Any]] = []
        keys: set[str] = set()
        for a, b, key, kind, origin, version, form in await transaction.collected(
            ClearStatement.ENTITIES_OF, uids=uids
        ):
            if _goes(origin, version, prompt_version):
                rows.append({"a": a, "b": b, "type": kind})
                keys.add(key)
                forms.setdefault(form or key, set()).add(key)
        aside = []
        for a, b, origin, version, form in await transaction.collected(ClearStatement.MAYBE_OF, uids=uids):
            if _goes(origin, version, prompt_version):
                aside.append({"a": a, "b": b})
                forms.setdefault(form, set())
        if aside:
            await transaction.run(ClearStatement.MAYBE_UNLINK, rows=aside)
        if rows:
            await hold_entities(transaction, self.tenant, dict.fromkeys(sorted(keys), ("", "")))
            await transaction.run(ClearStatement.ENTITIES_UNLINK, rows=rows)
            for key in sorted(keys):
                await recount(transaction, self.tenant, key)
        return len(rows) + len(aside), {form: places for form, places in forms.items() if form}


def _goes(origin: str, version: str, wanted: str | None) -> bool:
    return origin != Origin.PRODUCER and (wanted is None or version == wanted)
