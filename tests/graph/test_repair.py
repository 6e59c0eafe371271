"""Each violation that is planted is mended, and nothing else changes."""

import json
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from neo4j import AsyncGraphDatabase
from pymilvus import MilvusClient

from memory.check import Rule, check
from memory.embedding import Encoder, make_encoder
from memory.graph import Done, Graph, Mark
from memory.relations import Episode, Mention, Origin, Provenance, SimilarEdge
from memory.repair import RepairReport, repair
from memory.settings import Settings
from memory.text import document_keywords, document_text
from memory.vectors import VectorRow, Vectors, vector_row
from tests.graph.build import T0, cause, event, event_id

pytestmark = pytest.mark.stack

_NUMBER = 8


@pytest.fixture
async def encoder(settings: Settings) -> AsyncIterator[Encoder]:
    made = make_encoder(settings)
    yield made
    await made.close()


@pytest.fixture
async def vectors(settings: Settings, encoder: Encoder) -> AsyncIterator[Vectors]:
    """Open an empty collection."""
    async with Vectors.open(settings, model=encoder.name, dim=encoder.dim) as opened:
        yield opened


@pytest.fixture
async def memory(graph: Graph, vectors: Vectors, encoder: Encoder, tenant: str) -> "Memory":
    """A sound memory of two sessions with every kind of node and edge."""
    writer = graph.writer()
    nodes = [event(tenant, n, at=n * 10, session="one" if n < 5 else "two") for n in range(_NUMBER)]
    await writer.write_events([node for node in nodes if node.ref not in ("2", "6")])
    await writer.write_events(nodes)
    await writer.write_causes(tenant, [cause(0, 1, 0.8), cause(1, 5, 0.75)])
    await writer.write_explicit_causes(tenant, [(event_id(7), (event_id(6), event_id("not yet")))])
    await writer.write_similar(tenant, [SimilarEdge(event_id(0), event_id(7), 0.5)])
    provenance = Provenance(Origin.RULE, 0.9, T0)
    await writer.write_mentions(tenant, [Mention(event_id(n), "bob", "Bob", "person", provenance) for n in (0, 6)])
    ids = [node.id for node in nodes]
    await writer.place_sessions(tenant, ids)
    await writer.write_episodes(
        tenant,
        [
            Episode(event_id("ep"), "one", (event_id(0), event_id(1)), T0, T0 + 10, "t", "gap"),
            Episode(event_id("ep2"), "two", (event_id(5), event_id(6)), T0 + 50, T0 + 60, "t", "gap"),
        ],
        done=Done(Mark.EPISODES, ids),
    )
    found = await encoder.encode([document_text(node) for node in nodes])
    await vectors.upsert([vector_row(node, document_keywords(node), v) for node, v in zip(nodes, found, strict=True)])
    return Memory(graph, vectors, encoder, tenant)


class Memory:
    """What a test damages, mends and compares, the last two from outside of Magma's own reading."""

    def __init__(self, graph: Graph, vectors: Vectors, encoder: Encoder, tenant: str) -> None:
        self.graph, self.vectors, self.encoder, self.tenant = graph, vectors, encoder, tenant

    async def repair(self) -> RepairReport:
        return await repair(self.graph, self.vectors, self.encoder, self.tenant)

    async def run(self, settings: Settings, statement: str, **parameters: Any) -> list[list[Any]]:
        """Run Cypher behind the back of the writer; gives the rows."""
        auth = (settings.graph_user, settings.graph_password.get_secret_value())
        async with (
            AsyncGraphDatabase.driver(settings.graph_uri, auth=auth) as driver,
            driver.session(database=settings.graph_database) as session,
        ):
            transaction = await session.begin_transaction()
            rows = [list(row.values()) async for row in await transaction.run(statement, parameters)]
            await transaction.commit()
            return rows

    async def dump(self, settings: Settings) -> dict[str, list[str]]:
        """Give every node, edge and vector of the tenant but for counters of writes, sorted."""
        low, high = f"{self.tenant}|", f"{self.tenant}}}"
        within = "n.uid > $low AND n.uid < $high"
        nodes, edges = [], []
        for label in ("Event", "Session", "Agent", "Stint", "Entity", "Episode", "Awaited"):
            rows = await self.run(
                settings, f"MATCH (n:{label}) WHERE {within} RETURN properties(n)", low=low, high=high
            )
            nodes += [_line(label, row[0]) for row in rows]
        query = f"MATCH (n:Event)-[r]->(m) WHERE {within} RETURN n.uid, type(r), m.uid, properties(r)"
        for source, name, target, found in await self.run(settings, query, low=low, high=high):
            edges.append(_line(source, name, target, found))
        for source, name, target, found in await self.run(
            settings, query.replace("Event", "Stint"), low=low, high=high
        ):
            edges.append(_line(source, name, target, found))
        return {"nodes": sorted(nodes), "edges": sorted(edges), "vectors": self._vectors(settings)}

    def _vectors(self, settings: Settings) -> list[str]:
        client = MilvusClient(uri=settings.milvus_uri, timeout=20)
        try:
            rows = client.query(
                settings.milvus_collection, filter=f'tenant == "{self.tenant}"', output_fields=["*"], timeout=20
            )
        finally:
            client.close()
        return sorted(
            _line({name: [round(float(x), 5) for x in v] if name == "vector" else v for name, v in row.items()})
            for row in rows
        )


