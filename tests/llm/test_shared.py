"""Each event is read once by a model, whoever asks, whenever and in whatever windows."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from prometheus_client import REGISTRY
from pydantic import SecretStr

from memory.errors import BadSetting, BudgetSpent, RateLimited, UnusableModelOutput
from memory.events import EventNode
from memory.graph import Graph
from memory.llm import Ask, Extractor, Findings, Window, open_extractor
from memory.llm.context import HISTORY_EVENTS
from memory.settings import LlmProvider, Settings
from tests.graph.build import event
from tests.llm.reader import new_in, reading, shown
from tests.llm.server import Reply, Script, serving

pytestmark = pytest.mark.stack

ENTITIES, CAUSES = frozenset({Ask.ENTITIES}), frozenset({Ask.CAUSES})
READER = Reply(read=reading)
CHAINED = Reply(read=lambda request: reading(request, lambda cause, effect: True))


def configured(settings: Settings, script: Script, **given: Any) -> Settings:
    return settings.model_copy(
        update={
            "llm_provider": LlmProvider.OPENAI,
            "llm_model": "reader",
            "openai_base_url": script.url,
            "openai_api_key": SecretStr("k"),
            **given,
        }
    )


@asynccontextmanager
async def worker(settings: Settings, script: Script, **given: Any) -> AsyncIterator[Extractor]:
    """Open what one worker process has: connections of its own and nothing shared but the servers."""
    chosen = configured(settings, script, **given)
    async with Graph.open(chosen) as graph, open_extractor(chosen, graph) as extractor:
        yield extractor


@pytest.fixture
async def graph(settings: Settings) -> AsyncIterator[Graph]:
    async with Graph.open(settings) as opened:
        await opened.ensure_schema()
        yield opened


async def stored(graph: Graph, tenant: str, count: int, **given: Any) -> list[EventNode]:
    nodes = [
        event(tenant, f"{tenant}-{at}", at=at * 1_000_000, text=f"Basalt {at} broke.", **given) for at in range(count)
    ]
    await graph.writer().write_events(nodes)
    return nodes


def window(events: Sequence[EventNode], new: Sequence[EventNode] | None = None) -> Window:
    ids = frozenset(each.id for each in (events if new is None else new))
    return Window(events[0].tenant, events[0].session, tuple(events), ids)


def names(found: Findings) -> list[str]:
    return sorted(each.event for each in found.entities)


async def test_two_stages_two_workers_and_a_restart_ask_once(graph: Graph, settings: Settings, tenant: str) -> None:
    events = await stored(graph, tenant, 6)
    with serving(CHAINED) as script:
        async with worker(settings, script) as first, worker(settings, script) as second, asyncio.TaskGroup() as group:
            entities = group.create_task(first.extract(window(events), ENTITIES))
            causes = group.create_task(second.extract(window(events), CAUSES))
        async with worker(settings, script) as again:
            both = await again.extract(window(events), ENTITIES | CAUSES)
    assert len(script.requests) == 1
    assert names(entities.result()) == names(both) == sorted(each.id for each in events)
    assert causes.result().causes == both.causes
    assert len(both.causes) == 5
    assert (entities.result().causes, causes.result().entities) == ((), ())
    assert (both.prompt_tokens, both.completion_tokens) == (0, 0)


async def test_windows_that_are_cut_otherwise_ask_only_for_what_nobody_has_read(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 10)
    with serving(CHAINED) as script:
        async with worker(settings, script) as extractor:
            await extractor.extract(window(events[:6]), ENTITIES)
            found = await extractor.extract(window(events[3:]), CAUSES)
            assert len(script.requests) == 2
            assert len(await asyncio.gather(*(extractor.extract(window([one]), ENTITIES) for one in events))) == 10
    assert len(script.requests) == 2
    assert len(new_in(script.requests[1])) == 4
    assert {(cause.cause, cause.effect) for cause in found.causes} == {
        (first.id, second.id) for first, second in pairwise(events[2:])
    }


async def test_a_call_shows_the_same_whatever_its_asker_has_around_its_events(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 40)
    with serving(READER) as script:
        async with worker(settings, script) as extractor:
            await extractor.extract(window(events[20:24]), ENTITIES)
            await extractor.extract(window(events, events[30:32]), CAUSES)
    first, second = (list(shown(request).values()) for request in script.requests)
    assert first == [each.text for each in events[20 - HISTORY_EVENTS : 24]]
    assert second == [each.text for each in events[30 - HISTORY_EVENTS : 32]]


async def test_a_new_prompt_or_model_reads_again(graph: Graph, settings: Settings, tenant: str) -> None:
    events = await stored(graph, tenant, 2)
    with serving(READER) as script:
        for model in ("a", "b", "a"):
            async with worker(settings, script, llm_model=model) as extractor:
                await extractor.extract(window(events), ENTITIES)
    assert [request["model"] for request in script.requests] == ["a", "b"]


async def test_what_a_model_cannot_read_is_not_paid_for_again_by_the_next_stage(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 2)
    with serving(Reply("no")) as script:
        async with worker(settings, script) as extractor:
            for asks in (ENTITIES, CAUSES, ENTITIES):
                with pytest.raises(UnusableModelOutput):
                    await extractor.extract(window(events), asks)
    assert len(script.requests) == 2  # the question and its repair


async def test_a_call_that_fails_for_now_leaves_the_events_to_whoever_comes_next(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 2)
    with serving(Reply(status=429), READER) as script:
        async with worker(settings, script) as extractor:
            with pytest.raises(RateLimited):
                await extractor.extract(window(events), ENTITIES)
        async with worker(settings, script) as other:
            assert len((await other.extract(window(events), ENTITIES)).entities) == 2


async def test_a_worker_that_is_stopped_in_a_call_leaves_the_events_to_another(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 2)
    with serving(Reply(read=reading, delay=threading.Event()), READER) as script:
        async with worker(settings, script) as extractor:
            call = asyncio.ensure_future(extractor.extract(window(events), ENTITIES))
            while not script.requests:  # noqa: ASYNC110  the server is a thread
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        async with worker(settings, script) as other:
            assert len((await other.extract(window(events), ENTITIES)).entities) == 2
    assert len(script.requests) == 2


async def test_a_worker_that_died_in_a_call_holds_nobody_up_for_longer_than_its_claim(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 1)
    with serving(READER) as script:
        async with worker(settings, script) as extractor:
            keys = list(extractor._keys(events).values())  # type: ignore[attr-defined]
            now_us = time.time_ns() // 1_000
            await graph.extractions(tenant).claim(keys, holder="dead", now_us=now_us, until_us=now_us + 1_500_000)
            assert len((await extractor.extract(window(events), ENTITIES)).entities) == 1
    assert time.time_ns() // 1_000 > now_us + 1_500_000


async def test_forgetting_an_event_forgets_what_the_model_made_with_it_in_sight(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 9)
    with serving(READER) as script:
        async with worker(settings, script) as extractor:
            await extractor.extract(window(events[:1]), ENTITIES)
            await extractor.extract(window(events[8:]), ENTITIES)
            assert await graph.writer().forget_extractions(tenant, [events[8 - HISTORY_EVENTS].id]) == 1
            await extractor.extract(window(events[:1]), ENTITIES)
            assert len(script.requests) == 2
            await extractor.extract(window(events[8:]), ENTITIES)
    assert len(script.requests) == 3


async def test_nothing_is_kept_of_an_event_that_was_forgotten_meanwhile(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    (one,) = await stored(graph, tenant, 1)
    gone = replace(one, id="00000000-0000-5000-8000-000000000000")
    with serving(READER) as script:
        async with worker(settings, script) as extractor:
            for _ in range(2):
                await extractor.extract(window([one, gone]), ENTITIES)
    assert len(script.requests) == 2
    assert await graph.writer().forget_extractions(tenant, None) == 0


async def test_a_tenant_that_has_spent_its_day_waits_is_named_and_no_other_does(
    graph: Graph, settings: Settings, tenant: str
) -> None:
    events = await stored(graph, tenant, 3)
    others = await stored(graph, f"{tenant}-2", 1)
    with serving(READER) as script:
        async with worker(settings, script, llm_daily_tokens=100) as extractor:
            await extractor.extract(window(events[:1]), ENTITIES)  # 120 tokens, says the server
            with pytest.raises(BudgetSpent) as caught:
                await extractor.extract(window(events[1:]), ENTITIES)
            assert len((await extractor.extract(window(others), ENTITIES)).entities) == 1
            await extractor.extract(window(events[:1]), CAUSES)  # what was read costs nothing
        assert len(script.requests) == 2
        error = caught.value
        assert (error.tenant, error.resumes_at.hour, error.resumes_at.minute) == (tenant, 0, 0)
        until = REGISTRY.get_sample_value("magma_llm_budget_spent_until_seconds", {"tenant": tenant})
        assert until == error.resumes_at.timestamp()
        assert tenant in error.message
        async with worker(settings, script, llm_daily_tokens=10_000) as raised:  # by another process, at once
            assert len((await raised.extract(window(events[1:]), ENTITIES)).entities) == 2


async def test_a_call_is_charged_with_what_it_cost(graph: Graph, settings: Settings, tenant: str) -> None:
    events = await stored(graph, tenant, 1)
    with serving(Reply(status=429), READER) as script:
        async with worker(settings, script, llm_daily_tokens=1_000_000) as extractor:
            with pytest.raises(RateLimited):
                await extractor.extract(window(events), ENTITIES)
            await extractor.extract(window(events), ENTITIES)
    left = REGISTRY.get_sample_value("magma_llm_budget_tokens_left", {"tenant": tenant})
    assert left == 1_000_000 - 120


async def test_a_budget_without_a_graph_to_keep_it_in_is_refused(settings: Settings) -> None:
    with serving(READER) as script, pytest.raises(BadSetting, match="llm_daily_tokens"):
        async with open_extractor(configured(settings, script, llm_daily_tokens=1)):
            pytest.fail("nobody would keep it")
