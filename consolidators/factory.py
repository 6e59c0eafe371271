"""Opens the handler of a consolidation stage with what it holds: stores, encoder, extractor."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from consolidators.batch import Consolidator, StageHandler
from consolidators.causal import Causal
from consolidators.entities import Entities
from consolidators.episodes import Episodes
from consolidators.semantic import Semantic
from consolidators.thresholds import theta_of
from memory.embedding import Encoder, make_encoder
from memory.errors import BadSetting
from memory.graph import Graph, Mark
from memory.llm import Extractor, Nearness, open_extractor
from memory.records import Handler
from memory.settings import LlmProvider, Settings
from memory.vectors import Vectors

#: Events that are consolidated in one go: what a crash makes a worker do again, and by what their number is marked as
#: done at a time. Without a model: of a stage whose go is a few queries, and of `entities`, which takes 4 ms of CPU for
#: every event (conversations: 171 events a second in goes of 32, 200 in goes of 512).
_EVENTS = 512
_EVENTS_OF_ENTITIES = 32
_EVENTS_OF_A_MODEL = 24
#: Goes of a tenant that are under way together: while one waits for the model, the other reads and writes.
_GOES_OF_A_MODEL = 2


@asynccontextmanager
async def open_handler(stage: str, settings: Settings) -> AsyncIterator[Handler]:
    """Open the handler of `semantic`, `entities`, `causal` or `episodes` on the running loop, and close what it holds.

    Raises `BadSetting` for another stage, and what the stores raise when they cannot be opened: `StoreUnavailable`,
    `StoreRefused`, `EmbeddingMismatch`, `MissingExtra`.
    """
    try:
        mark = Mark(stage)
    except ValueError as error:
        raise BadSetting(f"there is no consolidation stage {stage!r}", hint=f"one of {', '.join(Mark)}") from error
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(Graph.open(settings))
        await graph.ensure_schema()
        consolidator = await _consolidator(mark, graph, settings, stack)
        if mark in {Mark.ENTITIES, Mark.CAUSAL} and settings.llm_provider is not LlmProvider.RULES:
            yield StageHandler(consolidator, graph, most_events=_EVENTS_OF_A_MODEL, at_once=_GOES_OF_A_MODEL)
        else:
            yield StageHandler(
                consolidator, graph, most_events=_EVENTS_OF_ENTITIES if mark is Mark.ENTITIES else _EVENTS
            )


async def _consolidator(mark: Mark, graph: Graph, settings: Settings, stack: AsyncExitStack) -> Consolidator:
    match mark:
        case Mark.SEMANTIC:
            encoder, vectors = await _meaning(settings, stack)
            return Semantic(graph, vectors, await theta_of(encoder))
        case Mark.EPISODES:
            _, vectors = await _meaning(settings, stack)
            return Episodes(graph, vectors)
        case Mark.ENTITIES:
            return Entities(graph, await _extractor(graph, settings, stack))
        case Mark.CAUSAL:
            return Causal(graph, await _extractor(graph, settings, stack))


async def _meaning(settings: Settings, stack: AsyncExitStack) -> tuple[Encoder, Vectors]:
    encoder = make_encoder(settings)
    stack.push_async_callback(encoder.close)
    return encoder, await stack.enter_async_context(Vectors.open(settings, model=encoder.name, dim=encoder.dim))


async def _extractor(graph: Graph, settings: Settings, stack: AsyncExitStack) -> Extractor:
    if settings.llm_provider is LlmProvider.RULES:
        return await stack.enter_async_context(open_extractor(settings, graph))
    encoder, vectors = await _meaning(settings, stack)
    nearness = Nearness(vectors, await theta_of(encoder))
    return await stack.enter_async_context(open_extractor(settings, graph, nearness))
