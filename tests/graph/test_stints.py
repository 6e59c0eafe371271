"""The sessions of an agent are one chain in the order of their first events, whatever the order of arrival."""

import asyncio
from itertools import groupby, pairwise
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from memory.check_sessions import SessionOrder
from memory.events import EventNode
from memory.graph import Done, Graph, GraphReader, Mark, SessionLink
from memory.graph.chain import Link
from memory.graph.cypher import Cypher
from memory.graph.driver import Bolt, Transaction
from memory.graph.erases import Erase
from memory.graph.stint_statements import StintStatement
from memory.graph.stints import Stint, closing
from memory.settings import Settings
from tests.graph.build import T0, event

_AGENTS = ("ann", "bob")


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], list[list[list[int]]]]:
    """Events as (time, session, agent), and for each writer the batches in which it writes them."""
    place = st.tuples(st.integers(0, 12), st.integers(0, 4), st.integers(0, 1))
    places = draw(st.lists(place, min_size=2, max_size=16))
    left = list(draw(st.permutations(range(len(places)))))
    writers: list[list[list[int]]] = [[] for _ in range(draw(st.integers(1, 3)))]
    while left:
        size = draw(st.integers(1, len(left)))
        writers[draw(st.integers(0, len(writers) - 1))].append(left[:size])
        left = left[size:]
    return places, writers


def wanted(nodes: list[EventNode]) -> set[tuple[str, str, str]]:
    """What the chains must be, as (agent, session, the next one)."""
    first: dict[tuple[str, str], int] = {}
    for node in nodes:
        key = (node.agent, node.session)
        first[key] = min(node.occurred_us, first.get(key, node.occurred_us))
    ordered = sorted(first, key=lambda key: (key[0], first[key], key[1]))
    chains = groupby(ordered, key=lambda key: key[0])
    return {(agent, one[1], other[1]) for agent, chain in chains for one, other in pairwise(chain)}


async def stored(reader: GraphReader) -> set[tuple[str, str, str]]:
    """The same as it is stored; fails when the two ways do not agree."""
    beside = await reader.beside(await reader.sessions(limit=100))
    onward = {(agent, name, other) for name, one in beside.items() for agent, other in one.next.items()}
    back = {(agent, other, name) for name, one in beside.items() for agent, other in one.previous.items()}
    assert onward == back
    return onward


async def mark(graph: Graph, tenant: str, ids: list[str]) -> None:
    """Let the events be done by the stage of episodes."""
    await graph.writer().write_episodes(tenant, [], done=Done(Mark.EPISODES, ids))


async def place(graph: Graph, tenant: str, nodes: list[EventNode]) -> list[SessionLink]:
    """Store events and let their sessions take their places."""
    await graph.writer().write_events(nodes)
    ids = [node.id for node in nodes]
    made = await graph.writer().place_sessions(tenant, ids)
    await mark(graph, tenant, ids)
    return made


async def differences(graph: Graph, tenant: str) -> list[tuple[str, ...]]:
    """What the proof finds."""
    order = SessionOrder(tenant)
    survey = graph.survey(tenant)
    async for page in survey.events():
        for one in page:
            order.see(one)
    return await order.differences(survey)


@pytest.mark.stack
@examples(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories())
async def test_any_order_batching_and_number_of_writers_give_one_chain_of_sessions(
    stack: Settings, history: tuple[list[tuple[int, int, int]], list[list[list[int]]]]
) -> None:
    places, writers = history
    tenant = f"t-{uuid4().hex}"
    nodes = [
        event(tenant, number, at=at, session=f"s{session}", agent=_AGENTS[agent])
        for number, (at, session, agent) in enumerate(places)
    ]
    async with Graph.open(stack) as graph:
        await graph.ensure_schema()

        async def write(batches: list[list[int]]) -> None:
            for batch in batches:
                await graph.writer().write_events([nodes[number] for number in batch])
            for batch in reversed(batches):
                await graph.writer().place_sessions(tenant, [nodes[number].id for number in batch])

        async with asyncio.TaskGroup() as group:
            for batches in writers:
                group.create_task(write(batches))
        ids = [node.id for node in nodes]
        await mark(graph, tenant, ids)
        assert await stored(graph.reader(tenant)) == wanted(nodes)
        assert await differences(graph, tenant) == []
        await graph.writer().write_events(nodes)
        assert await graph.writer().place_sessions(tenant, ids) == []
        assert await differences(graph, tenant) == [], "doing it again changes nothing"


