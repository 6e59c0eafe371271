"""Events into the real server: the chain is a function of the set, and a write is all or nothing."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from memory.errors import MalformedEvent, Poison
from memory.events import EventNode
from memory.graph import EventsWritten, Graph
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.statements import PROBES, Statement
from memory.relations import EdgeType
from memory.settings import Settings
from tests.graph.build import chain_of, event, sorted_chain

pytestmark = pytest.mark.stack


@st.composite
def histories(draw: st.DrawFn) -> list[list[list[int]]]:
    """Deal events (with duplicates) to writers, each with batches of its own."""
    number = draw(st.integers(1, 14))
    dealt = draw(st.permutations([*range(number), *draw(st.lists(st.integers(0, number - 1), max_size=6))]))
    writers: list[list[list[int]]] = [[] for _ in range(draw(st.integers(1, 3)))]
    left = list(dealt)
    while left:
        size = draw(st.integers(1, len(left)))
        writers[draw(st.integers(0, len(writers) - 1))].append(left[:size])
        left = left[size:]
    return writers


@examples(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    writers=histories(),
    places=st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 2), st.booleans()), min_size=14, max_size=14),
)
async def test_any_order_batching_and_number_of_writers_give_one_chain(
    stack: Settings, writers: list[list[list[int]]], places: list[tuple[int, int, bool]]
) -> None:
    tenant = f"t-{uuid4().hex}"
    nodes = [
        event(tenant, number, at=at, sequence=sequence, session="a" if second else "b")
        for number, (at, sequence, second) in enumerate(places)
    ]
    async with Graph.open(stack) as graph:
        await graph.ensure_schema()

        async def write(batches: list[list[int]]) -> list[EventsWritten]:
            return [await graph.writer().write_events([nodes[number] for number in batch]) for batch in batches]

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(write(batches)) for batches in writers]
        written = {nodes[number].id: nodes[number] for batches in writers for batch in batches for number in batch}
        outcomes = [outcome for task in tasks for outcome in task.result()]
        created = Counter(uid for outcome in outcomes for uid in outcome.created)
        assert created == Counter(node.uid for node in written.values()), "each event is created once"
        assert not any(outcome.conflicts for outcome in outcomes)
        reader = graph.reader(tenant)
        assert await chain_of(reader, written) == sorted_chain(list(written.values()))
        sessions = {session.session: session for session in await reader.sessions(limit=10)}
        for name in {node.session for node in written.values()}:
            times = [node.occurred_us for node in written.values() if node.session == name]
            assert sessions[name].events == len(times)
            assert (sessions[name].first_us, sessions[name].last_us) == (min(times), max(times))


async def test_writing_again_changes_nothing(graph: Graph, tenant: str) -> None:
    nodes = [event(tenant, number, at=number) for number in range(5)]
    first = await graph.writer().write_events(nodes)
    again = await graph.writer().write_events(list(reversed(nodes)))
    uids = frozenset(node.uid for node in nodes)
    assert first == EventsWritten(created=uids)
    assert again == EventsWritten(duplicates=uids)
    assert (await graph.reader(tenant).counts()).edges == {EdgeType.NEXT: 4}


async def test_an_id_used_twice_is_reported_and_the_first_write_kept(graph: Graph, tenant: str) -> None:
    node = event(tenant, 1)
    other = replace(node, text="something else", digest="another digest")
    within = await graph.writer().write_events([node, other])
    assert within == EventsWritten(created=frozenset({node.uid}), conflicts=frozenset({node.uid}))
    later = await graph.writer().write_events([other, event(tenant, 2, at=1)])
    assert later.conflicts == {node.uid}
    assert (await graph.reader(tenant).events([node.id]))[node.id].text == node.text


async def test_a_write_that_fails_leaves_nothing_behind(graph: Graph, tenant: str) -> None:
    before = [event(tenant, number, at=number * 10) for number in range(3)]
    await graph.writer().write_events(before)
    bad = replace(event(tenant, "bad", at=5), text="half a pair: \ud800")
    with pytest.raises(Poison):
        await graph.writer().write_events([event(tenant, "late", at=15), bad])
    reader = graph.reader(tenant)
    assert await chain_of(reader, [node.id for node in before]) == sorted_chain(before)
    assert (await reader.sessions(limit=1))[0].events == 3
    with pytest.raises(MalformedEvent):
        await graph.writer().write_events([event(tenant, 9, session="a|b")])


class _Broken(Exception):
    """Stands for a process that dies before the commit."""


async def test_nodes_chain_and_session_become_visible_together_or_not_at_all(
    graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [event(tenant, number, at=number * 10) for number in range(4)]
    await graph.writer().write_events([nodes[0], nodes[3]])
    run = Transaction.run
    for breaking in (Statement.EVENTS_CREATE, Statement.NEXT_REMOVE, Statement.NEXT_CREATE):

        async def breaks(
            self: Transaction, statement: Cypher, breaking: Cypher = breaking, **parameters: object
        ) -> None:
            await run(self, statement, **parameters)
            if statement is breaking:
                raise _Broken

        monkeypatch.setattr(Transaction, "run", breaks)
        with pytest.raises(_Broken):
            await graph.writer().write_events(nodes)
        monkeypatch.undo()
        reader = graph.reader(tenant)
        assert await reader.event_ids(limit=10) == sorted([nodes[0].id, nodes[3].id])
        assert (await reader.sessions(limit=1))[0].events == 2
        assert await chain_of(reader, [nodes[0].id]) == {nodes[0].id: nodes[3].id}
    await graph.writer().write_events(nodes)
    assert await chain_of(graph.reader(tenant), [node.id for node in nodes]) == sorted_chain(nodes)


async def test_four_writers_of_the_same_events_create_each_once(graph: Graph, tenant: str) -> None:
    nodes = [event(tenant, number, at=number % 7, session=f"s{number % 3}") for number in range(60)]

    async def write(start: int) -> int:
        order = nodes[start * 15 :] + nodes[: start * 15]
        created = 0
        for at in range(0, 60, 20):
            created += len((await graph.writer().write_events(order[at : at + 20])).created)
        return created

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(write(start)) for start in range(4)]
    assert sum(task.result() for task in tasks) == 60
    assert await chain_of(graph.reader(tenant), [node.id for node in nodes]) == sorted_chain(nodes)
    assert graph.retries > 0, "the writers never met: the test proves nothing"


class _Meter:
    """Counts round trips and what came back, in rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trips: Counter[str] = Counter()
        self.rows = 0
        run, rows, value = Transaction.run, Transaction.rows, Transaction.value

        async def counted_run(transaction: Transaction, statement: Cypher, **parameters: object) -> None:
            self.trips[statement.name] += 1
            await run(transaction, statement, **parameters)

        async def counted_rows(transaction: Transaction, statement: Cypher, **parameters: object) -> list[list[object]]:
            self.trips[statement.name] += 1
            found = await rows(transaction, statement, **parameters)
            self.rows += len(found)
            return found

        async def counted_value(transaction: Transaction, statement: Cypher, **parameters: object) -> object:
            self.trips[statement.name] += 1
            found = await value(transaction, statement, **parameters)
            self.rows += len(found) if isinstance(found, list) else 1
            return found

        monkeypatch.setattr(Transaction, "run", counted_run)
        monkeypatch.setattr(Transaction, "rows", counted_rows)
        monkeypatch.setattr(Transaction, "value", counted_value)

    def taken(self) -> tuple[Counter[str], int]:
        taken = (self.trips, self.rows)
        self.trips, self.rows = Counter(), 0
        return taken


