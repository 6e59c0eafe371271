"""Reading from the real server: one tenant's memory, in one round trip where it matters."""

from collections import Counter

import pytest
from pydantic import SecretStr

from memory.errors import StoreConflict, StoreRefused, StoreUnavailable
from memory.graph import Counts, Graph, Mark, Window, driver
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.model import MentionEdge
from memory.graph.statements import Statement
from memory.relations import (
    RELATION_OF,
    EdgeType,
    EntityType,
    Episode,
    Mention,
    Origin,
    Provenance,
    Relation,
    SimilarEdge,
)
from memory.settings import Settings
from tests.graph.build import T0, cause, event, event_id

pytestmark = pytest.mark.stack


async def fill(graph: Graph, tenant: str) -> None:
    """Ten events of two sessions, with every relation."""
    writer = graph.writer()
    nodes = [event(tenant, n, at=n * 10, session="one" if n < 6 else "two", agent=f"agent{n % 2}") for n in range(10)]
    await writer.write_events(nodes)
    await writer.write_causes(tenant, [cause(1, 4, 0.8)])
    await writer.write_similar(tenant, [SimilarEdge(event_id(1), event_id(8), 0.6)])
    provenance = Provenance(Origin.RULE, 0.9, T0, rule="names")
    mentions = [Mention(event_id(n), "rare", "Rare", EntityType.OTHER, provenance) for n in (1, 9)]
    mentions += [Mention(event_id(n), "hub", "Hub", EntityType.OTHER, provenance) for n in range(7)]
    mentions += [Mention(event_id(n), "ann", "Ann", "person", provenance, spoken=True) for n in (1, 7)]
    await writer.write_mentions(tenant, mentions)
    await writer.write_episodes(
        tenant, [Episode(event_id("ep"), "one", (event_id(0), event_id(1)), T0, T0, "t", "gap")]
    )


