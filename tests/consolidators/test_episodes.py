"""The episodes stage on the real stores: a function of the set of events."""

import random

import pytest

from consolidators import open_handler
from memory.check import Rule, check
from memory.events import AgentEvent
from memory.graph import Mark
from memory.graph.erasing_pages import Doomed, Page
from memory.records import Handled
from tests.consolidators.memory import Memory, edges_of

pytestmark = pytest.mark.stack


def session(memory: Memory, count: int) -> list[AgentEvent]:
    """Make a session with gaps, runs of one time and several topics."""
    topics = ("The rye bread in the oven.", "The ledger lost its replica.", "A red bicycle for Lisbon.")
    events = []
    at = 0.0
    for number in range(count):
        at += 45 if number % 17 == 16 else (number % 3)
        events.append(memory.event(f"e{number}", f"{topics[number // 6 % 3]} Part {number}.", at=at, sequence=number))
    return events


async def cut(memory: Memory, count: int) -> list[tuple[str, ...]]:
    ids = [memory.id(f"e{number}") for number in range(count)]
    of = await memory.reader.episodes_of(ids)
    assert len(of) == count
    members = await memory.reader.episode_events(sorted({episode.id for episode in of.values()}))
    return sorted(tuple(part) for part in members.values())


async def test_any_arrival_order_and_batching_gives_the_same_episodes(memory: Memory) -> None:
    count = 45
    await memory.run("episodes", await memory.store(session(memory, count)))
    expected = await cut(memory, count)
    assert len(expected) > 4
    for seed in (1, 2):
        other = Memory(memory.settings, f"{memory.tenant}-{seed}", memory.graph, memory.vectors, memory.encoder)
        events = session(other, count)
        chance = random.Random(seed)
        chance.shuffle(events)
        while events:
            size = chance.randint(1, 12)
            await other.run("episodes", await other.store(events[:size]))
            del events[:size]
        names = {other.id(f"e{number}"): memory.id(f"e{number}") for number in range(count)}
        assert sorted(tuple(names[event] for event in part) for part in await cut(other, count)) == expected


async def test_no_episode_is_left_without_events_and_a_second_run_changes_nothing(memory: Memory) -> None:
    events = session(memory, 30)
    late, rest = events[3], [*events[:3], *events[4:]]
    await memory.run("episodes", await memory.store(rest))
    records = await memory.store([late])
    await memory.run("episodes", records)
    counts = await memory.reader.counts()
    assert counts.episodes == len(await cut(memory, 30))
    again = await memory.run("episodes", records)
    assert again.outgoing == ()
    assert await memory.reader.counts() == counts


async def test_events_are_marked_with_their_episode(memory: Memory) -> None:
    await memory.run("episodes", await memory.store(session(memory, 5)))
    ids = [memory.id(f"e{number}") for number in range(5)]
    assert await memory.reader.unfinished(ids, [Mark.EPISODES]) == set()


async def test_sessions_of_an_agent_are_ordered_and_told_and_told_again_by_whoever_gets_them_after_a_crash(
    memory: Memory,
) -> None:
    told = {"s3": "s1", "s1": "s2"}
    events = [
        memory.event(f"e{number}", "Hello.", at=number % 3, session=f"s{(3, 1, 2)[number % 3]}") for number in range(6)
    ]
    records = await memory.store(events[::-1])
    async with open_handler("episodes", memory.settings) as handler:
        died = await handler.handle(records)  # and nobody lives to publish what it gives out
    assert _order(died) == told
    [beside] = [
        one for name, one in (await memory.reader.beside(await memory.reader.sessions(limit=9))).items() if name == "s1"
    ]
    assert (dict(beside.previous), dict(beside.next)) == ({"ana": "s3"}, {"ana": "s2"})
    assert _order(await memory.run("episodes", records)) == told
    assert (await memory.run("episodes", records)).outgoing == ()


async def test_an_erased_first_event_moves_the_session_and_an_erased_session_closes_the_gap(memory: Memory) -> None:
    events = [
        memory.event("first", "Hello.", at=0, session="s2"),
        memory.event("a", "Hello.", at=1, session="s1"),
        memory.event("b", "Hello.", at=2, session="s2"),
        memory.event("c", "Hello.", at=3, session="s3"),
    ]
    await memory.run("episodes", await memory.store(events))
    assert await _next(memory) == {"s2": "s1", "s1": "s3"}
    eraser = memory.graph.eraser(memory.tenant)
    await eraser.remove(Page((Doomed("s2", (memory.id("first"),)),), ("s2",)))
    await eraser.rebuild("s2")
    assert await _next(memory) == {"s1": "s2", "s2": "s3"}
    await eraser.remove(Page((Doomed("s2", (memory.id("b"),)),), ("s2",)))
    await eraser.rebuild("s2")
    assert await _next(memory) == {"s1": "s3"}
    assert [
        found
        for found in (await check(memory.graph, memory.vectors, memory.tenant)).violations
        if found.rule is Rule.SESSION_ORDER
    ] == []


async def _next(memory: Memory) -> dict[str, str]:
    beside = await memory.reader.beside(await memory.reader.sessions(limit=9))
    return {name: one.next["ana"] for name, one in beside.items() if one.next}


def _order(handled: Handled) -> dict[str, str]:
    found = [edge for edge in edges_of(handled) if edge["type"] == "NEXT_SESSION"]
    assert {(edge["agent"], edge["origin"]) for edge in found} == {("ana", "rule")}
    return {edge["source"]: edge["target"] for edge in found}
