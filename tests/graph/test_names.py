"""Spellings in the real graph: one node a name, the same entities in any order, mentions where they belong."""

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest
from neo4j import AsyncGraphDatabase

from memory.graph import Graph
from memory.relations import EdgeType, Mention, Origin, Provenance
from memory.settings import Settings
from tests.graph.build import T0, event, event_id

pytestmark = pytest.mark.stack


def said(name: object, surface: str, *, kind: str = "person", spoken: bool = False, doubtful: bool = False) -> Mention:
    provenance = Provenance(Origin.RULE, 0.8, T0, rule="names", evidence=(event_id(name),))
    return Mention(event_id(name), surface.lower(), surface, kind, provenance, spoken, doubtful)


async def ask(settings: Settings, statement: str, **parameters: Any) -> list[Any]:
    """Ask the server past the reader, or damage what it holds."""
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    async with (
        AsyncGraphDatabase.driver(settings.graph_uri, auth=auth) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        transaction = await session.begin_transaction()
        rows = [list(row.values()) async for row in await transaction.run(statement, parameters)]
        await transaction.commit()
        return rows


async def state(settings: Settings, tenant: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Give a tenant's entities, names and mentions as they are stored, without counters."""
    bounds = {"low": f"{tenant}|", "high": f"{tenant}}}"}
    where = "WHERE n.uid > $low AND n.uid < $high"
    entities = await ask(
        settings,
        f"MATCH (n:Entity) {where} RETURN n.key, n.name, n.type, n.aliases, n.events, n.first_us, n.last_us",
        **bounds,
    )
    names = await ask(
        settings, f"MATCH (n:Name) {where} RETURN n.form, n.key, n.type, n.standing, n.rule, n.confidence", **bounds
    )
    edges = await ask(
        settings,
        f"MATCH (n:Event)-[r]->(m) {where} AND type(r) <> 'NEXT'"
        " RETURN n.id, type(r), coalesce(m.key, ''), r.form, r.surface, r.rule, r.confidence, r.said",
        **bounds,
    )
    return sorted(entities, key=str), sorted(names, key=str), sorted(edges, key=str)


SENTENCES = (
    said(0, "Mel"),
    said(1, "Melanie", spoken=True),
    said(2, "Melissa", doubtful=True),
    said(3, "Robert"),
    said(4, "Rob", kind="other"),
    said(5, "Robert Achebe"),
    said(6, "Achebe", doubtful=True),
    said(7, "Robert Lund"),
    said(8, "Lund", kind="other"),
    said(9, "Eleni", spoken=True),
    said(9, "Mel"),
    said(10, "Eleni Kontou"),
    said(11, "Kontou", doubtful=True),
    said(11, "payments service", kind="service", doubtful=True),
    said(12, "Payments Service", kind="service"),
    said(13, "R11", kind="identifier"),
    said(14, "R 11", kind="agent", spoken=True),
    said(15, "Painting", kind="other", doubtful=True),
)


async def store(graph: Graph, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, name, at=name) for name in range(16)])


