"""The extractor that the settings ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memory.errors import BadSetting
from memory.graph import Graph
from memory.llm.budget import DailyBudget
from memory.llm.context import Context, Nearness
from memory.llm.extractor import Extractor
from memory.llm.openai_provider import OpenAIExtractor
from memory.llm.rules import RulesExtractor
from memory.llm.shared import SharedExtractor
from memory.settings import LlmProvider, Settings


@asynccontextmanager
async def open_extractor(
    settings: Settings, graph: Graph | None = None, nearness: Nearness | None = None
) -> AsyncIterator[Extractor]:
    """Open the extractor on the running loop and close it; nothing is fetched or called yet.

    `graph`: where a model's readings and the tenants' budgets are kept. Without one every call is paid for, and a
    daily budget is refused with `BadSetting`: nobody could keep it. `nearness`: where the events are found that a model
    is shown because of their meaning.
    """
    extractor = _extractor(settings, graph, nearness)
    try:
        yield extractor
    finally:
        await extractor.close()


def _extractor(settings: Settings, graph: Graph | None, nearness: Nearness | None) -> Extractor:
    if settings.llm_provider is LlmProvider.RULES:
        return RulesExtractor()
    if graph is None:
        if settings.llm_daily_tokens is not None:
            raise BadSetting("llm_daily_tokens needs the graph to be kept in", hint="unset it here")
        return OpenAIExtractor(settings)
    most = settings.llm_daily_tokens
    budget = None if most is None else DailyBudget(graph.budgets(), most)
    return SharedExtractor(OpenAIExtractor(settings, budget), graph, Context(graph, nearness), settings)