async def test_a_frontier_is_expanded_over_all_relations_in_one_round_trip(
    graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(graph, tenant)
    trips: Counter[str] = Counter()
    ask = Bolt.ask

    async def counted(bolt: Bolt, statement: Cypher, **parameters: object) -> list[list[object]]:
        trips[statement.name] += 1
        return await ask(bolt, statement, **parameters)

    monkeypatch.setattr(Bolt, "ask", counted)
    found = await graph.reader(tenant).neighbours([event_id(1), event_id(1)], hub_limit=5)
    assert trips == {"NEIGHBOURS": 1}
    reached = {(edge.edge, edge.target, edge.forward, edge.via) for edge in found.edges}
    low = min(event_id(1), event_id(8))
    assert reached == {
        (EdgeType.NEXT, event_id(0), False, ""),
        (EdgeType.NEXT, event_id(2), True, ""),
        (EdgeType.CAUSES, event_id(4), True, ""),
        (EdgeType.SIMILAR, event_id(8), low == event_id(1), ""),
        (EdgeType.MENTIONS, event_id(9), True, "rare"),
        (EdgeType.SPOKEN_BY, event_id(7), True, "ann"),
    }
    assert {RELATION_OF[edge.edge] for edge in found.edges} == set(Relation)
    assert [(hub.event, hub.key, hub.events) for hub in found.hubs] == [(event_id(1), "hub", 7)]
    [later] = [edge for edge in found.edges if edge.edge is EdgeType.NEXT and edge.forward]
    assert later.gap_us == 10
    [caused] = [edge for edge in found.edges if edge.edge is EdgeType.CAUSES]
    assert (caused.strength, caused.confidence, caused.origin, caused.rule) == (0.8, 0.8, Origin.RULE, "test")


async def test_a_session_is_paged_in_chain_order(graph: Graph, tenant: str) -> None:
    await fill(graph, tenant)
    reader = graph.reader(tenant)
    first = await reader.session_events("one", limit=4)
    rest = await reader.session_events("one", limit=4, after=first[-1])
    assert [node.ref for node in [*first, *rest]] == ["0", "1", "2", "3", "4", "5"]
    assert await reader.session_events("one", limit=4, after=rest[-1]) == []
    within = await reader.session_between("one", T0 + 10, T0 + 40, limit=10)
    assert [node.ref for node in within] == ["1", "2", "3"]
    assert await reader.session_events("on", limit=4) == []


async def test_sessions_entities_and_ids_are_paged(graph: Graph, tenant: str) -> None:
    await fill(graph, tenant)
    reader = graph.reader(tenant)
    [one] = await reader.sessions(limit=1)
    [two] = await reader.sessions(limit=5, after=one.session)
    assert (one.session, one.events, one.agents) == ("one", 6, ("agent0", "agent1"))
    assert (two.session, two.first_us, two.last_us) == ("two", T0 + 60, T0 + 90)
    names = await reader.entity_names(limit=2)
    assert [entity.key for entity in [*names, *await reader.entity_names(limit=2, after=names[-1].key)]] == [
        "ann",
        "hub",
        "rare",
    ]
    pages = [page async for page in reader.all_event_ids(page=4)]
    assert [ident for page in pages for ident in page] == sorted(event_id(n) for n in range(10))
    assert max(len(page) for page in pages) == 4


async def test_counts_and_the_last_event(graph: Graph, tenant: str) -> None:
    reader = graph.reader(tenant)
    assert await reader.last_event_us() is None
    assert await reader.counts() == Counts(0, 0, 0, 0, {})
    await fill(graph, tenant)
    assert await reader.last_event_us() == T0 + 90
    edges = {
        EdgeType.NEXT: 8,
        EdgeType.CAUSES: 1,
        EdgeType.SIMILAR: 1,
        EdgeType.MENTIONS: 9,
        EdgeType.SPOKEN_BY: 2,
        EdgeType.PART_OF: 2,
    }
    assert await reader.counts() == Counts(10, 2, 3, 1, edges)


async def test_a_window_is_cut_at_the_ends_of_the_session(graph: Graph, tenant: str) -> None:
    await fill(graph, tenant)
    found = await graph.reader(tenant).window([event_id(0), event_id(2)], before=3, after=2)
    assert found == {
        event_id(0): Window((), (event_id(1), event_id(2))),
        event_id(2): Window((event_id(1), event_id(0)), (event_id(3), event_id(4))),
    }
    with pytest.raises(ValueError):
        await graph.reader(tenant).window([event_id(0)], before=17, after=0)


async def test_a_tenant_reads_its_own_only(graph: Graph, tenant: str) -> None:
    await fill(graph, tenant)
    for stranger in (f"{tenant}x", tenant[:-1], f"{tenant}}}", "%", "'"):
        reader = graph.reader(stranger)
        ids = [event_id(n) for n in range(10)]
        assert await reader.events(ids) == {}
        assert (await reader.neighbours(ids, hub_limit=100)).edges == ()
        assert await reader.sessions(limit=10) == []
        assert await reader.session_events("one", limit=10) == []
        assert await reader.entities(["rare"]) == {}
        assert await reader.entity_names(limit=10) == []
        assert await reader.event_ids(limit=10) == []
        assert await reader.counts() == Counts(0, 0, 0, 0, {})
        assert await reader.unfinished(ids, []) == set(ids)
    assert tenant in await graph.tenants()


async def test_an_event_is_unfinished_until_each_stage_has_marked_it(graph: Graph, tenant: str) -> None:
    await fill(graph, tenant)
    ids = [event_id(0), event_id(1), "not stored"]
    reader = graph.reader(tenant)
    await graph.writer().mark_consolidated(tenant, Mark.SEMANTIC, ids)
    await graph.writer().mark_consolidated(tenant, Mark.CAUSAL, ids[:1])
    assert await reader.unfinished(ids, [Mark.SEMANTIC]) == {"not stored"}
    assert await reader.unfinished(ids, [Mark.SEMANTIC, Mark.CAUSAL]) == {event_id(1), "not stored"}


async def test_the_schema_may_be_made_again_and_holds_keys_unique(
    stack: Settings, graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await graph.ensure_schema()
    await graph.ensure_schema()
    monkeypatch.setattr(driver, "ATTEMPTS", 2)
    async with driver.Bolt.open(stack) as bolt:

        async def twice(transaction: Transaction) -> None:
            await transaction.run(Statement.EVENTS_CREATE, rows=[{"uid": f"{tenant}|1"}] * 2)

        with pytest.raises(StoreConflict):
            await bolt.transact(twice, what="test")
    assert await graph.reader(tenant).event_ids(limit=1) == []


async def test_a_server_that_is_away_and_wrong_credentials_are_told_apart(stack: Settings) -> None:
    away = stack.model_copy(update={"graph_uri": "bolt://127.0.0.1:1", "graph_timeout_s": 2.0})
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1"):
        async with Graph.open(away):
            pass
    wrong = stack.model_copy(update={"graph_password": SecretStr("wrong password")})
    with pytest.raises(StoreRefused):
        async with Graph.open(wrong):
            pass
    elsewhere = stack.model_copy(update={"graph_database": "nowhere"})
    with pytest.raises(StoreRefused):
        async with Graph.open(elsewhere):
            pass
    with pytest.raises(StoreRefused, match="not a Bolt address"):
        async with Graph.open(stack.model_copy(update={"graph_uri": "ftp://x"})):
            pass


async def test_mentions_are_given_with_the_spelling_of_their_event_and_apart_from_speakers(
    graph: Graph, tenant: str
) -> None:
    await fill(graph, tenant)
    reader = graph.reader(tenant)
    assert await reader.mentions([event_id(1), event_id(77)]) == [
        MentionEdge(event_id(1), "ann", "Ann", spoken=True),
        MentionEdge(event_id(1), "hub", "Hub", spoken=False),
        MentionEdge(event_id(1), "rare", "Rare", spoken=False),
    ]
    assert await reader.mentions([event_id(9)]) == [MentionEdge(event_id(9), "rare", "Rare", spoken=False)]
    assert await graph.reader(f"{tenant}-other").mentions([event_id(1)]) == []