@pytest.mark.stack
async def test_a_session_whose_first_event_becomes_earlier_moves_with_its_neighbours(graph: Graph, tenant: str) -> None:
    nodes = [event(tenant, n, at=n * 10, session=f"s{n}") for n in range(5)]
    await place(graph, tenant, nodes)
    # the last three come before the others, two of them beside each other, in one batch
    late = [event(tenant, f"late{n}", at=at, session=f"s{n}") for n, at in ((2, -1), (3, -3), (4, 5))]
    made = await place(graph, tenant, late)
    chain = {one: other for _, one, other in await stored(graph.reader(tenant))}
    assert chain == {"s3": "s2", "s2": "s0", "s0": "s4", "s4": "s1"}
    gaps = {(link.source, link.target): link.gap_us for link in made}
    assert gaps == {("s3", "s2"): 2, ("s2", "s0"): 1, ("s0", "s4"): 5, ("s4", "s1"): 5}
    assert await differences(graph, tenant) == []


@pytest.mark.stack
async def test_an_event_that_follows_costs_nothing_more_however_many_sessions_there_are(
    stack: Settings, graph: Graph, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Cypher] = []
    run, collected = Transaction.run, Transaction.collected

    async def counted_run(self: Transaction, statement: Cypher, **parameters: object) -> None:
        ran.append(statement)
        await run(self, statement, **parameters)

    async def counted(self: Transaction, statement: Cypher, **parameters: object) -> list[object]:
        ran.append(statement)
        return await collected(self, statement, **parameters)

    await place(graph, tenant, [event(tenant, n, at=n, session=f"s{n % 9}") for n in range(40)])
    monkeypatch.setattr(Transaction, "run", counted_run)
    monkeypatch.setattr(Transaction, "collected", counted)
    follow = [event(tenant, 40 + n, at=40 + n, session=f"s{n % 9}") for n in range(20)]
    await graph.writer().write_events(follow)
    assert ran
    assert not [one for one in ran if isinstance(one, StintStatement)], "the fast path has no part in it"
    ran.clear()
    assert await graph.writer().place_sessions(tenant, [node.id for node in follow]) == []
    assert ran == [StintStatement.FIRSTS, StintStatement.STINTS_KNOWN]
    one = [event(tenant, "new", at=100, session="new")]
    many = [event(tenant, f"new{n}", at=200 + n, session=f"new{n}") for n in range(30)]
    taken = []
    for nodes in (one, many):
        await graph.writer().write_events(nodes)
        ran.clear()
        assert len(await graph.writer().place_sessions(tenant, [node.id for node in nodes])) == len(nodes)
        taken.append(list(ran))
    assert taken[0] == taken[1], "a batch of new sessions takes the round trips of one"


@pytest.mark.stack
async def test_a_session_that_goes_closes_the_gap_and_an_agent_without_sessions_goes(
    stack: Settings, graph: Graph, tenant: str
) -> None:
    nodes = [event(tenant, n, at=n, session=f"s{n}", agent="ann") for n in range(4)]
    await place(graph, tenant, [*nodes, event(tenant, "b", at=9, session="s1", agent="bob")])
    async with Bolt.open(stack) as bolt:

        async def drop(transaction: Transaction) -> None:
            uids = [f"{tenant}|{nodes[n].id}" for n in (1, 3)]
            await transaction.run(Erase.EVENTS_DROP, uids=uids)

        await bolt.transact(drop, what="test")
    for session in ("s1", "s3"):
        await graph.mender(tenant).rebuild_session(session)
    assert await stored(graph.reader(tenant)) == {("ann", "s0", "s2")}
    assert await differences(graph, tenant) == []


@pytest.mark.stack
async def test_events_that_wait_for_consolidation_are_no_fault_and_those_without_a_place_are(
    graph: Graph, tenant: str
) -> None:
    nodes = [event(tenant, n, at=n, session=f"s{n}") for n in range(3)]
    await place(graph, tenant, nodes[1:])
    waiting = [nodes[0], event(tenant, "earlier", at=-5, session="s2")]
    await graph.writer().write_events(waiting)
    assert await differences(graph, tenant) == []
    await mark(graph, tenant, [node.id for node in waiting])
    # s1 is the last now, and leads to what stands before it
    assert await differences(graph, tenant) == [("agent", "s0"), ("agent", "s1"), ("agent", "s2"), ("agent",)]


@given(st.permutations(range(7)), st.sets(st.integers(0, 6)))
def test_a_chain_closes_over_whatever_leaves_it(order: list[int], leaving: set[int]) -> None:
    links = [Stint("t", "a", f"s{number}", T0 + place).link for place, number in enumerate(order)]
    uids = [links[place].uid for place in sorted(leaving)]
    before: dict[str, Link] = {b.uid: a for a, b in pairwise(links)}
    after: dict[str, Link] = {a.uid: b for a, b in pairwise(links)}
    splice = closing(uids, before, after)
    edges = {(a.uid, b.uid) for a, b in pairwise(links)}
    assert set(splice.removed) <= edges
    left = [link for link in links if link.uid not in uids]
    expected = {(a.uid, b.uid): b.occurred_us - a.occurred_us for a, b in pairwise(left)}
    assert edges - set(splice.removed) | {(a, b) for a, b, _ in splice.added} == set(expected)
    assert all(expected[a, b] == gap_us for a, b, gap_us in splice.added)