def _late(tenant: str, number: int, stored: int) -> Iterator[EventNode]:
    """Events between stored ones, spread over the whole session."""
    for at in range(number):
        yield event(tenant, f"late {stored} {at}", at=(at * stored // number) * 10 + 5)


async def test_the_cost_of_a_late_event_does_not_grow_with_the_session(
    graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = graph.writer()
    costs = []
    for stored in (200, 2_000):
        name = f"{tenant}-{stored}"
        nodes = [event(name, number, at=number * 10) for number in range(stored)]
        await writer.write_events(nodes)
        meter = _Meter(monkeypatch)
        late = list(_late(name, 8, stored))
        await writer.write_events(late)
        costs.append(meter.taken())
        monkeypatch.undo()
        everything = [*nodes, *late]
        assert await chain_of(graph.reader(name), [node.id for node in everything]) == sorted_chain(everything)
    assert costs[0] == costs[1]
    assert costs[0][0]["CHAIN_AFTER"] == 1
    assert costs[0][0]["CHAIN_BEFORE"] == 1, "the place is found at once, without walking"


async def test_round_trips_of_a_batch_do_not_grow_with_its_sessions(
    graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = _Meter(monkeypatch)
    for sessions in (1, 100):
        nodes = [event(f"{tenant}{sessions}", n, at=n, session=f"s{n % sessions}") for n in range(200)]
        await graph.writer().write_events(nodes)
        assert meter.taken()[0] == {"EVENTS_KNOWN": 1, "SESSIONS_LOCK": 1, "EVENTS_CREATE": 1, "NEXT_CREATE": 1}


async def test_more_late_events_than_one_probe_holds_are_all_spliced(graph: Graph, tenant: str) -> None:
    nodes = [event(tenant, number, at=number) for number in range(3 * PROBES)]
    await graph.writer().write_events(nodes[::2])
    await graph.writer().write_events(nodes[1::2])
    assert await chain_of(graph.reader(tenant), [node.id for node in nodes]) == sorted_chain(nodes)


async def test_a_place_that_the_index_gave_too_late_is_found_along_the_chain(
    graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [event(tenant, number, at=number * 10) for number in range(6)]
    await graph.writer().write_events(nodes)
    rows = Transaction.rows

    async def far(transaction: Transaction, statement: Cypher, **parameters: object) -> list[list[object]]:
        found = await rows(transaction, statement, **parameters)
        if statement is not Statement.CHAIN_AFTER:
            return found
        last = max(nodes, key=lambda node: node.order)
        row = (await transaction.collected(Statement.CHAIN_BEFORE, uids=[last.uid]))[0]
        return [[i, row[1], row[2]] for i, _, _ in found]

    monkeypatch.setattr(Transaction, "rows", far)
    late = event(tenant, "late", at=5)
    await graph.writer().write_events([late])
    monkeypatch.undo()
    everything = [*nodes, late]
    assert await chain_of(graph.reader(tenant), [node.id for node in everything]) == sorted_chain(everything)


async def test_large_events_are_cut_into_messages_that_the_server_takes(graph: Graph, tenant: str) -> None:
    text = "ü" * 30_000
    nodes = [event(tenant, number, at=number, text=text) for number in range(90)]
    outcome = await graph.writer().write_events(nodes)
    assert len(outcome.created) == 90
    assert await chain_of(graph.reader(tenant), [node.id for node in nodes]) == sorted_chain(nodes)


async def test_two_tenants_with_the_same_ids_do_not_meet(graph: Graph, tenant: str) -> None:
    one, other = event(f"{tenant}-a", 1), event(f"{tenant}-b", 1, text="other")
    await graph.writer().write_events([one, other])
    for node in (one, other):
        assert await graph.reader(node.tenant).events([node.id]) == {node.id: node}


async def test_a_transaction_whose_work_raises_is_rolled_back(stack: Settings, tenant: str) -> None:
    async with Bolt.open(stack) as bolt:

        async def work(transaction: Transaction) -> None:
            await transaction.run(Statement.EVENTS_CREATE, rows=[{"uid": f"{tenant}|x"}])
            raise _Broken

        with pytest.raises(_Broken):
            await bolt.transact(work, what="test")

        async def look(transaction: Transaction) -> list[object]:
            return await transaction.collected(Statement.EVENTS_KNOWN, uids=[f"{tenant}|x"])

        assert await bolt.transact(look, what="test") == []
