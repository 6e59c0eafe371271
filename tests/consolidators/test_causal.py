"""The causal stage on the real stores, with the offline rules."""

import random
from typing import Any

import pytest

from memory.events import AgentEvent, EventKind
from memory.graph import Mark
from memory.relations import EdgeType
from tests.consolidators.memory import Memory, edges_of

pytestmark = pytest.mark.stack

CALL, RESULT, ERROR, DECISION = EventKind.TOOL_CALL, EventKind.TOOL_RESULT, EventKind.ERROR, EventKind.DECISION


def incident(memory: Memory) -> list[AgentEvent]:
    build: dict[str, Any] = {"tool": "build", "args": {"tag": "2.14"}}
    return [
        memory.event("c1", "Building the image.", kind=CALL, at=0, attributes=build | {"call_id": "1"}),
        memory.event("e1", "The mirror answered 502.", kind=ERROR, at=1, attributes=build | {"call_id": "1"}),
        memory.event("c2", "Building the image again.", kind=CALL, at=2, attributes=build | {"call_id": "2"}),
        memory.event("r2", "Image 2.14 built.", kind=RESULT, at=3, attributes=build | {"call_id": "2"}),
        memory.event("m1", "Is it out?", at=4),
        memory.event("m2", "It is out.", at=5, agent="ben"),
        memory.event("s1", "Image 2.14 runs everywhere.", kind=EventKind.STATE_CHANGE, at=6, caused_by=["r2"]),
        memory.event("x1", "The tax calculator crashed.", kind=ERROR, at=7),
        memory.event("d1", "We roll back because the tax calculator crashed.", kind=DECISION, at=8),
    ]


EXPECTED = {("c1", "e1"), ("e1", "c2"), ("c2", "r2"), ("r2", "s1"), ("x1", "d1")}


async def causes(memory: Memory, names: list[str]) -> set[tuple[str, str]]:
    ident = {memory.id(name): name for name in names}
    around = await memory.reader.neighbours(list(ident), hub_limit=0)
    return {
        (ident[edge.source], ident[edge.target])
        for edge in around.edges
        if edge.edge is EdgeType.CAUSES and edge.forward
    }


async def test_structure_producers_and_words_give_the_planned_causes_and_no_others(memory: Memory) -> None:
    events = incident(memory)
    edges = edges_of(await memory.run("causal", await memory.store(events)))
    assert await causes(memory, [event.id or "" for event in events]) == EXPECTED
    by_pair = {(edge["source"], edge["target"]): edge for edge in edges}
    assert len(by_pair) == len(edges) == len(EXPECTED)
    explicit = by_pair[memory.id("r2"), memory.id("s1")]
    assert (explicit["origin"], explicit["confidence"]) == ("producer", 1.0)
    inferred = by_pair[memory.id("e1"), memory.id("c2")]
    assert (inferred["origin"], inferred["rule"]) == ("rule", "error-retry")
    assert set(inferred["evidence"]) == {memory.id("e1"), memory.id("c2")}
    assert inferred["rationale"]


async def test_running_twice_adds_nothing(memory: Memory) -> None:
    records = await memory.store(incident(memory))
    await memory.run("causal", records)
    counts = await memory.reader.counts()
    assert edges_of(await memory.run("causal", records)) == []
    assert await memory.reader.counts() == counts


@pytest.mark.parametrize("seed", [1, 2])
async def test_events_that_come_in_any_order_and_one_by_one_get_the_same_causes(memory: Memory, seed: int) -> None:
    events = incident(memory)
    names = [event.id or "" for event in events]
    random.Random(seed).shuffle(events)
    for start in range(0, len(events), 2):
        await memory.run("causal", await memory.store(events[start : start + 2]))
    assert await causes(memory, names) == EXPECTED


async def test_every_event_is_marked(memory: Memory) -> None:
    events = incident(memory)
    await memory.run("causal", await memory.store(events))
    assert await memory.reader.unfinished([memory.id(event.id or "") for event in events], [Mark.CAUSAL]) == set()


async def test_many_sessions_of_one_batch_do_not_mix(memory: Memory) -> None:
    events = []
    for session in ("one", "two"):
        for event in incident(memory):
            fields = event.model_dump() | {
                "id": f"{session}-{event.id}",
                "session": session,
                "caused_by": [f"{session}-{name}" for name in event.caused_by],
            }
            events.append(AgentEvent(**fields))
    await memory.run("causal", await memory.store(events))
    found = await causes(memory, [event.id or "" for event in events])
    assert found == {(f"{s}-{cause}", f"{s}-{effect}") for s in ("one", "two") for cause, effect in EXPECTED}
