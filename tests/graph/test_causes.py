"""Causal edges into the real server: bounds, cycles and awaited causes under concurrency and in any order."""

import asyncio
from itertools import permutations

import pytest

from memory.graph import Done, Graph, Mark
from memory.graph.driver import Transaction
from memory.graph.statements import Statement
from memory.relations import CausalEdge, CausalKind, EdgeType, Origin
from tests.graph.build import cause, day, event, event_id

pytestmark = pytest.mark.stack


async def causes(graph: Graph, tenant: str, *names: object) -> set[tuple[str, str, str]]:
    """The stored causal edges at these events, as (cause, effect, kind)."""
    found = await graph.reader(tenant).neighbours([event_id(name) for name in names], hub_limit=10)
    return {
        (edge.source, edge.target, edge.kind) if edge.forward else (edge.target, edge.source, edge.kind)
        for edge in found.edges
        if edge.edge is EdgeType.CAUSES
    }


def key(edge: CausalEdge) -> tuple[str, str, str]:
    return (edge.cause, edge.effect, edge.kind.value)


async def store(graph: Graph, tenant: str, number: int) -> None:
    await graph.writer().write_events([event(tenant, name, at=name * 1_000) for name in range(number)])


async def test_what_passes_is_added_once_and_marked_with_it(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 3)
    edges = [cause(0, 1), cause(1, 2), cause(2, 0), cause(0, 2, 0.5), cause(0, 2, kind=CausalKind.ENABLES)]
    done = Done(Mark.CAUSAL, tuple(event_id(name) for name in range(3)))
    added = await graph.writer().write_causes(tenant, edges, done=done)
    assert {key(edge) for edge in added} == {key(edges[0]), key(edges[1]), key(edges[4])}
    assert await graph.writer().write_causes(tenant, edges) == []
    assert await causes(graph, tenant, 0, 1, 2) == {key(edge) for edge in added}
    assert await graph.reader(tenant).unfinished(done.ids, [Mark.CAUSAL]) == set()
    assert await graph.reader(tenant).unfinished(done.ids, [Mark.CAUSAL, Mark.SEMANTIC]) == set(done.ids)


async def test_bounds_hold_over_many_writes_and_the_producer_is_exempt(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 12)
    writer = graph.writer()
    for name in range(1, 9):
        await writer.write_causes(tenant, [cause(0, name)])
    assert len(await causes(graph, tenant, 0)) == 5
    said = await writer.write_explicit_causes(tenant, [(event_id(name), (event_id(0),)) for name in range(9, 12)])
    assert len(said) == 3
    assert len(await causes(graph, tenant, 0)) == 8


async def test_concurrent_writers_never_close_a_cycle(graph: Graph, tenant: str) -> None:
    ring = [cause(0, 1), cause(1, 2), cause(2, 3), cause(3, 0)]
    for attempt in range(10):
        name = f"{tenant}-{attempt}"
        await graph.writer().write_events([event(name, at, at=at, dates=(day(0, 10),)) for at in range(4)])
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(graph.writer().write_causes(name, [edge])) for edge in ring]
        assert sum(len(task.result()) for task in tasks) == 3
        assert len(await causes(graph, name, 0, 1, 2, 3)) == 3


async def test_concurrent_writers_of_the_same_edge_add_it_once(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 2)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(graph.writer().write_causes(tenant, [cause(0, 1)])) for _ in range(4)]
    assert sum(len(task.result()) for task in tasks) == 1
    assert (await graph.reader(tenant).counts()).edges[EdgeType.CAUSES] == 1


async def test_a_cycle_through_a_stored_loose_edge_is_refused(graph: Graph, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, name, at=name, dates=(day(0, 10),)) for name in range(5)])
    writer = graph.writer()
    assert len(await writer.write_causes(tenant, [cause(4, 1)])) == 1
    assert len(await writer.write_causes(tenant, [cause(1, 2), cause(2, 3)])) == 2
    assert await writer.write_causes(tenant, [cause(3, 4)]) == []
    assert len(await writer.write_causes(tenant, [cause(0, 4)])) == 1


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_explicit_causes_are_linked_whatever_comes_first(
    graph: Graph, tenant: str, order: tuple[int, ...]
) -> None:
    parents = {0: (), 1: (event_id(0),), 2: (event_id(0), event_id(1))}
    for name in order:
        await graph.writer().write_events([event(tenant, name, at=name)])
        await graph.writer().write_explicit_causes(tenant, [(event_id(name), parents[name])])
    expected = {(event_id(a), event_id(b), "leads_to") for a, b in ((0, 1), (0, 2), (1, 2))}
    assert await causes(graph, tenant, 0, 1, 2) == expected
    assert [page async for page in graph.survey(tenant).awaited()] == []


async def test_a_parent_stored_while_it_is_being_awaited_is_linked(
    graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent is stored and consolidated between the first look and the commit of what is awaited."""
    await graph.writer().write_events([event(tenant, 1, at=1)])
    run = Transaction.run
    interleaved: list[bool] = []

    async def meanwhile(transaction: Transaction, statement: Statement, **parameters: object) -> None:
        await run(transaction, statement, **parameters)
        if statement is Statement.AWAITED_MERGE and not interleaved:
            interleaved.append(True)
            await graph.writer().write_events([event(tenant, 0)])
            await graph.writer().write_explicit_causes(tenant, [(event_id(0), ())])

    monkeypatch.setattr(Transaction, "run", meanwhile)
    added = await graph.writer().write_explicit_causes(tenant, [(event_id(1), (event_id(0),))])
    assert interleaved
    assert [edge.provenance.origin for edge in added] == [Origin.PRODUCER]
    assert len(await causes(graph, tenant, 0, 1)) == 1


async def test_effects_and_causes_written_by_many_at_once_are_all_linked(graph: Graph, tenant: str) -> None:
    names = list(range(12))

    async def one(name: int) -> None:
        await graph.writer().write_events([event(tenant, name, at=name, session=f"s{name}")])
        parents = (event_id(name - 1),) if name else ()
        await graph.writer().write_explicit_causes(tenant, [(event_id(name), parents)])

    async with asyncio.TaskGroup() as group:
        for name in reversed(names):
            group.create_task(one(name))
    expected = {(event_id(name), event_id(name + 1), "leads_to") for name in names[:-1]}
    assert await causes(graph, tenant, *names) == expected


async def test_an_effect_that_is_not_stored_is_skipped(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 1)
    assert await graph.writer().write_explicit_causes(tenant, [(event_id("gone"), (event_id(0),))]) == []
    assert [page async for page in graph.survey(tenant).awaited()] == []