def _line(*parts: Any) -> str:
    bare = [
        {name: value for name, value in part.items() if name not in ("rev", "edge_rev", "sparse")}
        if isinstance(part, dict)
        else part
        for part in parts
    ]
    return json.dumps(bare, sort_keys=True, default=list)


_A, _B = "MATCH (a:Event {uid: $a})", "MATCH (b:Event {uid: $b})"
_SESSION = "MATCH (s:Session {uid: $tenant + '|one'})"


@pytest.mark.parametrize(
    ("statement", "a", "b", "rules"),
    [
        (f"{_A}-[r:NEXT]->() DELETE r", 1, 0, {Rule.CHAIN_GAP}),
        ("MATCH (a:Event {uid: $a})-[r:NEXT]->() DELETE r WITH a MATCH (b:Event {uid: $b})-[q:NEXT]->() DELETE q", 0, 6,
         {Rule.CHAIN_GAP}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 0, 2, {Rule.CHAIN_BRANCH}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 4, 0, {Rule.CHAIN_ORDER}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 4, 5, {Rule.CHAIN_ORDER}),
        (f"{_A}-[r:NEXT]->() DELETE r WITH a {_B} CREATE (a)-[:NEXT]->(b)", 1, 3, {Rule.CHAIN_GAP, Rule.CHAIN_ORDER}),
        (f"{_A} {_B} CREATE (a)-[:NEXT {{gap_us: 10}}]->(b)", 0, 1, {Rule.DUPLICATE_EDGE}),
        (f"{_A}-[r:CAUSES]->(b:Event {{uid: $b}})"
         " CREATE (a)-[:CAUSES {kind: 'leads_to', created_us: r.created_us + 1}]->(b)", 0, 1, {Rule.DUPLICATE_EDGE}),
        (f"{_A} {_B} CREATE (a)-[:SIMILAR {{cosine: 0.4, created_us: 1}}]->(b)", 0, 7, {Rule.DUPLICATE_EDGE}),
        (f"{_A} SET a.chain = $b", 3, 0, {Rule.CHAIN_ORDER, Rule.CHAIN_GAP}),
        (f"{_A} SET a.chain = 'nowhere'", 3, 0, {Rule.CHAIN_GAP, Rule.NO_EVENT, Rule.SESSION_TOTALS, Rule.CHAIN_ORDER}),
        (f"{_A} {_B} CREATE (a)-[:CAUSES {{kind: 'enables', origin: 'rule', confidence: 0.7}}]->(b)", 5, 0,
         {Rule.CAUSAL_CYCLE}),
    ],
)  # fmt: skip
async def test_a_damaged_event_or_edge_is_as_it_was(
    settings: Settings, memory: Memory, statement: str, a: int, b: int, rules: set[Rule]
) -> None:
    sound = await memory.dump(settings)
    tenant = memory.tenant
    await memory.run(settings, statement, a=f"{tenant}|{event_id(a)}", b=f"{tenant}|{event_id(b)}")
    assert {found.rule for found in (await check(memory.graph, memory.vectors, tenant)).violations} <= rules
    report = await memory.repair()
    assert report.ok, report.check.violations
    assert report.check.events == _NUMBER
    assert {one.rule for one in report.repaired} & rules
    assert await memory.dump(settings) == sound
    again = await memory.repair()
    assert again.ok
    assert again.repaired == []
    assert await memory.dump(settings) == sound