async def test_any_order_and_any_batches_end_in_the_same_entities(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    seen = []
    for seed in range(5):
        name = f"{tenant}-{seed}"
        await store(graph, name)
        order = random.Random(seed)
        mentions = list(SENTENCES)
        order.shuffle(mentions)
        while mentions:
            size = order.randint(1, 7)
            part, mentions = mentions[:size], mentions[size:]
            await graph.writer().write_mentions(name, part)
            if order.random() < 0.3:
                await graph.writer().write_mentions(name, part)  # once more
        seen.append(await state(settings, name))
    assert all(one == seen[0] for one in seen)
    entities, names, edges = seen[0]
    keys = {row[0]: row[1] for row in names}
    assert keys["mel"] == "melanie"
    assert keys["robert"] == "robert"  # Achebe or Lund
    assert keys["achebe"] == keys["robert achebe"] == "robert achebe"
    assert keys["kontou"] == keys["eleni kontou"] == "eleni"
    assert keys["r11"] == "r 11"
    assert keys["painting"] == ""
    assert sum(row[1] == EdgeType.MAYBE for row in edges) == 2  # Painting and Melissa
    assert {row[0] for row in entities} == {key for key in keys.values() if key}


async def test_writers_at_the_same_time_make_one_node_of_a_new_name_and_the_same_entities(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    await store(graph, tenant)
    alone = f"{tenant}-alone"
    await store(graph, alone)
    await graph.writer().write_mentions(alone, SENTENCES)

    async def work(seed: int) -> None:
        mentions = list(SENTENCES)
        random.Random(seed).shuffle(mentions)
        async with Graph.open(settings) as own:
            for at in range(0, len(mentions), 6):
                await own.writer().write_mentions(tenant, mentions[at : at + 6])

    async with asyncio.TaskGroup() as group:
        for seed in range(3):
            group.create_task(work(seed))
    assert await state(settings, tenant) == await state(settings, alone)
    for label in ("Entity", "Name"):
        uids = [
            row[0]
            for row in await ask(
                settings,
                f"MATCH (n:{label}) WHERE n.uid > $low AND n.uid < $high RETURN n.uid",
                low=f"{tenant}|",
                high=f"{tenant}}}",
            )
        ]
        assert len(uids) == len(set(uids)) > 0


async def test_a_second_candidate_takes_the_short_name_out_again_and_it_is_told(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    writer, reader = graph.writer(), graph.reader(tenant)
    await writer.write_mentions(tenant, [said(0, "Mel"), said(3, "Mel")])
    [change] = await writer.learn_names(tenant, [said(1, "Melanie")])
    assert (change.form, change.before, change.after, change.moved) == ("mel", "mel", "melanie", 2)
    await writer.write_mentions(tenant, [said(1, "Melanie")])
    assert {key: node.events for key, node in (await reader.entities(["mel", "melanie"])).items()} == {"melanie": 3}
    [change] = await writer.learn_names(tenant, [said(2, "Melissa")])
    assert (change.form, change.before, change.after, change.moved) == ("mel", "melanie", "mel", 2)
    found = await reader.entities(["mel", "melanie"])
    assert {key: (node.events, node.aliases) for key, node in found.items()} == {
        "mel": (2, ("Mel",)),
        "melanie": (1, ("Melanie",)),
    }


async def test_later_mentions_follow_a_merge(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    await graph.writer().write_mentions(tenant, [said(0, "Mel"), said(1, "Melanie")])
    [edge] = await graph.writer().write_mentions(tenant, [said(5, "Mel")])
    assert (edge.key, edge.form, edge.provenance.rule) == ("melanie", "mel", "alias-prefix")


async def test_names_are_learned_again_when_events_are_gone(graph: Graph, settings: Settings, tenant: str) -> None:
    await store(graph, tenant)
    without = [mention for mention in SENTENCES if mention.key not in {"robert lund", "lund", "melanie"}]
    await graph.writer().write_mentions(tenant, without)
    expected = await state(settings, tenant)
    await graph.writer().write_mentions(tenant, SENTENCES)
    gone = [event_id(name) for name in (1, 7, 8)]
    await ask(
        settings,
        "UNWIND $ids AS id MATCH (:Event {uid: id})-[r:MENTIONS|SPOKEN_BY|MAYBE]->() DELETE r",
        ids=[f"{tenant}|{ident}" for ident in gone],
    )
    await graph.mender(tenant).drop_entities(["robert lund", "lund", "melanie"])
    await graph.writer().relearn_names(tenant, dict.fromkeys(("robert lund", "lund", "melanie"), ()))
    left = await state(settings, tenant)
    assert left[1:] == expected[1:]
    assert {row[0] for row in left[0]} == {row[0] for row in expected[0]}


async def test_a_doubtful_mention_is_an_edge_once_the_spelling_is_a_name(graph: Graph, tenant: str) -> None:
    await store(graph, tenant)
    reader = graph.reader(tenant)
    assert await graph.writer().write_mentions(tenant, [said(0, "Stavros", doubtful=True)]) == []
    assert await reader.entities(["stavros"]) == {}
    await graph.writer().write_mentions(tenant, [replace(said(1, "Stavros"), spoken=True)])
    assert (await reader.entities(["stavros"]))["stavros"].events == 2
