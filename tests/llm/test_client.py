"""What a question costs, how its room grows, and what an endpoint's dialect does to it."""

import asyncio
import json
import threading
from typing import Any

import pytest
from prometheus_client import REGISTRY
from pydantic import SecretStr

from memory.errors import CircuitOpen, RateLimited, StoreRefused, StoreUnavailable, UnusableModelOutput
from memory.llm import Ask, Findings, Window
from memory.llm.accounting import MAX_TENANTS, OTHERS, tenant_label
from memory.llm.client import MAX_COMPLETION_TOKENS
from memory.llm.openai_provider import OpenAIExtractor, halved
from memory.settings import LlmProvider, Settings, load_settings
from tests.consolidators.memory import node
from tests.llm.server import Reply, serving
from tests.llm.test_openai_provider import ALL, answer, link, read, window

CUT = Reply('{"events": {', finish_reason="length")


def settings(url: str, **given: Any) -> Settings:
    return load_settings(
        llm_provider=LlmProvider.OPENAI,
        llm_model=given.pop("llm_model", "test-model"),
        openai_base_url=url,
        openai_api_key=SecretStr("k"),
        **given,
    )


async def ask(url: str, asked: Window | None = None, asks: frozenset[Ask] = ALL, **given: Any) -> Findings:
    extractor = OpenAIExtractor(settings(url, **given))
    try:
        return await extractor.extract(asked or window(), asks)
    finally:
        await extractor.close()


def refused(param: str, message: str, code: str = "unsupported_parameter") -> Reply:
    return Reply(status=400, document={"error": {"message": message, "param": param, "code": code, "type": "x"}})


def one(ident: str) -> str:
    return json.dumps({"events": {ident: read(ident)}, "causal_links": []})


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_a_window_that_is_cut_off_twice_is_halved_and_never_asked_again_at_the_same_limit() -> None:
    with serving(CUT, CUT, Reply(one("e2")), Reply(one("e3"))) as script:
        found = await ask(script.url)
    rooms = [request["max_tokens"] for request in script.requests]
    assert rooms[1] == 2 * rooms[0]
    assert rooms[2] == rooms[3] < rooms[0]
    assert [summary.event for summary in found.summaries] == [event.id for event in window().events[1:]]
    asked = [request["response_format"]["json_schema"]["schema"] for request in script.requests]
    assert [list(schema["properties"]["events"]["properties"]) for schema in asked[2:]] == [["e2"], ["e3"]]


async def test_one_event_that_is_cut_off_twice_is_poison() -> None:
    alone = Window("t", "s1", window().events[:1], frozenset({window().events[0].id}))
    with serving(CUT) as script, pytest.raises(UnusableModelOutput, match="needs more than"):
        await ask(script.url, alone)
    rooms = [request["max_tokens"] for request in script.requests]
    assert rooms == sorted(set(rooms))
    assert len(rooms) == 2


async def test_halves_that_do_not_fit_either_are_poison_after_a_bounded_number_of_calls() -> None:
    with serving(CUT) as script, pytest.raises(UnusableModelOutput):
        await ask(script.url)
    assert len(script.requests) == 4
    assert max(request["max_tokens"] for request in script.requests) <= MAX_COMPLETION_TOKENS


async def test_a_request_over_the_models_context_is_halved_at_once() -> None:
    full = refused("messages", "too long", code="context_length_exceeded")
    with serving(full, Reply(one("e2")), Reply(one("e3"))) as script:
        await ask(script.url)
    assert len(script.requests) == 3


def test_the_halves_of_a_window_hold_its_new_events_once_and_nothing_later() -> None:
    events = tuple(node(f"n{at}", "x", at=at) for at in range(7))
    first, second = halved(Window("t", "s1", events, frozenset(event.id for event in events[2:])))
    assert [event.id for event in first.events] == [event.id for event in events[:4]]
    assert first.new == {events[2].id, events[3].id}
    assert second.events == events
    assert second.new == {event.id for event in events[4:]}


