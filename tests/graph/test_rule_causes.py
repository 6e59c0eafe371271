"""Rules' causes on the real server: withdrawn when the rules do not give them any more, and nothing else is."""

import asyncio
from dataclasses import replace

import pytest

from memory.graph import Graph
from memory.graph.rule_causes import RuleReading
from memory.relations import CausalEdge, CausalKind, Origin
from tests.graph.build import cause, day, event, event_id
from tests.graph.test_causes import causes, key, store

pytestmark = pytest.mark.stack


def ruled(one: object, other: object, *, confidence: float = 0.8, kind: CausalKind = CausalKind.LEADS_TO) -> CausalEdge:
    edge = cause(one, other, confidence, kind=kind)
    ends = (edge.cause, edge.effect)
    return replace(edge, provenance=replace(edge.provenance, origin=Origin.RULE, rule="r", evidence=ends))


def reading(sites: range, *edges: CausalEdge) -> RuleReading:
    """What rules find at `sites` of a session of 12 events."""
    return RuleReading(frozenset(event_id(name) for name in sites), tuple(event_id(name) for name in range(12)), edges)


async def test_edges_that_rules_do_not_give_any_more_go_and_the_rest_stays(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 12)
    writer = graph.writer()
    first = await writer.write_rule_causes(tenant, [reading(range(12), ruled(0, 1), ruled(1, 2), ruled(2, 3))])
    assert len(first.added) == 3
    model = replace(cause(0, 2), provenance=replace(cause(0, 2).provenance, origin=Origin.LLM))
    await writer.write_causes(tenant, [model])
    second = await writer.write_rule_causes(tenant, [reading(range(2, 12), ruled(1, 2))])
    assert (second.added, [key(edge) for edge in second.withdrawn]) == ([], [key(ruled(2, 3))])
    expected = {key(ruled(0, 1)), key(ruled(1, 2)), key(model)}
    assert await causes(graph, tenant, *range(4)) == expected


async def test_a_withdrawn_edge_gives_its_place_to_another(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 12)
    writer = graph.writer()
    await writer.write_rule_causes(tenant, [reading(range(12), *(ruled(0, name) for name in range(1, 6)))])
    refused = await writer.write_rule_causes(tenant, [reading(range(6, 7), ruled(0, 6))])
    assert refused.added == []
    changed = await writer.write_rule_causes(tenant, [reading(range(5, 7), ruled(0, 6))])
    assert [key(edge) for edge in changed.added] == [key(ruled(0, 6))]
    assert len(await causes(graph, tenant, 0)) == 5


async def test_new_reasons_for_an_edge_take_the_place_of_the_old_ones(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 12)
    writer = graph.writer()
    await writer.write_rule_causes(tenant, [reading(range(12), ruled(0, 1))])
    changed = await writer.write_rule_causes(tenant, [reading(range(12), ruled(0, 1, confidence=0.9))])
    assert (changed.added, changed.withdrawn) == ([], [])
    around = await graph.reader(tenant).neighbours([event_id(0)], hub_limit=0)
    assert [edge.confidence for edge in around.edges if edge.rule == "r"] == [0.9]


async def test_the_producers_word_takes_over_an_edge_that_a_rule_found_first(graph: Graph, tenant: str) -> None:
    await store(graph, tenant, 12)
    writer = graph.writer()
    await writer.write_rule_causes(tenant, [reading(range(12), ruled(0, 1))])
    said = await writer.write_explicit_causes(tenant, [(event_id(1), (event_id(0),))])
    assert [edge.provenance.origin for edge in said] == [Origin.PRODUCER]
    assert (await writer.write_rule_causes(tenant, [reading(range(12))])).withdrawn == []
    assert await causes(graph, tenant, 0, 1) == {key(ruled(0, 1))}
    assert await writer.write_explicit_causes(tenant, [(event_id(1), (event_id(0),))]) == []


async def test_a_rule_and_a_model_that_close_a_cycle_at_once_never_both_succeed(graph: Graph, tenant: str) -> None:
    for attempt in range(6):
        name = f"{tenant}-{attempt}"
        await graph.writer().write_events([event(name, at, at=at, dates=(day(0, 10),)) for at in range(12)])
        model = replace(cause(1, 0), provenance=replace(cause(1, 0).provenance, origin=Origin.LLM))
        async with asyncio.TaskGroup() as group:
            rule = group.create_task(graph.writer().write_rule_causes(name, [reading(range(12), ruled(0, 1))]))
            other = group.create_task(graph.writer().write_causes(name, [model]))
        assert len(rule.result().added) + len(other.result()) == 1
        assert len(await causes(graph, name, 0, 1)) == 1
