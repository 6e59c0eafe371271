"""The check finds each violation that is planted, and nothing in a sound memory."""

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from neo4j import AsyncGraphDatabase

from memory.check import MAX_VIOLATIONS, Rule, check
from memory.graph import Done, Graph, Mark
from memory.relations import Episode, Mention, Origin, Provenance, SimilarEdge
from memory.settings import Settings
from memory.vectors import VectorRow, Vectors
from tests.graph.build import T0, cause, event, event_id

pytestmark = pytest.mark.stack

_NUMBER = 8


@pytest.fixture
async def vectors(settings: Settings) -> AsyncIterator[Vectors]:
    """Open an empty collection."""
    async with Vectors.open(settings, model="test-model", dim=4) as opened:
        yield opened


def row(tenant: str, name: object) -> VectorRow:
    return VectorRow(tenant, event_id(name), "one", "agent", "ann", T0, "word", (), np.array([1, 0, 0, 0], np.float32))


async def fill(graph: Graph, vectors: Vectors, tenant: str) -> None:
    """A sound memory of two sessions with every kind of node and edge."""
    writer = graph.writer()
    nodes = [event(tenant, n, at=n * 10, session="one" if n < 5 else "two") for n in range(_NUMBER)]
    await writer.write_events([node for node in nodes if node.ref not in ("2", "6")])
    await writer.write_events(nodes)
    await writer.write_causes(tenant, [cause(0, 1), cause(1, 5)])
    await writer.write_explicit_causes(tenant, [(event_id(7), (event_id(6), event_id("not yet")))])
    await writer.write_similar(tenant, [SimilarEdge(event_id(0), event_id(7), 0.5)])
    provenance = Provenance(Origin.RULE, 0.9, T0)
    await writer.write_mentions(tenant, [Mention(event_id(n), "bob", "Bob", "person", provenance) for n in (0, 6)])
    ids = [node.id for node in nodes]
    await writer.place_sessions(tenant, ids)
    await writer.write_episodes(
        tenant,
        [Episode(event_id("ep"), "one", (event_id(0), event_id(1)), T0, T0, "t", "gap")],
        done=Done(Mark.EPISODES, ids),
    )
    await vectors.upsert([row(tenant, n) for n in range(_NUMBER)])


