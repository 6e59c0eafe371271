"""The OpenAI-compatible provider: one structured call for a small batch of events."""

import asyncio
from dataclasses import replace
from typing import Any

import openai
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from memory.errors import MagmaError, RateLimited, StoreRefused, StoreUnavailable, UnusableModelOutput
from memory.llm.answers import BadAnswer, findings, parse
from memory.llm.model import Ask, Findings, Window
from memory.llm.prompts import load_prompt
from memory.llm.rendering import Rendered, render
from memory.llm.schema import reading_schema
from memory.relations import Origin
from memory.settings import Settings

#: Room for the answer, in tokens: a base and so much for each new event; a truncated answer is asked again with twice.
_BASE_TOKENS = 400
_TOKENS_AN_EVENT = 300
#: Calls that one provider has open at a time.
_MAX_CALLS = 4


class OpenAIExtractor:
    """A chat model behind any endpoint that speaks OpenAI's API. Belongs to the event loop that it is used on."""

    origin = Origin.LLM
    batch_events = 6

    def __init__(self, settings: Settings) -> None:
        self._prompt = load_prompt("consolidate")
        self.model = settings.llm_model
        self.prompt_version = self._prompt.version
        self._where = f"the model {self.model} at {settings.openai_base_url or 'OpenAI'}"
        self._timeout_s = settings.llm_timeout_s
        self._calls = asyncio.Semaphore(_MAX_CALLS)
        self._client = AsyncOpenAI(
            api_key=settings.openai_api_key.get_secret_value() or "none",
            base_url=settings.openai_base_url,
            timeout=settings.llm_timeout_s,
            max_retries=0,  # whoever drives us retries, with its own patience
        )

    async def extract(self, window: Window, asks: frozenset[Ask]) -> Findings:
        """See `Extractor.extract`: temperature 0, JSON Schema with the window's ids, one repair, then no result."""
        if window.new.isdisjoint(window.ids) or not asks:
            return Findings()
        rendered = render(window, self._prompt)
        texts = {event.id: event.text for event in window.events}
        limit = _BASE_TOKENS + _TOKENS_AN_EVENT * len(rendered.new)
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": rendered.system},
            {"role": "user", "content": rendered.user},
        ]
        used = Findings()
        for last in (False, True):
            answer = await self._call(messages, rendered, limit)
            used = _spent(used, answer)
            content = answer.choices[0].message.content if answer.choices else None
            try:
                _refuse_incomplete(answer)
                found = findings(parse(content), rendered, texts)
            except BadAnswer as problem:
                if last:
                    raise UnusableModelOutput(
                        f"{self._where} gave no usable answer, nor after one repair: {problem}",
                        hint="the events of this window stay without its edges until they are consolidated again",
                    ) from problem
                if answer.choices and answer.choices[0].finish_reason == "length":
                    limit *= 2  # the same limit would cut the same answer
                else:
                    repair = self._prompt.repair.replace("{problem}", str(problem))
                    messages.append({"role": "assistant", "content": (content or "")[:4_000]})
                    messages.append({"role": "user", "content": repair})
            else:
                return replace(
                    found,
                    entities=found.entities if Ask.ENTITIES in asks else (),
                    causes=found.causes if Ask.CAUSES in asks else (),
                    prompt_tokens=used.prompt_tokens,
                    completion_tokens=used.completion_tokens,
                )
        raise AssertionError("unreachable: the second answer either returns or raises")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _call(self, messages: list[ChatCompletionMessageParam], rendered: Rendered, limit: int) -> ChatCompletion:
        schema: dict[str, Any] = reading_schema(list(rendered.new), list(rendered.ids))
        try:
            async with self._calls, asyncio.timeout(self._timeout_s):
                return await self._client.chat.completions.create(
                    model=self.model,
                    messages=messages,
                    temperature=0,
                    max_tokens=limit,
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "reading", "schema": schema, "strict": True},
                    },
                )
        except TimeoutError as error:
            raise StoreUnavailable(f"{self._where} did not answer in {self._timeout_s:g} s") from error
        except openai.OpenAIError as error:
            raise self._translate(error) from error

    def _translate(self, error: openai.OpenAIError) -> MagmaError:
        where = self._where
        if isinstance(error, openai.RateLimitError):
            return RateLimited(f"{where} asks for fewer calls", retry_after_s=retry_after_s(error))
        if isinstance(error, openai.APITimeoutError):
            return StoreUnavailable(f"{where} did not answer in {self._timeout_s:g} s")
        if isinstance(error, openai.APIConnectionError):
            return StoreUnavailable(f"{where} cannot be reached", hint="is openai_base_url right?")
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return StoreRefused(f"{where} refused the key", hint="set openai_api_key")
        if isinstance(error, openai.NotFoundError):
            return StoreRefused(f"{where} is not known there", hint="check openai_base_url and llm_model")
        if isinstance(error, openai.APIStatusError) and error.status_code >= 500:
            return StoreUnavailable(f"{where} answered {error.status_code}")
        if isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
            return UnusableModelOutput(f"{where} refused the request with status {error.status_code}")
        return StoreUnavailable(f"{where} failed: {type(error).__name__}")


def retry_after_s(error: openai.APIStatusError) -> float | None:
    """Give the seconds that the provider asks to wait, None when it does not say or says a date."""
    value = error.response.headers.get("retry-after")
    try:
        return max(0.0, float(value)) if value else None
    except ValueError:
        return None


def _refuse_incomplete(answer: ChatCompletion) -> None:
    if not answer.choices:
        raise BadAnswer("it had no choice in it")
    choice = answer.choices[0]
    if getattr(choice.message, "refusal", None):
        raise BadAnswer("it was a refusal")
    if choice.finish_reason == "length":
        raise BadAnswer("it was cut off at the token limit")
    if choice.finish_reason == "content_filter":
        raise BadAnswer("it was stopped by a content filter")


def _spent(before: Findings, answer: ChatCompletion) -> Findings:
    if answer.usage is None:
        return before
    return replace(
        before,
        prompt_tokens=before.prompt_tokens + answer.usage.prompt_tokens,
        completion_tokens=before.completion_tokens + answer.usage.completion_tokens,
    )
