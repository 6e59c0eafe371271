"""Answers: from the context alone, citations checked, the exact sentinel, errors by their meaning."""

from collections.abc import Sequence

import pytest

from memory.errors import LlmNotConfigured, RateLimited, StoreRefused, StoreUnavailable, UnusableModelOutput
from memory.events import EventNode
from memory.settings import Settings, load_settings
from query_api.answer import UNKNOWN_CITATION, Answerer, Delta, check_citations
from query_api.beside import Beside
from query_api.cues import AnswerKind
from query_api.models import AnswerResult, QueryRequest, QueryResult
from query_api.policy import shipped_policy
from query_api.prompts import SENTINEL, answer_prompt
from query_api.ranking import Evidence, SalienceRanker
from query_api.reading import Reading
from query_api.router import RuleRouter
from query_api.stopwatch import Stopwatch
from query_api.synthesis import synthesize
from query_api.traversal import walk
from tests.query.build import World, node, scored
from tests.query.llm_server import chat_server

REQUEST = QueryRequest(question="When did Caroline go there?")


def configured(base_url: str) -> Settings:
    return load_settings(llm_provider="openai", openai_base_url=base_url, llm_model="m", llm_timeout_s=5)


async def reading(*nodes: EventNode, question: str = REQUEST.question) -> Reading:
    policy = shipped_policy("default")
    route = RuleRouter().understand(question, reference=None, known=frozenset())
    steering = policy.steering(route.intents)
    found = [scored(one, 1 / (place + 1)) for place, one in enumerate(nodes)]
    walked = await walk({one.id: 1.0 for one in nodes}, World([], {}), steering, policy.walk)
    context = synthesize(found, route.intents.top, budget_tokens=500)
    return Reading(
        route=route,
        reference=None,
        policy=policy,
        steering=steering,
        anchors=(),
        walk=walked,
        beside=Beside(),
        candidates=tuple(item.candidate for item in found),
        evidence=Evidence(route, steering, walked),
        ranker=SalienceRanker(),
        scored=tuple(found),
        context=context,
        degraded=(),
        stopwatch=Stopwatch(),
    )


async def parts(answerer: Answerer, read: Reading) -> Sequence[QueryResult | Delta | AnswerResult]:
    return [part async for part in answerer.stream(read, REQUEST)]


async def test_an_answer_comes_with_the_citations_that_stand_in_the_context() -> None:
    with chat_server("7 May", " 2023 <ref:D1:3> <ref:D9:9>") as model:
        async with Answerer.open(configured(model.base_url)) as answerer:
            *_, last = await parts(answerer, await reading(node("D1:3", text="I went yesterday")))
    assert isinstance(last, AnswerResult)
    assert last.answer == "7 May 2023 <ref:D1:3> <ref:D9:9>"
    assert last.citations == ["D1:3"]
    assert UNKNOWN_CITATION in last.degraded
    assert (last.prompt_version, last.model) == ("answer-1", "m")


async def test_an_answer_is_streamed_after_the_retrieval_piece_by_piece() -> None:
    with chat_server("7 ", "May") as model:
        async with Answerer.open(configured(model.base_url)) as answerer:
            first, *pieces, last = await parts(answerer, await reading(node("D1:3")))
    assert type(first) is QueryResult
    assert pieces == [Delta("7 "), Delta("May")]
    assert isinstance(last, AnswerResult)


async def test_the_model_sees_the_context_the_question_and_one_instruction() -> None:
    with chat_server("x") as model:
        async with Answerer.open(configured(model.base_url)) as answerer:
            await parts(answerer, await reading(node("D1:3", text="the {question} is {instruction}")))
    (asked,) = model.asked
    system, user = (message["content"] for message in asked["messages"])
    assert asked["temperature"] == 0
    assert SENTINEL in system
    assert answer_prompt().instructions[AnswerKind.TEMPORAL] in system
    assert "the {question} is {instruction}" in user
    assert user.endswith(f"Question: {REQUEST.question}")


async def test_without_anything_in_the_context_no_model_is_asked() -> None:
    with chat_server("made up") as model:
        async with Answerer.open(configured(model.base_url)) as answerer:
            *_, last = await parts(answerer, await reading())
    assert isinstance(last, AnswerResult)
    assert last.answer == SENTINEL == "Information not found"
    assert model.asked == []


@pytest.mark.parametrize(
    ("status", "error"), [(429, RateLimited), (401, StoreRefused), (404, StoreRefused), (500, StoreUnavailable)]
)
async def test_what_a_model_refuses_is_told_by_what_can_be_done(status: int, error: type[Exception]) -> None:
    with chat_server(status=status) as model:
        async with Answerer.open(configured(model.base_url)) as answerer:
            read = await reading(node("D1:3"))
            answerer._client = answerer._client.with_options(max_retries=0)
            with pytest.raises(error, match="the model m") as caught:
                await parts(answerer, read)
    if isinstance(caught.value, RateLimited):
        assert caught.value.retry_after_s == 7


async def test_a_model_that_is_away_is_unavailable() -> None:
    async with Answerer.open(configured("http://127.0.0.1:9/v1")) as answerer:
        answerer._client = answerer._client.with_options(max_retries=0)
        with pytest.raises(StoreUnavailable):
            await parts(answerer, await reading(node("D1:3")))


async def test_an_answer_of_nothing_is_an_error() -> None:
    with chat_server(" ") as model:
        async with Answerer.open(configured(model.base_url)) as answerer:
            with pytest.raises(UnusableModelOutput):
                await parts(answerer, await reading(node("D1:3")))


async def test_without_a_model_the_error_says_how_to_configure_one() -> None:
    with pytest.raises(LlmNotConfigured, match="openai_base_url"):
        async with Answerer.open(load_settings()):
            pass


def test_a_citation_is_taken_once_and_only_from_the_context() -> None:
    assert check_citations("a <ref:x> b <ref: y > <ref:x> <ref:z>", {"x", "y"}) == (["x", "y"], ["z"])
