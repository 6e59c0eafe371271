"""Facts and supersession in the real graph: event time decides, any order gives the same, nothing is deleted."""

import asyncio
import random

import pytest

from memory.check import Rule, check
from memory.facts import Fact
from memory.graph import Graph
from memory.graph.fact_writes import MAX_RECENT
from memory.relations import EdgeType, Origin, Provenance
from memory.settings import Settings
from memory.vectors import Vectors
from tests.graph.build import T0, event, event_id
from tests.graph.test_names import ask

pytestmark = pytest.mark.stack


def fact(name: object, value: str, *, subject: str = "payments service", attribute: str = "owner") -> Fact:
    provenance = Provenance(Origin.RULE, 0.8, T0, rule="test", evidence=(event_id(name),))
    return Fact(event_id(name), subject, attribute, value, provenance)


async def edges(settings: Settings, tenant: str) -> list[tuple[str, str, str, str]]:
    """Give the stored supersessions as (newer ref, older ref, old value, new value)."""
    rows = await ask(
        settings,
        "MATCH (a:Event)-[r:SUPERSEDES]->(b:Event) WHERE a.uid > $low AND a.uid < $high"
        " RETURN a.ref, b.ref, r.old, r.new",
        low=f"{tenant}|",
        high=f"{tenant}}}",
    )
    return sorted((newer, older, old, new) for newer, older, old, new in rows)


async def test_a_new_value_supersedes_the_events_with_the_old_one(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    await graph.writer().write_events([event(tenant, n, at=n) for n in range(4)])
    facts = [fact(0, "Robert Achebe"), fact(1, "robert achebe"), fact(2, "Ingrid Sol"), fact(3, "Robert Achebe")]
    told = await graph.writer().write_facts(tenant, facts)
    assert {(one.newer, one.older) for one in told} == {
        (event_id(2), event_id(0)),
        (event_id(2), event_id(1)),
        (event_id(3), event_id(2)),
    }
    assert await edges(settings, tenant) == [
        ("2", "0", "Robert Achebe", "Ingrid Sol"),
        ("2", "1", "robert achebe", "Ingrid Sol"),
        ("3", "2", "Ingrid Sol", "Robert Achebe"),
    ]
    assert await graph.writer().write_facts(tenant, facts) == []
    newer = await graph.reader(tenant).superseding([event_id(n) for n in range(4)])
    assert {ident: [one.ref for one in by] for ident, by in newer.items()} == {
        event_id(0): ["2"],
        event_id(1): ["2"],
        event_id(2): ["3"],
    }
    assert (await graph.reader(tenant).counts()).events == 4


async def test_a_late_event_comes_between_in_event_time(graph: Graph, settings: Settings, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, n, at=n) for n in range(3)])
    await graph.writer().write_facts(tenant, [fact(0, "20"), fact(2, "24")])
    assert await edges(settings, tenant) == [("2", "0", "20", "24")]
    told = await graph.writer().write_facts(tenant, [fact(1, "200")])
    assert {(one.newer, one.older, one.withdrawn) for one in told} == {
        (event_id(2), event_id(0), True),
        (event_id(1), event_id(0), False),
        (event_id(2), event_id(1), False),
    }
    assert await edges(settings, tenant) == [("1", "0", "20", "200"), ("2", "1", "200", "24")]


async def test_any_order_any_batches_and_writers_at_once_give_the_same(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    number = MAX_RECENT + 40  # more than a slot remembers
    values = random.Random(5)
    facts = [fact(n, str(values.randint(1, 4))) for n in range(number)]
    facts += [fact(n, str(n), subject="ledger", attribute="ceiling") for n in range(0, number, 9)]
    seen = []
    for seed in range(3):
        name = f"{tenant}-{seed}"
        await graph.writer().write_events([event(name, n, at=n // 3, sequence=n) for n in range(number)])
        order = list(facts)
        if seed:
            random.Random(seed).shuffle(order)
        size = 7 if seed else len(order)
        parts = [order[at : at + size] for at in range(0, len(order), size)]
        if seed == 2:

            async def work(mine: list[list[Fact]], name: str = name) -> None:
                async with Graph.open(settings) as own:
                    for part in mine:
                        await own.writer().write_facts(name, part)

            async with asyncio.TaskGroup() as group:
                for start in range(2):
                    group.create_task(work(parts[start::2]))
        else:
            for part in parts:
                await graph.writer().write_facts(name, part)
        seen.append(await edges(settings, name))
    assert len(seen[0]) > number // 2
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


async def test_facts_of_events_that_are_not_stored_make_nothing(graph: Graph, settings: Settings, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, 0)])
    assert await graph.writer().write_facts(tenant, [fact("gone", "x"), fact("gone", "y", attribute="other")]) == []
    assert await ask(settings, "MATCH (s:Slot) WHERE s.tenant = $tenant RETURN s.uid", tenant=tenant) == []


async def test_an_erased_statement_leaves_what_the_others_give(graph: Graph, settings: Settings, tenant: str) -> None:
    await graph.writer().write_events([event(tenant, n, at=n) for n in range(3)])
    await graph.writer().write_facts(tenant, [fact(0, "20"), fact(1, "200"), fact(2, "24")])
    await ask(settings, "MATCH (n:Event {uid: $uid})-[r:STATES|SUPERSEDES]-() DELETE r", uid=f"{tenant}|{event_id(1)}")
    await graph.writer().relearn_facts(tenant, ["payments service|owner"])
    assert await edges(settings, tenant) == [("2", "0", "20", "24")]


async def test_the_check_finds_an_edge_against_time_and_a_slot_that_counts_wrong(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    await graph.writer().write_events([event(tenant, n, at=n) for n in range(2)])
    await graph.writer().write_facts(tenant, [fact(0, "20"), fact(1, "24")])
    async with Vectors.open(settings, model="test-model", dim=4) as vectors:
        report = await check(graph, vectors, tenant)
        assert {found.rule for found in report.violations} <= {Rule.NO_VECTOR}
        await ask(
            settings,
            "MATCH (a:Event {uid: $a}) MATCH (b:Event {uid: $b}) MATCH (s:Slot {uid: $s})"
            " CREATE (a)-[:SUPERSEDES {kind: 'x'}]->(b) SET s.said = 9",
            a=f"{tenant}|{event_id(0)}",
            b=f"{tenant}|{event_id(1)}",
            s=f"{tenant}|payments service|owner",
        )
        report = await check(graph, vectors, tenant)
    found = {(one.rule, one.ids) for one in report.violations if one.rule is not Rule.NO_VECTOR}
    assert found == {
        (Rule.SLOT_COUNT, ("payments service|owner",)),
        (Rule.SUPERSEDES_ORDER, (event_id(0), event_id(1))),
    }
    assert EdgeType.SUPERSEDES in (await graph.reader(tenant).counts()).edges
