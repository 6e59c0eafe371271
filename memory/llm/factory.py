"""The extractor that the settings ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memory.llm.extractor import Extractor
from memory.llm.openai_provider import OpenAIExtractor
from memory.llm.rules import RulesExtractor
from memory.settings import LlmProvider, Settings


@asynccontextmanager
async def open_extractor(settings: Settings) -> AsyncIterator[Extractor]:
    """Open the extractor on the running loop and close it; nothing is fetched or called yet."""
    extractor: Extractor = RulesExtractor() if settings.llm_provider is LlmProvider.RULES else OpenAIExtractor(settings)
    try:
        yield extractor
    finally:
        await extractor.close()
