"""The OpenAI-compatible provider: one structured call for a window of events, whichever of its findings are wanted."""

import asyncio
from dataclasses import replace

from memory.llm.accounting import Purpose
from memory.llm.answers import findings, parse
from memory.llm.budget import DailyBudget
from memory.llm.client import ModelClient, Question
from memory.llm.model import Ask, Findings, Window
from memory.llm.openai_errors import TooLong
from memory.llm.prompts import load_prompt
from memory.llm.rendering import render
from memory.llm.schema import reading_schema
from memory.relations import Origin
from memory.settings import Settings

#: Room for the answer, in tokens: a base and so much for each new event.
_BASE_TOKENS = 400
_TOKENS_AN_EVENT = 300
_STAGES = {Ask.ENTITIES: "entities", Ask.CAUSES: "causal"}


class OpenAIExtractor:
    """A chat model behind any endpoint that speaks OpenAI's API. Belongs to the event loop that it is used on."""

    origin = Origin.LLM
    #: New events of one call: an eighth of a call for each, while small models still keep them apart.
    batch_events = 8

    def __init__(self, settings: Settings, budget: DailyBudget | None = None) -> None:
        self._prompt = load_prompt("consolidate")
        self.prompt_version = self._prompt.version
        self._client = ModelClient(settings, budget)
        self.model = self._client.model

    async def extract(self, window: Window, asks: frozenset[Ask]) -> Findings:
        """See `Extractor.extract`; every call asks for everything."""
        if window.new.isdisjoint(window.ids) or not asks:
            return Findings()
        return only(await self.read(window, stage_of(asks)), asks)

    async def read(self, window: Window, stage: str) -> Findings:
        """Give everything that is found in a window; `stage` is who is charged for it.

        A window that the model has no room for is halved once: raises `UnusableModelOutput` when its halves do not fit
        either.
        """
        try:
            return await self._read(window, stage)
        except TooLong:
            halves = halved(window)
            if len(halves) < 2:
                raise
        found = [await self._read(half, stage) for half in halves]
        return joined(found)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _read(self, window: Window, stage: str) -> Findings:
        rendered = await asyncio.to_thread(render, window, self._prompt)
        texts = {event.id: event.text for event in window.events}
        answer = await self._client.ask(
            Question(
                Purpose(window.tenant, stage, self.prompt_version),
                name="reading",
                system=rendered.system,
                user=rendered.user,
                schema=reading_schema(list(rendered.new), list(rendered.ids)),
                room_tokens=_BASE_TOKENS + _TOKENS_AN_EVENT * len(rendered.new),
                repair=self._prompt.repair,
                read=lambda content: findings(parse(content), rendered, texts),
            )
        )
        return replace(answer.value, prompt_tokens=answer.used.prompt, completion_tokens=answer.used.completion)


def stage_of(asks: frozenset[Ask]) -> str:
    """Give the stage that asks so, for the accounts."""
    return "+".join(_STAGES[ask] for ask in sorted(asks))


def only(found: Findings, asks: frozenset[Ask]) -> Findings:
    """Give the part of findings that was asked for."""
    return replace(
        found,
        entities=found.entities if Ask.ENTITIES in asks else (),
        causes=found.causes if Ask.CAUSES in asks else (),
    )


def joined(parts: list[Findings]) -> Findings:
    """Give the findings of several calls as those of one."""
    return Findings(
        tuple(entity for part in parts for entity in part.entities),
        tuple(cause for part in parts for cause in part.causes),
        tuple(summary for part in parts for summary in part.summaries),
        sum(part.prompt_tokens for part in parts),
        sum(part.completion_tokens for part in parts),
    )


def halved(window: Window) -> list[Window]:
    """Give a window as two: the first without the new events of the second, the second with the first's as context."""
    new = [event.id for event in window.events if event.id in window.new]
    if len(new) < 2:
        return [window]
    first, second = frozenset(new[: len(new) // 2]), frozenset(new[len(new) // 2 :])
    before = tuple(event for event in window.events if event.id not in second)
    return [replace(window, events=before, new=first), replace(window, new=second)]