@pytest.mark.parametrize(
    ("statement", "rule", "ids"),
    [
        (f"{_SESSION} SET s.events = 9, s.agents = ['nobody']", Rule.SESSION_TOTALS, ("one",)),
        (f"{_SESSION} SET s.last_uid = '', s.last_chain = ''", Rule.SESSION_TOTALS, ("one",)),
        (
            "CREATE (:Session {uid: $tenant + '|zero', session: 'zero', events: 0, last_uid: ''})",
            Rule.SESSION_TOTALS,
            ("zero",),
        ),
        (
            "MATCH (:Stint {uid: $tenant + '|agent|one'})-[r:NEXT_SESSION]->(:Stint) DELETE r",
            Rule.SESSION_ORDER,
            ("agent", "one"),
        ),
        (
            "MATCH (a:Stint {uid: $tenant + '|agent|one'}) MATCH (b:Stint {uid: $tenant + '|agent|two'})"
            " CREATE (b)-[:NEXT_SESSION {gap_us: 1}]->(a)",
            Rule.SESSION_ORDER,
            ("agent", "two"),
        ),
        ("MATCH (g:Agent {uid: $tenant + '|agent'}) SET g.last_uid = ''", Rule.SESSION_ORDER, ("agent",)),
        ("CREATE (:Agent {uid: $tenant + '|nobody', agent: 'nobody'})", Rule.SESSION_ORDER, ("nobody",)),
        (
            "CREATE (:Stint {uid: $tenant + '|agent|none', agent: 'agent', session: 'none', place: 'x'})",
            Rule.SESSION_ORDER,
            ("agent", "none"),
        ),
        ("CREATE (:Entity {uid: $tenant + '|alone', key: 'alone', events: 0})", Rule.ORPHAN_ENTITY, ("alone",)),
        ("MATCH (e:Entity {uid: $tenant + '|bob'}) SET e.events = 7", Rule.ENTITY_COUNT, ("bob",)),
        ("CREATE (:Episode {uid: $tenant + '|alone', id: 'alone'})", Rule.ORPHAN_EPISODE, ("alone",)),
        (
            "CREATE (:Awaited {uid: $tenant + '|x', cause_uid: $tenant + '|' + $zero, effect_uid: $tenant + '|e'})",
            Rule.AWAITED_ARRIVED,
            (event_id(0), "e"),
        ),
        (
            "MATCH (n:Event {uid: $tenant + '|' + $zero}) MATCH (p:Episode {uid: $tenant + '|' + $ep2})"
            " CREATE (n)-[:PART_OF]->(p)",
            Rule.EPISODE_OVERLAP,
            None,
        ),
    ],
)
async def test_a_damaged_node_is_as_it_was(
    settings: Settings, memory: Memory, statement: str, rule: Rule, ids: tuple[str, ...] | None
) -> None:
    sound = await memory.dump(settings)
    await memory.run(settings, statement, tenant=memory.tenant, zero=event_id(0), ep2=event_id("ep2"))
    report = await memory.repair()
    assert report.ok, report.check.violations
    [found] = report.repaired
    assert found.rule is rule
    assert ids is None or found.ids == ids
    assert await memory.dump(settings) == sound


async def test_a_lost_order_of_sessions_is_made_again(settings: Settings, memory: Memory) -> None:
    """As in a memory that was written before there was one."""
    sound = await memory.dump(settings)
    for label in ("Stint", "Agent"):
        bounds = {"low": f"{memory.tenant}|", "high": f"{memory.tenant}}}"}
        await memory.run(settings, f"MATCH (n:{label}) WHERE n.uid > $low AND n.uid < $high DETACH DELETE n", **bounds)
    assert await memory.dump(settings) != sound
    assert (await memory.repair()).ok
    assert await memory.dump(settings) == sound


async def test_a_lost_session_node_is_made_again(settings: Settings, memory: Memory) -> None:
    sound = await memory.dump(settings)
    await memory.run(settings, f"{_SESSION} DETACH DELETE s", tenant=memory.tenant)
    assert (await memory.repair()).ok
    assert await memory.dump(settings) == sound


async def test_a_doubled_mention_goes_and_its_entity_counts_right(settings: Settings, memory: Memory) -> None:
    sound = await memory.dump(settings)
    statement = (
        "MATCH (n:Event {uid: $n}) MATCH (e:Entity {uid: $e})"
        " CREATE (n)-[:MENTIONS {surface: 'Bob', form: 'bob', created_us: $later}]->(e) SET e.events = 3"
    )
    tenant = memory.tenant
    await memory.run(settings, statement, n=f"{tenant}|{event_id(0)}", e=f"{tenant}|bob", later=T0 + 1)
    report = await memory.repair()
    assert report.ok
    assert [one.rule for one in report.repaired] == [Rule.DUPLICATE_EDGE, Rule.ENTITY_COUNT]
    assert await memory.dump(settings) == sound