async def plant(settings: Settings, statement: str, **parameters: Any) -> None:
    """Damage the graph behind the back of the writer."""
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    async with (
        AsyncGraphDatabase.driver(settings.graph_uri, auth=auth) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        transaction = await session.begin_transaction()
        await (await transaction.run(statement, parameters)).consume()
        await transaction.commit()


async def test_a_sound_memory_has_no_finding(graph: Graph, vectors: Vectors, tenant: str) -> None:
    await fill(graph, vectors, tenant)
    report = await check(graph, vectors, tenant)
    assert report.violations == []
    assert (report.ok, report.sessions, report.events) == (True, 2, _NUMBER)


_A, _B = "MATCH (a:Event {uid: $a})", "MATCH (b:Event {uid: $b})"


@pytest.mark.parametrize(
    ("statement", "a", "b", "expected"),
    [
        (f"{_A}-[r:NEXT]->() DELETE r", 1, 0, {Rule.CHAIN_GAP: (1, 2)}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 0, 2, {Rule.CHAIN_BRANCH: None}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 4, 0, {Rule.CHAIN_ORDER: (4, 0)}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 4, 5, {Rule.CHAIN_ORDER: (4, 5)}),
        (f"{_A} {_B} CREATE (a)-[:NEXT]->(b)", 0, 1, {Rule.DUPLICATE_EDGE: (0, 1)}),
        (
            f"{_A}-[r:NEXT]->() DELETE r WITH a {_B} CREATE (a)-[:NEXT]->(b)",
            1,
            3,
            {Rule.CHAIN_GAP: (1, 2), Rule.CHAIN_ORDER: (1, 3)},
        ),
        (f"{_A} SET a.occurred_us = 1", 3, 0, {Rule.CHAIN_ORDER: (3,), Rule.SESSION_ORDER: None}),
        (f"{_A} {_B} CREATE (a)-[:CAUSES {{kind: 'leads_to'}}]->(b)", 5, 0, {Rule.CAUSAL_CYCLE: None}),
        (f"{_A} {_B} CREATE (a)-[:CAUSES {{kind: 'leads_to'}}]->(b)", 0, 1, {Rule.DUPLICATE_EDGE: (0, 1)}),
        (f"{_A} {_B} CREATE (a)-[:CAUSES {{kind: 'enables'}}]->(b)", 0, 1, {}),
    ],
)
async def test_a_damaged_edge_is_found(
    settings: Settings,
    graph: Graph,
    vectors: Vectors,
    tenant: str,
    statement: str,
    a: int,
    b: int,
    expected: dict[Rule, tuple[int, ...] | None],
) -> None:
    await fill(graph, vectors, tenant)
    await plant(settings, statement, a=f"{tenant}|{event_id(a)}", b=f"{tenant}|{event_id(b)}")
    report = await check(graph, vectors, tenant)
    assert {found.rule for found in report.violations} == set(expected)
    assert report.ok == (not expected)
    for found in report.violations:
        ids = expected[found.rule]
        assert ids is None or found.ids == tuple(event_id(name) for name in ids)
        assert found.tenant == tenant


@pytest.mark.parametrize(
    ("statement", "rule", "ids"),
    [
        ("MATCH (s:Session {uid: $tenant + '|one'}) SET s.events = 9", Rule.SESSION_TOTALS, ("one",)),
        ("MATCH (s:Session {uid: $tenant + '|two'}) SET s.last_uid = ''", Rule.SESSION_TOTALS, ("two",)),
        ("MATCH (s:Session {uid: $tenant + '|one'}) DETACH DELETE s", Rule.SESSION_TOTALS, ("one",)),
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
        ("MATCH (n:Stint {uid: $tenant + '|agent|two'}) SET n.place = ''", Rule.SESSION_ORDER, ("agent", "two")),
        (
            "CREATE (:Stint {uid: $tenant + '|agent|none', agent: 'agent', session: 'none', place: 'x'})",
            Rule.SESSION_ORDER,
            ("agent", "none"),
        ),
        ("MATCH (g:Agent {uid: $tenant + '|agent'}) SET g.last_uid = ''", Rule.SESSION_ORDER, ("agent",)),
        ("CREATE (:Agent {uid: $tenant + '|nobody', agent: 'nobody'})", Rule.SESSION_ORDER, ("nobody",)),
        ("CREATE (:Entity {uid: $tenant + '|alone', key: 'alone', events: 0})", Rule.ORPHAN_ENTITY, ("alone",)),
        ("MATCH (e:Entity {uid: $tenant + '|bob'}) SET e.events = 7", Rule.ENTITY_COUNT, ("bob",)),
        ("CREATE (:Episode {uid: $tenant + '|alone', id: 'alone'})", Rule.ORPHAN_EPISODE, ("alone",)),
        (
            "CREATE (:Awaited {uid: $tenant + '|x', cause_uid: $tenant + '|' + $zero, effect_uid: $tenant + '|e'})",
            Rule.AWAITED_ARRIVED,
            (event_id(0), "e"),
        ),
    ],
)
async def test_a_damaged_node_is_found(
    settings: Settings, graph: Graph, vectors: Vectors, tenant: str, statement: str, rule: Rule, ids: tuple[str, ...]
) -> None:
    await fill(graph, vectors, tenant)
    await plant(settings, statement, tenant=tenant, zero=event_id(0))
    report = await check(graph, vectors, tenant)
    assert [(found.rule, found.ids) for found in report.violations] == [(rule, ids)]


async def test_an_event_in_two_episodes_is_found(
    settings: Settings, graph: Graph, vectors: Vectors, tenant: str
) -> None:
    await fill(graph, vectors, tenant)
    await graph.writer().write_episodes(tenant, [Episode(event_id("ep2"), "two", (event_id(6),), T0, T0, "t", "gap")])
    statement = f"{_A} MATCH (p:Episode {{uid: $p}}) CREATE (a)-[:PART_OF]->(p)"
    await plant(settings, statement, a=f"{tenant}|{event_id(0)}", p=f"{tenant}|{event_id('ep2')}")
    [found] = (await check(graph, vectors, tenant)).violations
    assert found.rule is Rule.EPISODE_OVERLAP
    assert set(found.ids) == {event_id(0), event_id("ep"), event_id("ep2")}


async def test_ids_that_only_one_store_holds_are_found(graph: Graph, vectors: Vectors, tenant: str) -> None:
    await fill(graph, vectors, tenant)
    await vectors.upsert([row(tenant, "stranger")])
    await graph.writer().write_events([event(tenant, "unseen", at=1_000)])
    report = await check(graph, vectors, tenant)
    assert {(found.rule, found.ids) for found in report.violations} == {
        (Rule.NO_EVENT, (event_id("stranger"),)),
        (Rule.NO_VECTOR, (event_id("unseen"),)),
    }


async def test_all_tenants_are_checked_and_findings_are_counted_beyond_those_kept(
    graph: Graph, vectors: Vectors, tenant: str
) -> None:
    number = MAX_VIOLATIONS + 5
    await graph.writer().write_events([event(tenant, n, at=n) for n in range(number)])
    report = await check(graph, vectors)
    assert report.events >= number
    assert report.found >= number
    assert len(report.violations) == MAX_VIOLATIONS
    assert not report.ok
