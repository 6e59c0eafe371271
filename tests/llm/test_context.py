"""What a model is shown around new events: of the chain, of what producers named, of what is near; never who asks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from consolidators.thresholds import theta_of
from memory.events import AgentEvent, EventNode, derive_id
from memory.llm.context import CONTEXT_EVENTS, HISTORY_EVENTS, NEIGHBOURS, Context, Nearness
from memory.records import Handled, Record
from memory.settings import Settings
from tests.consolidators.memory import Memory, edges_of, open_memory
from tests.llm.reader import reading
from tests.llm.server import Reply, serving
from tests.llm.test_calls_per_event import incident
from tests.llm.test_shared import configured

pytestmark = pytest.mark.stack

CHAINED = Reply(read=lambda request: reading(request, lambda cause, effect: True))
Arrangement = Callable[[Memory, list[Record], Settings], Awaitable[list[Handled]]]


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[Memory]:
    async with open_memory(settings, tenant) as opened:
        yield opened


async def around(memory: Memory, new: Sequence[str], *, near: bool = True) -> list[EventNode]:
    nodes = await memory.reader.events([memory.id(name) for name in new])
    nearness = Nearness(memory.vectors, await theta_of(memory.encoder)) if near else None
    context = Context(memory.graph, nearness)
    return await context.around(memory.tenant, list(nodes.values()))


def told(memory: Memory, session: str, count: int, text: str = "Nothing of note.") -> list[AgentEvent]:
    return [memory.event(f"{session}-{at}", f"{text} {at}", at=at, session=session) for at in range(count)]


async def test_history_comes_first_and_is_of_the_chain(memory: Memory) -> None:
    await memory.store(told(memory, "s1", 12))
    found = await around(memory, ["s1-9", "s1-10"], near=False)
    assert [each.ref for each in found] == [f"s1-{at}" for at in range(9 - HISTORY_EVENTS, 9)]


async def test_what_is_near_in_meaning_is_shown_of_any_session_but_nothing_later(memory: Memory) -> None:
    texts = ("The payment gateway refuses every card.", "Cards are refused by the payment gateway again.")
    await memory.store(
        [
            memory.event("before", texts[0], at=0, session="old"),
            memory.event("new", texts[1], at=5, session="now"),
            memory.event("later", texts[0], at=9, session="next"),
            memory.event("far", "Lunch is at noon in the garden.", at=1, session="old"),
        ]
    )
    assert [each.ref for each in await around(memory, ["new"])] == ["before"]


async def test_a_cause_that_a_producer_named_is_shown_wherever_it_is(memory: Memory) -> None:
    await memory.store([memory.event("far", "Basalt 4 is out.", at=0, session="other")])
    await memory.store([memory.event("new", "Every login fails.", at=700, caused_by=["far"], session="now")])
    assert [each.ref for each in await around(memory, ["new"], near=False)] == ["far"]


async def test_recalled_text_is_never_shown(memory: Memory) -> None:
    await memory.store([memory.event("source", "The gateway refuses every card.", at=0, session="old")])
    recalled = memory.event(
        "echo", "The gateway refuses every card.", at=1, session="now", derived_from=[memory.id("source")]
    )
    await memory.store([recalled, memory.event("new", "The gateway refuses every card again.", at=2, session="now")])
    assert [each.ref for each in await around(memory, ["new"])] == ["source"]


async def test_the_context_of_a_call_is_bounded(memory: Memory) -> None:
    await memory.store(told(memory, "old", 40, "The payment gateway refuses every card."))
    await memory.store(
        [memory.event(f"new-{at}", "The payment gateway refuses cards.", at=60 + at, session="now") for at in range(30)]
    )
    assert len(await around(memory, ["new-0"])) == NEIGHBOURS
    assert len(await around(memory, [f"new-{at}" for at in (6, 12, 18, 24, 29)])) == CONTEXT_EVENTS


async def entities_first(memory: Memory, records: list[Record], settings: Settings) -> list[Handled]:
    return [await memory.run(stage, records, settings) for stage in ("entities", "causal")]


async def causal_first(memory: Memory, records: list[Record], settings: Settings) -> list[Handled]:
    return [await memory.run(stage, records, settings) for stage in ("semantic", "causal", "entities")]


async def many_at_once(memory: Memory, records: list[Record], settings: Settings) -> list[Handled]:
    parts = (records[0::2], records[1::2])
    return await asyncio.gather(
        *(memory.run(stage, part, settings) for part in parts for stage in ("causal", "entities"))
    )


async def test_the_edges_are_the_same_whichever_stage_comes_first_and_however_many_workers_ask(
    settings: Settings, tenant: str
) -> None:
    found: list[set[tuple[str, str, str]]] = []
    arrangements: list[Arrangement] = [entities_first, causal_first, many_at_once]
    for at, arrangement in enumerate(arrangements):
        async with open_memory(settings, f"{tenant}-{at}") as memory:
            events = incident(memory.tenant)
            records = await memory.store(events)
            names = {derive_id(event.tenant, event.source, event.id or ""): event.id or "" for event in events}
            with serving(CHAINED) as script:
                done = await arrangement(memory, records, configured(memory.settings, script))
            edges = [edge for handled in done for edge in edges_of(handled)]
            assert not any(handled.rejected or handled.postponed for handled in done)
            found.append(
                {
                    (edge["type"], names.get(edge["source"], edge["source"]), names.get(edge["target"], edge["target"]))
                    for edge in edges
                    if edge["type"] in {"CAUSES", "MENTIONS", "SPOKEN_BY"}
                }
            )
    assert sum(kind == "CAUSES" for kind, _, _ in found[0]) > len(events) / 2
    assert found[0] == found[1] == found[2]