async def test_both_stores_hold_the_graphs_events_again(settings: Settings, memory: Memory) -> None:
    sound = await memory.dump(settings)
    dim = memory.encoder.dim
    stranger = VectorRow(
        memory.tenant, event_id("x"), "one", "agent", "ann", T0, "word", (), np.eye(1, dim, dtype=np.float32)[0]
    )
    await memory.vectors.upsert([stranger])
    await memory.vectors.writer(memory.tenant).delete([event_id(2), event_id(6)])
    report = await memory.repair()
    assert report.ok
    assert {(one.rule, one.ids) for one in report.repaired} == {
        (Rule.NO_EVENT, (event_id("x"),)),
        (Rule.NO_VECTOR, (event_id(2),)),
        (Rule.NO_VECTOR, (event_id(6),)),
    }
    assert await memory.dump(settings) == sound


async def test_a_cause_that_had_arrived_is_linked(settings: Settings, memory: Memory) -> None:
    tenant = memory.tenant
    await memory.graph.writer().write_events([event(tenant, "not yet", at=1, session="three")])
    report = await memory.repair()  # the waiting effect 7 is found, and the vector is missing
    assert report.ok
    assert {one.rule for one in report.repaired} == {Rule.AWAITED_ARRIVED, Rule.NO_VECTOR}
    query = "MATCH (a:Event {uid: $a})-[r:CAUSES]->(b:Event {uid: $b}) RETURN r.origin"
    found = await memory.run(settings, query, a=f"{tenant}|{event_id('not yet')}", b=f"{tenant}|{event_id(7)}")
    assert found == [["producer"]]


async def test_a_cycle_loses_its_least_certain_inferred_link_and_never_a_producers(
    settings: Settings, memory: Memory
) -> None:
    tenant = memory.tenant
    statement = f"{_A} {_B} CREATE (a)-[:CAUSES {{kind: 'leads_to', origin: 'producer', confidence: $c}}]->(b)"
    # the producer's link back says less than the inferred ones, and stays; 1 -> 5 is the less certain of the others
    await memory.run(settings, statement, a=f"{tenant}|{event_id(5)}", b=f"{tenant}|{event_id(0)}", c=0.1)
    report = await memory.repair()
    assert report.ok
    [found] = report.repaired
    assert (found.rule, found.ids) == (Rule.CAUSAL_CYCLE, (event_id(1), event_id(5)))
    degrees = await memory.run(settings, f"{_A} RETURN a.causes_out, a.causes_in", a=f"{tenant}|{event_id(1)}")
    assert degrees == [[0, 1]]


async def test_a_cycle_of_producers_alone_is_told_and_kept(settings: Settings, memory: Memory) -> None:
    tenant = memory.tenant
    statement = f"{_A} {_B} CREATE (a)-[:CAUSES {{kind: 'leads_to', origin: 'producer', confidence: 1.0}}]->(b)"
    await memory.run(settings, statement, a=f"{tenant}|{event_id(7)}", b=f"{tenant}|{event_id(6)}")
    before = await memory.dump(settings)
    report = await memory.repair()
    assert not report.ok
    assert report.repaired == []
    [left] = report.check.violations
    assert left.rule is Rule.CAUSAL_CYCLE
    assert set(left.ids) == {event_id(6), event_id(7)}
    assert await memory.dump(settings) == before


async def test_everything_at_once_is_mended_and_another_tenant_is_not_touched(
    settings: Settings, memory: Memory
) -> None:
    other = Memory(memory.graph, memory.vectors, memory.encoder, f"{memory.tenant}-other")
    await memory.graph.writer().write_events([event(other.tenant, n, at=n) for n in range(3)])  # without vectors
    theirs = await other.dump(settings)
    sound = await memory.dump(settings)
    low, high = f"{memory.tenant}|", f"{memory.tenant}}}"
    await memory.run(
        settings, "MATCH (n:Event)-[r:NEXT]->() WHERE n.uid > $low AND n.uid < $high DELETE r", low=low, high=high
    )
    await memory.run(
        settings, "MATCH (s:Session) WHERE s.uid > $low AND s.uid < $high SET s.events = 0", low=low, high=high
    )
    await memory.run(settings, "MATCH (e:Entity {uid: $uid}) SET e.events = 9", uid=f"{memory.tenant}|bob")
    await memory.vectors.writer(memory.tenant).delete_tenant()
    report = await memory.repair()
    assert report.ok
    assert len([one for one in report.repaired if one.rule is Rule.NO_VECTOR]) == _NUMBER
    assert await memory.dump(settings) == sound
    assert await other.dump(settings) == theirs
