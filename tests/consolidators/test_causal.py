"""The causal stage on the real stores, with the offline rules."""

import random
from typing import Any

import pytest

from consolidators import open_handler
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


EXPECTED = {("c1", "e1"), ("e1", "c2"), ("c2", "r2"), ("m1", "m2"), ("r2", "s1"), ("x1", "d1")}


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
    assert "rationale" not in inferred, "what is published quotes no event"


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


def retried(memory: Memory) -> list[AgentEvent]:
    """A failure that is tried again, talk about it, and a repair: each event changes what others seem to come from."""
    push: dict[str, Any] = {"tool": "push", "args": {"host": "m-2"}}
    return [
        memory.event("c1", "Pushing the bundle to m-2.", kind=CALL, at=0, attributes=push | {"call_id": "1"}),
        memory.event(
            "e1", "Push failed on m-2: the disk is full.", kind=ERROR, at=1, attributes=push | {"call_id": "1"}
        ),
        memory.event("q1", "Can somebody free the disk of m-2?", at=2),
        memory.event("a1", "Done, the disk of m-2 is empty.", at=3, agent="ben"),
        memory.event("c2", "Pushing the bundle again.", kind=CALL, at=4, attributes=push | {"call_id": "2"}),
        memory.event("e2", "Push failed on m-2: read-only.", kind=ERROR, at=5, attributes=push | {"call_id": "2"}),
        memory.event("d1", "We take m-2 out because the push to m-2 failed.", kind=DECISION, at=6),
        memory.event("c3", "Pushing the bundle again.", kind=CALL, at=7, attributes=push | {"call_id": "3"}),
    ]


async def told(memory: Memory, events: list[AgentEvent]) -> set[tuple[str, str, str, float]]:
    """The stored causes with their rule and confidence."""
    ident = {memory.id(event.id or ""): event.id or "" for event in events}
    around = await memory.reader.neighbours(list(ident), hub_limit=0)
    return {
        (ident[edge.source], ident[edge.target], edge.rule, edge.confidence)
        for edge in around.edges
        if edge.edge is EdgeType.CAUSES and edge.forward
    }


@pytest.mark.parametrize("seed", range(5))
async def test_any_order_of_arrival_gives_the_same_causes_with_the_same_reasons(memory: Memory, seed: int) -> None:
    events = retried(memory)
    await memory.run("causal", await memory.store(events))
    expected = await told(memory, events)
    assert {rule for *_, rule, _ in expected} >= {"call-result", "error-retry", "question-answer"}

    def elsewhere(event: AgentEvent) -> AgentEvent:
        return event.model_copy(update={"id": f"x-{event.id}", "session": "again"})

    shuffled = [elsewhere(event) for event in events]
    random.Random(seed).shuffle(shuffled)
    while shuffled:
        batch, shuffled = shuffled[: 1 + seed % 3], shuffled[1 + seed % 3 :]
        await memory.run("causal", await memory.store(batch))
    found = await told(memory, [elsewhere(event) for event in events])
    assert {(cause[2:], effect[2:], rule, sure) for cause, effect, rule, sure in found} == expected


async def test_a_late_event_withdraws_what_the_rules_do_not_give_any_more(memory: Memory) -> None:
    events = retried(memory)
    late = [event for event in events if event.id in {"c2", "e2"}]
    punctual = [event for event in events if event not in late]
    await memory.run("causal", await memory.store(punctual))
    assert ("e1", "c3") in await causes(memory, [event.id or "" for event in events])
    edges = edges_of(await memory.run("causal", await memory.store(late)))
    ids = {memory.id(event.id or ""): event.id for event in events}
    gone = {(ids[edge["source"]], ids[edge["target"]], edge["rule"]) for edge in edges if edge.get("withdrawn")}
    assert ("e1", "c3", "error-retry") in gone
    left = await causes(memory, [event.id or "" for event in events])
    assert left.isdisjoint({(cause, effect) for cause, effect, _ in gone})
    assert {("c2", "e2"), ("e2", "c3")} <= left


async def test_a_withdrawal_that_was_written_and_not_published_is_told_by_the_next_worker(memory: Memory) -> None:
    events = retried(memory)
    late = [event for event in events if event.id in {"c2", "e2"}]
    await memory.run("causal", await memory.store([event for event in events if event not in late]))
    records = await memory.store(late)
    async with open_handler("causal", memory.settings) as handler:
        lost = edges_of(await handler.handle(records))
    again = edges_of(await memory.run("causal", records))

    def gone(edges: list[dict[str, object]]) -> set[tuple[object, ...]]:
        return {(edge["source"], edge["target"], edge["kind"]) for edge in edges if edge.get("withdrawn")}

    assert gone(again) == gone(lost) != set()
    assert edges_of(await memory.run("causal", records)) == []


async def test_what_a_producer_says_is_never_withdrawn(memory: Memory) -> None:
    events = [
        event.model_copy(update={"caused_by": ("e1",)}) if event.id == "c3" else event for event in retried(memory)
    ]
    late = [event for event in events if event.id in {"c2", "e2"}]
    await memory.run("causal", await memory.store([event for event in events if event not in late]))
    await memory.run("causal", await memory.store(late))
    assert ("e1", "c3") in await causes(memory, [event.id or "" for event in events])