async def test_an_endpoint_that_calls_the_limit_otherwise_and_takes_no_temperature_is_understood() -> None:
    replies = (
        refused("max_tokens", "Use 'max_completion_tokens' instead."),
        refused("temperature", "Only the default is supported.", code="unsupported_value"),
        Reply(answer()),
    )
    with serving(*replies) as script:
        await ask(script.url)
    assert [sorted({"max_tokens", "max_completion_tokens", "temperature"} & set(r)) for r in script.requests] == [
        ["max_tokens", "temperature"],
        ["max_completion_tokens", "temperature"],
        ["max_completion_tokens"],
    ]


async def test_a_server_without_schemas_is_told_to_a_person_and_fills_no_dead_letters() -> None:
    no_schemas = refused("response_format", "response_format json_schema is not supported")
    with serving(no_schemas) as script, pytest.raises(StoreRefused, match="JSON schema"):
        await ask(script.url)


async def test_what_is_no_chat_completion_is_no_answer() -> None:
    with serving(Reply(document="<html>hello</html>")) as script, pytest.raises(StoreUnavailable):
        await ask(script.url)


async def test_a_server_error_that_says_when_to_come_again_is_waited_for() -> None:
    with serving(Reply(status=503, headers={"retry-after": "3"})) as script, pytest.raises(RateLimited) as caught:
        await ask(script.url)
    assert caught.value.retry_after_s == 3


async def test_a_provider_that_is_down_is_left_alone_by_all_stages_of_the_process() -> None:
    with serving(Reply(status=500)) as script:
        for _ in range(5):
            with pytest.raises(StoreUnavailable):
                await ask(script.url)
        with pytest.raises(CircuitOpen) as caught:
            await ask(script.url)
    assert script.url in caught.value.message
    assert counted("magma_llm_circuit_open", provider=script.url) == 1
    assert len(script.requests) == 5


async def test_calls_tokens_and_money_are_counted_by_tenant_model_stage_and_prompt_version() -> None:
    what = {"tenant": "t", "model": "priced", "stage": "causal", "prompt_version": "consolidate-2"}
    given = {"llm_model": "priced", "llm_price_prompt": 10.0, "llm_price_completion": 50.0}
    with serving(Reply("no"), Reply(answer())) as script:
        await ask(script.url, asks=frozenset({Ask.CAUSES}), **given)
    assert counted("magma_llm_tokens_total", **what, direction="prompt") == 200
    assert counted("magma_llm_tokens_total", **what, direction="completion") == 40
    assert counted("magma_llm_cost_total", **what) == pytest.approx(200 * 10e-6 + 40 * 50e-6)
    assert counted("magma_llm_calls_total", **what, outcome="unusable") == 1
    assert counted("magma_llm_calls_total", **what, outcome="answered") == 1


async def test_without_prices_no_money_is_counted() -> None:
    with serving(Reply(answer())) as script:
        await ask(script.url, llm_model="unpriced")
    names = {"tenant": "t", "model": "unpriced", "stage": "causal+entities", "prompt_version": "consolidate-2"}
    assert REGISTRY.get_sample_value("magma_llm_cost_total", names) is None
    assert counted("magma_llm_tokens_total", **names, direction="prompt") == 100


def test_labels_of_tenants_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.llm.accounting._tenants", set())
    labels = [tenant_label(f"t{at}") for at in range(MAX_TENANTS + 2)]
    assert labels[-2:] == [OTHERS, OTHERS]
    assert tenant_label("t0") == "t0"


async def test_a_call_that_is_given_up_frees_its_place() -> None:
    delayed = Reply(answer(), delay=threading.Event())
    with serving(delayed, Reply(answer())) as script:
        extractor = OpenAIExtractor(settings(script.url, llm_concurrency=1))
        try:
            call = asyncio.ensure_future(extractor.extract(window(), ALL))
            while not script.requests:  # noqa: ASYNC110  the server is a thread
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert len((await extractor.extract(window(), ALL)).causes) == 1
        finally:
            await extractor.close()


async def test_links_and_events_in_any_order_give_the_same_findings() -> None:
    events = {"e3": read("e3"), "e2": read("e2", "Checkout")}
    with serving(Reply(json.dumps({"causal_links": [link("e1", "e2")], "events": events}))) as script:
        found = await ask(script.url)
    assert [each.surface for each in found.entities] == ["Checkout"]
    assert [summary.event for summary in found.summaries] == [event.id for event in window().events[1:]]
