"""Answers from a context, by any OpenAI-compatible model (arXiv 2601.03236, appendix C.2).

The context is all that the model is given. An answer is not rewritten: its citations are checked and listed beside it.
"""

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import openai
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from memory.errors import (
    LlmNotConfigured,
    MagmaError,
    RateLimited,
    StoreRefused,
    StoreUnavailable,
    UnusableModelOutput,
)
from memory.settings import LlmProvider, Settings
from query_api.engine import Retriever
from query_api.models import AnswerResult, QueryRequest, QueryResult
from query_api.prompts import SENTINEL, answer_prompt
from query_api.reading import Reading
from query_api.views import result_view

#: Longest answer, in tokens.
MAX_ANSWER_TOKENS = 500
#: Of `QueryResult.degraded`: the answer names a block that does not stand in the context.
UNKNOWN_CITATION = "unknown_citation"

_CITATION = re.compile(r"<ref:\s*([^<>\n]{1,300}?)\s*>")


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer, in order."""

    text: str


class Answerer:
    """Answers questions; one HTTP client, opened and closed by `open` on the loop that uses it."""

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        self._client = client
        self._model = model
        self._prompt = answer_prompt()

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator["Answerer"]:
        """Open an answerer; raises `LlmNotConfigured` when the settings name no model."""
        key = settings.openai_api_key.get_secret_value()
        if settings.llm_provider is not LlmProvider.OPENAI or not (key or settings.openai_base_url):
            raise LlmNotConfigured(
                "answers need a language model and none is configured",
                hint="set llm_provider=openai and openai_base_url or openai_api_key; retrieval works without",
            )
        async with AsyncOpenAI(
            api_key=key or "none",
            base_url=settings.openai_base_url,
            timeout=settings.llm_timeout_s,
            max_retries=1,
        ) as client:
            yield cls(client, settings.llm_model)

    async def answer(self, retriever: Retriever, tenant: str, request: QueryRequest) -> AnswerResult:
        """Retrieve and answer. Raises as `Retriever.query` does, and for the model as `stream` does."""
        async with aclosing(self.stream(await retriever.read(tenant, request), request)) as parts:
            async for part in parts:
                if isinstance(part, AnswerResult):
                    return part
        raise UnusableModelOutput("the model's answer ended before it began")

    async def stream(
        self, reading: Reading, request: QueryRequest
    ) -> AsyncGenerator[QueryResult | Delta | AnswerResult, None]:
        """Give the retrieval, then the pieces of the answer, then the whole with its checked citations.

        Without anything in the context the answer is the sentinel and no model is asked. Raises `StoreUnavailable`
        and `RateLimited` when the model cannot answer now, `StoreRefused` when it never will, `UnusableModelOutput`
        when it answers nothing.
        """
        started = time.perf_counter()
        result = result_view(reading, request)
        yield result
        pieces: list[str] = []
        if reading.context.shown:
            async with aclosing(self._ask(reading, request.question)) as texts:
                async for text in texts:
                    pieces.append(text)
                    yield Delta(text)
        else:
            pieces.append(SENTINEL)
            yield Delta(SENTINEL)
        answer = "".join(pieces).strip()
        if not answer:
            raise UnusableModelOutput(f"the model {self._model} answered nothing")
        shown = set(reading.context.shown)
        refs = {item.candidate.node.ref for item in reading.scored if item.candidate.node.id in shown}
        citations, unknown = check_citations(answer, refs)
        yield AnswerResult(
            **{name: getattr(result, name) for name in QueryResult.model_fields if name != "degraded"},
            degraded=[*result.degraded, *([UNKNOWN_CITATION] if unknown else [])],
            answer=answer,
            citations=citations,
            answer_ms=round((time.perf_counter() - started) * 1_000, 3),
            prompt_version=self._prompt.version,
            model=self._model,
        )

    async def _ask(self, reading: Reading, question: str) -> AsyncGenerator[str, None]:
        system, user = self._prompt.messages(reading.route.kind, question, reading.context.text)
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        try:
            stream: AsyncStream[ChatCompletionChunk] = await self._client.chat.completions.create(
                model=self._model, messages=messages, temperature=0, max_tokens=MAX_ANSWER_TOKENS, stream=True
            )
            async with stream:
                async for chunk in stream:
                    if chunk.choices and (text := chunk.choices[0].delta.content):
                        yield text
        except openai.OpenAIError as error:
            raise self._told(error) from error

    def _told(self, error: openai.OpenAIError) -> MagmaError:
        """Say what a client's error means for the caller; never repeats the prompt or the key."""
        where = f"the model {self._model} at {self._client.base_url.host}"
        if isinstance(error, openai.RateLimitError):
            return RateLimited(f"{where} asks for fewer calls", retry_after_s=_retry_after_s(error))
        if isinstance(error, openai.APIStatusError) and error.status_code < 500:
            return StoreRefused(f"{where} refused: HTTP {error.status_code}", hint="check llm_model and openai_api_key")
        return StoreUnavailable(f"{where} does not answer ({type(error).__name__})", hint="try again")


def check_citations(answer: str, refs: Collection[str]) -> tuple[list[str], list[str]]:
    """Give the refs an answer cites, in order and once each: those in the context, and those that are not."""
    cited = dict.fromkeys(match.group(1) for match in _CITATION.finditer(answer))
    return [ref for ref in cited if ref in refs], [ref for ref in cited if ref not in refs]


def _retry_after_s(error: openai.RateLimitError) -> float | None:
    value = error.response.headers.get("retry-after", "")
    return float(value) if value.replace(".", "", 1).isdigit() else None
