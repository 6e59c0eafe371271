"""Semantic edges, entities and episodes into the real server: keyed, counted once, safe under concurrency."""

import asyncio
from dataclasses import replace

import pytest

from memory.graph import Done, EntityNode, Graph, Mark
from memory.relations import EdgeType, Episode, Mention, Origin, Provenance, SimilarEdge
from tests.graph.build import T0, event, event_id

pytestmark = pytest.mark.stack


def mention(name: object, key: str, surface: str = "", *, spoken: bool = False, confidence: float = 0.8) -> Mention:
    provenance = Provenance(Origin.RULE, confidence, T0, rule="names")
    return Mention(event_id(name), key, surface or key.title(), "person", provenance, spoken)


async def store(graph: Graph, tenant: str, number: int) -> None:
    await graph.writer().write_events([event(tenant, name, at=name) for name in range(number)])


async def test_a_similar_pair_is_one_edge_from_the_smaller_id_whoever_writes_it(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 2)
    low, high = sorted((event_id(0), event_id(1)))
    written = SimilarEdge(low, high, 0.75)

    async def write(edge: SimilarEdge) -> list[SimilarEdge]:
        return await graph.writer().write_similar(tenant, [edge, edge])

    async with asyncio.TaskGroup() as group:
        edges = [written, SimilarEdge(high, low, 0.75)] * 2
        tasks = [group.create_task(write(edge)) for edge in edges]
    assert [edge for task in tasks for edge in task.result()] == [written]
    assert (await graph.reader(tenant).counts()).edges[EdgeType.SIMILAR] == 1
    [edge] = [e for e in (await graph.reader(tenant).neighbours([high], hub_limit=5)).edges if e.edge == "SIMILAR"]
    assert (edge.source, edge.target, edge.forward, edge.strength) == (high, low, False, 0.75)


async def test_an_event_is_not_similar_to_itself(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 1)
    assert await graph.writer().write_similar(tenant, [SimilarEdge(event_id(0), event_id(0), 1.0)]) == []


async def test_an_entity_counts_each_edge_once_and_knows_its_times_and_spellings(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 4)
    mentions = [
        mention(1, "caroline"),
        mention(3, "caroline", "Caro"),
        mention(2, "caroline", spoken=True),
        mention(1, "caroline", confidence=0.2),
    ]
    done = Done(Mark.ENTITIES, (event_id(1), event_id(2), event_id(3)))
    assert len(await graph.writer().write_mentions(tenant, mentions, done=done)) == 3
    assert await graph.writer().write_mentions(tenant, mentions) == []
    assert await graph.reader(tenant).unfinished(done.ids, [Mark.ENTITIES]) == set()
    found = await graph.reader(tenant).entities(["caroline", "nobody"])
    assert found == {
        "caroline": EntityNode("caroline", "Caroline", "person", ("Caro", "Caroline"), 3, T0 + 1, T0 + 3),
    }


async def test_concurrent_writers_of_one_entity_do_not_lose_a_count(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 12)

    async def write(start: int) -> int:
        mentions = [mention(name, "hub") for name in range(start, start + 6)]
        return len(await graph.writer().write_mentions(tenant, mentions))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(write(start)) for start in (0, 3, 6, 0)]
    assert sum(task.result() for task in tasks) == 12
    assert (await graph.reader(tenant).entities(["hub"]))["hub"].events == 12


async def test_a_mention_by_an_event_that_is_not_stored_makes_no_entity(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 1)
    written = await graph.writer().write_mentions(tenant, [mention("gone", "ghost"), mention(0, "real")])
    assert [item.key for item in written] == ["real"]
    assert set(await graph.reader(tenant).entities(["ghost", "real"])) == {"real"}


async def test_names_of_any_script_are_keys(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 1)
    keys = ["o'brien", 'a"b', "系统管理员", "emoji 😀", "back\\slash", "$x {y}", "a|b"]
    await graph.writer().write_mentions(tenant, [mention(0, key) for key in keys])
    assert set(await graph.reader(tenant).entities(keys)) == set(keys)


def episode(name: str, *events: object, title: str = "") -> Episode:
    ids = tuple(event_id(number) for number in events)
    return Episode(event_id(name), "s", ids, T0, T0 + len(ids), title or name, "gap")


async def test_an_episode_holds_its_events_and_writing_it_again_changes_nothing(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 4)
    writer, reader = graph.writer(), graph.reader(tenant)
    first, second = episode("first", 1, 0), episode("second", 2, 3)
    assert await writer.write_episodes(tenant, [first, second]) == [first, second]
    assert await writer.write_episodes(tenant, [second, first]) == []
    assert await reader.episode_events([first.id]) == {first.id: [event_id(0), event_id(1)]}
    assert {event: node.title for event, node in (await reader.episodes_of([event_id(3)])).items()} == {
        event_id(3): "second"
    }
    renamed = replace(second, title="named")
    assert await writer.write_episodes(tenant, [first, renamed]) == [renamed]


async def test_an_event_moves_to_the_episode_written_last_and_an_empty_one_goes(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 4)
    writer, reader = graph.writer(), graph.reader(tenant)
    await writer.write_episodes(tenant, [episode("first", 0, 1), episode("second", 2, 3)])
    await writer.write_episodes(tenant, [episode("first", 0, 1, 2)])
    assert await reader.episode_events([event_id("first"), event_id("second")]) == {
        event_id("first"): [event_id(0), event_id(1), event_id(2)],
        event_id("second"): [event_id(3)],
    }
    await writer.write_episodes(tenant, [episode("all", 0, 1, 2, 3)])
    assert (await reader.counts()).episodes == 1
    await writer.write_episodes(tenant, [episode("all", 0, 1)])
    assert await reader.episodes_of([event_id(2), event_id(3)]) == {}
