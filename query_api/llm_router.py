"""A router with a model in it: the model gives shares of the intents, rules do everything that must be true.

The question is data to the model, and the model is data to us: of its answer the distribution is taken, names only if
the memory knows them, and words for a time only if they stand in the question, read by our own tagger. A model never
makes up a time or a name. When it does not answer in time, or not in form, the rules route and the route says so.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory.dates import DateSpan, question_window
from memory.errors import LlmNotConfigured
from memory.names import normal_form
from memory.settings import Settings
from query_api.intents import Intent, IntentMix
from query_api.prompts import route_prompt
from query_api.router import Route, RuleRouter, answer_kind

#: Room for the answer, in tokens.
MAX_TOKENS = 300
#: Calls that one router has open at a time; the wait for a place counts against the timeout.
MAX_CALLS = 8

_log = logging.getLogger(__name__)

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ModelRoute(BaseModel):
    """What the model must answer. `date_phrase`: words of the question that name a time, empty for none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    why: Share
    when: Share
    entity: Share
    general: Share
    names: Annotated[tuple[str, ...], Field(max_length=64)] = ()
    date_phrase: Annotated[str, Field(max_length=4_000)] = ""

    @model_validator(mode="after")
    def _says_something(self) -> "ModelRoute":
        if self.why + self.when + self.entity + self.general <= 0:
            raise ValueError("all shares are 0")
        return self

    @property
    def intents(self) -> IntentMix:
        """The shares as a distribution: they need not sum to 1."""
        return IntentMix.of(
            {
                Intent.WHY: self.why,
                Intent.WHEN: self.when,
                Intent.ENTITY: self.entity,
                Intent.GENERAL: self.general,
            }
        )


class LlmRouter:
    """Routes by a chat model behind an OpenAI-compatible endpoint (implements `router.Router`); never raises for it."""

    def __init__(self, client: AsyncOpenAI, model: str, timeout_s: float, rules: RuleRouter | None = None) -> None:
        self._client = client
        self._model = model
        self._timeout_s = timeout_s
        self._rules = rules or RuleRouter()
        self._prompt = route_prompt()
        self._calls = asyncio.Semaphore(MAX_CALLS)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator["LlmRouter"]:
        """Open a router on the running loop; raises `LlmNotConfigured` when the settings name no endpoint."""
        key = settings.openai_api_key.get_secret_value()
        if not (key or settings.openai_base_url):
            raise LlmNotConfigured(
                "router=llm needs a language model and none is configured",
                hint="set openai_base_url or openai_api_key, or router=rules",
            )
        async with AsyncOpenAI(
            api_key=key or "none",
            base_url=settings.openai_base_url,
            timeout=settings.router_timeout_s,
            max_retries=0,  # a question waits for it: the rules are better than a second try
        ) as client:
            yield cls(client, settings.llm_model, settings.router_timeout_s)

    async def route(self, question: str, *, reference: datetime | None, known: frozenset[str]) -> Route:
        """Route a question; by the rules, with `fell_back` set, when the model does not answer in time or in form."""
        ruled = self._rules.understand(question, reference=reference, known=known)
        answer = await self._ask(question)
        if answer is None:
            return replace(ruled, fell_back=True)
        intents = answer.intents
        window = ruled.window or _window(answer.date_phrase, question, reference)
        first = [key for key in map(normal_form, answer.names) if key in known]
        cues = [f"model {self._model}"]
        if ruled.names:
            cues.append("known name")
        if window is not None:
            cues.append("named time")
        return Route(
            intents=intents,
            names=tuple(dict.fromkeys((*first, *ruled.names))),
            keywords=ruled.keywords,
            window=window,
            kind=answer_kind(question, intents),
            cues=tuple(cues),
        )

    async def _ask(self, question: str) -> ModelRoute | None:
        """Give the model's answer; None, with a line in the log, when there is none that can be used."""
        try:
            async with asyncio.timeout(self._timeout_s), self._calls:
                answer = await self._client.chat.completions.create(
                    model=self._model,
                    messages=[
                        {"role": "system", "content": self._prompt.system.strip()},
                        {"role": "user", "content": self._prompt.user.strip().replace("{question}", fenced(question))},
                    ],
                    temperature=0,
                    max_tokens=MAX_TOKENS,
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "route", "schema": answer_schema(), "strict": True},
                    },
                )
            return ModelRoute.model_validate_json(answer.choices[0].message.content or "")
        except TimeoutError:
            why = f"no answer within {self._timeout_s:g} s"
        except openai.OpenAIError as error:
            why = type(error).__name__
        except (ValueError, AttributeError, TypeError, IndexError) as error:
            # the client checks nothing of what an endpoint sends: not JSON, no choices and no message all end here
            why = f"an answer out of form ({type(error).__name__})"
        # what was asked stays out of the log
        _log.warning("the routing model %s gave %s; the rules route", self._model, why)
        return None


def fenced(question: str) -> str:
    """Write a question as one JSON string that cannot close the fence around it."""
    return json.dumps(question).replace("<", "\\u003c").replace(">", "\\u003e")


def answer_schema() -> dict[str, Any]:
    """Give the JSON Schema of `ModelRoute`, strict: every property required, no other allowed."""
    share = {"type": "number"}
    properties = {
        "why": share,
        "when": share,
        "entity": share,
        "general": share,
        "names": {"type": "array", "items": {"type": "string"}},
        "date_phrase": {"type": "string"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _window(phrase: str, question: str, reference: datetime | None) -> DateSpan | None:
    """Resolve a phrase of the question; None when it does not stand there."""
    words = " ".join(phrase.split())
    if reference is None or not words or words.casefold() not in " ".join(question.split()).casefold():
        return None
    return question_window(words, reference)
