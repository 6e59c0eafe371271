"""The episodes stage on the real stores: a function of the set of events."""

import random

import pytest

from memory.events import AgentEvent
from memory.graph import Mark
from tests.consolidators.memory import Memory

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
