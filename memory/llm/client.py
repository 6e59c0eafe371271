"""One structured question to a model behind any endpoint that speaks OpenAI's API, and one usable answer or an error.

In the order of a call: the tenant's budget of the day, the guard (provider away, buckets, open calls, breaker), the
request with its JSON Schema, the count of what it used. Whoever drives us makes further attempts, with full jitter and
for ever: here only what another attempt at the same thing would not mend is tried again, once for each reason.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import openai
import orjson
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from memory.errors import MagmaError, Misconfigured, Retryable, StoreUnavailable, UnusableModelOutput
from memory.llm.accounting import Accounts, Outcome, Purpose
from memory.llm.answers import BadAnswer
from memory.llm.budget import Bill, DailyBudget
from memory.llm.guard import guard_of
from memory.llm.openai_errors import TooLong, Unanswered, translate
from memory.settings import Settings
from memory.text import count_many

T = TypeVar("T")

#: Most tokens that an answer is ever given room for.
MAX_COMPLETION_TOKENS = 16_384
#: Characters of an unusable answer that are shown to the model again.
_SHOWN_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A question: messages, the schema of its answer, room for it in tokens, and who reads the answer.

    `read` raises `BadAnswer` for what cannot be used; `repair` is what the model is then told, with a place {problem}.
    """

    purpose: Purpose
    name: str
    system: str
    user: str
    schema: dict[str, Any]
    room_tokens: int
    repair: str
    read: Callable[[str | None], T]


