"""The router that the settings ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memory.settings import RouterName, Settings
from query_api.router import Router, RuleRouter


@asynccontextmanager
async def open_router(settings: Settings) -> AsyncIterator[Router]:
    """Open the router on the running loop; raises `LlmNotConfigured` when it needs a model and none is configured."""
    if settings.router is RouterName.RULES:
        yield RuleRouter()
        return
    from query_api.llm_router import LlmRouter  # a model's client takes long to import and few need it

    async with LlmRouter.open(settings) as router:
        yield router