@dataclass(slots=True)
class Used:
    """Tokens of all requests that one question took, as the provider counted them."""

    prompt: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A usable answer and what it cost."""

    value: T
    used: Used


@dataclass(slots=True)
class _Dialect:
    """What this endpoint calls the room for an answer, and whether it takes a temperature; learnt from its refusals."""

    room: str = "max_tokens"
    temperature: bool = True

    def learn(self, error: openai.BadRequestError) -> bool:
        """Note what a refusal says about a parameter; tells whether another try makes sense."""
        said, before = f"{error.param} {error.message}", (self.room, self.temperature)
        if "max_completion_tokens" in said:
            self.room = "max_completion_tokens"
        if error.param == "temperature":
            self.temperature = False
        return before != (self.room, self.temperature)

    def options(self, room_tokens: int) -> dict[str, Any]:
        return {self.room: room_tokens} | ({"temperature": 0} if self.temperature else {})


@dataclass(slots=True)
class _Attempt(Generic[T]):
    """Where a question stands: its messages so far, its room, and which remedies are used up."""

    question: Question[T]
    messages: list[ChatCompletionMessageParam]
    room_tokens: int
    repaired: bool = False
    raised: bool = False
    used: Used = field(default_factory=Used)


class ModelClient:
    """Asks one model. Belongs to the event loop that it is used on. Without a budget, tokens are counted only."""

    def __init__(self, settings: Settings, budget: DailyBudget | None = None) -> None:
        self.model = settings.llm_model
        self.where = f"the model {self.model} at {settings.openai_base_url or 'OpenAI'}"
        self._timeout_s = settings.llm_timeout_s
        self._guard = guard_of(settings)
        self._budget = budget
        self._accounts = Accounts(settings)
        self._dialect = _Dialect()
        self._client = AsyncOpenAI(
            api_key=settings.openai_api_key.get_secret_value() or "none",
            base_url=settings.openai_base_url,
            timeout=settings.llm_timeout_s,
            max_retries=0,  # whoever drives us retries, with its own patience
        )

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Give the answer, after one repair and one enlargement of its room at most.

        Raises `TooLong` when request or answer do not fit, `UnusableModelOutput` when the answer stays bad (both
        `Poison`), `RateLimited`, `CircuitOpen`, `BudgetSpent` and `StoreUnavailable` (all `Retryable`), and
        `StoreRefused` for a person.
        """
        attempt = _Attempt(
            question,
            [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
            min(question.room_tokens, MAX_COMPLETION_TOKENS),
        )
        while True:
            answer = await self._request(attempt)
            try:
                value = question.read(_content(answer))
            except _CutOff as problem:
                self._accounts.called(question.purpose, Outcome.TRUNCATED)
                self._enlarge(attempt, problem)
            except BadAnswer as problem:
                self._accounts.called(question.purpose, problem_outcome(problem))
                self._repair(attempt, problem, answer)
            else:
                self._accounts.called(question.purpose, Outcome.ANSWERED)
                return Answer(value, attempt.used)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _enlarge(self, attempt: _Attempt[T], problem: BadAnswer) -> None:
        room = min(2 * attempt.room_tokens, MAX_COMPLETION_TOKENS)
        if attempt.raised or room == attempt.room_tokens:  # the same room would cut the same answer
            raise TooLong(f"{self.where} needs more than {attempt.room_tokens} tokens for its answer") from problem
        attempt.raised, attempt.room_tokens = True, room

    def _repair(self, attempt: _Attempt[T], problem: BadAnswer, answer: ChatCompletion) -> None:
        if attempt.repaired:
            raise UnusableModelOutput(
                f"{self.where} gave no usable answer, nor after one repair: {problem}",
                hint="the events of this window stay without its edges until they are consolidated again",
            ) from problem
        attempt.repaired = True
        said = (answer.choices[0].message.content if answer.choices else None) or ""
        attempt.messages.append({"role": "assistant", "content": said[:_SHOWN_CHARS]})
        attempt.messages.append({"role": "user", "content": attempt.question.repair.replace("{problem}", str(problem))})

    async def _request(self, attempt: _Attempt[T]) -> ChatCompletion:
        question = attempt.question
        texts = [str(message["content"]) for message in attempt.messages if "content" in message]
        texts.append(orjson.dumps(question.schema).decode())
        prompt = sum(await asyncio.to_thread(count_many, texts))
        purpose = question.purpose
        try:
            async with self._bill(purpose.tenant, prompt + attempt.room_tokens) as bill:
                answer = await self._paid(attempt, bill, prompt)
        except MagmaError as error:
            self._accounts.called(purpose, _outcome(error))
            raise
        usage = answer.usage
        if usage is not None:
            self._accounts.used(purpose, usage.prompt_tokens, usage.completion_tokens)
            attempt.used.prompt += usage.prompt_tokens
            attempt.used.completion += usage.completion_tokens
        return answer

    @asynccontextmanager
    async def _bill(self, tenant: str, tokens: int) -> AsyncIterator[Bill]:
        if self._budget is None:
            yield Bill(tokens)
        else:
            async with self._budget.bill(tenant, tokens) as bill:
                yield bill

    async def _paid(self, attempt: _Attempt[T], bill: Bill, prompt: int) -> ChatCompletion:
        """Make the request and write on the bill what it cost: nothing when it was refused, what is known else."""
        purpose = attempt.question.purpose
        try:
            async with self._guard.call(purpose.tenant, bill.tokens):
                begun_s = time.monotonic()
                answer = await self._create(attempt)
        except Unanswered:
            bill.tokens = prompt  # it may have been read, and paid, before it failed
            raise
        except MagmaError:
            bill.tokens = 0
            raise
        self._accounts.took(purpose, time.monotonic() - begun_s)
        if answer.usage is not None:
            bill.tokens = answer.usage.total_tokens
        return answer

    async def _create(self, attempt: _Attempt[T]) -> ChatCompletion:
        for learning in (True, True, False):
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._send(attempt)
            except TimeoutError as error:
                raise Unanswered(f"{self.where} did not answer in {self._timeout_s:g} s") from error
            except openai.BadRequestError as error:
                if not (learning and self._dialect.learn(error)):
                    raise translate(error, self.where, self._timeout_s) from error
            except openai.OpenAIError as error:
                raise translate(error, self.where, self._timeout_s) from error
        raise AssertionError("unreachable: the last try either returns or raises")

    async def _send(self, attempt: _Attempt[T]) -> ChatCompletion:
        question = attempt.question
        answer: ChatCompletion = await self._client.chat.completions.create(
            model=self.model,
            messages=attempt.messages,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": question.name, "schema": question.schema, "strict": True},
            },
            **self._dialect.options(attempt.room_tokens),
        )
        if not isinstance(answer, ChatCompletion):  # a page that is no JSON comes through the client as its text
            raise Unanswered(f"{self.where} answered what is no chat completion", hint="is openai_base_url right?")
        return answer


class _CutOff(BadAnswer):
    """Raised for an answer that ended at its limit."""


class _Refusal(BadAnswer):
    """Raised for an answer that the model or a filter refused."""


def _content(answer: ChatCompletion) -> str | None:
    """Give the text of a whole answer; raises `BadAnswer` for one that is cut off, refused or not there."""
    if not answer.choices:
        raise BadAnswer("it had no choice in it")
    choice = answer.choices[0]
    if choice.finish_reason == "length":
        raise _CutOff("it was cut off at the token limit")
    if getattr(choice.message, "refusal", None):
        raise _Refusal("it was a refusal")
    if choice.finish_reason == "content_filter":
        raise _Refusal("it was stopped by a content filter")
    return choice.message.content


def problem_outcome(problem: BadAnswer) -> Outcome:
    """Give how an answer that cannot be used is counted."""
    return Outcome.REFUSED if isinstance(problem, _Refusal) else Outcome.UNUSABLE


def _outcome(error: MagmaError) -> Outcome:
    if isinstance(error, TooLong):
        return Outcome.TRUNCATED
    if isinstance(error, StoreUnavailable | Misconfigured):
        return Outcome.FAILED
    return Outcome.LIMITED if isinstance(error, Retryable) else Outcome.REFUSED
