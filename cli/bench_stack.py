"""A memory to measure: the local stack, a worker that embeds as the measurement wants it, and events sent through."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.ingest import Wait, wait_for
from cli.options import settings_for
from cli.output import note
from cli.produce import produce
from cli.progress import Progress
from cli.readers import ReadItem
from cli.workers import WorkerChild
from deploy.local import LocalStack, StackPlan, stack_status
from memory.settings import PREFIX, EmbeddingModel, Settings, load_settings
from streams.admin import ensure_topics

#: How long nothing may move before a measurement is given up.
STALLED_AFTER_S = 900.0


@dataclass(frozen=True, slots=True)
class BenchStack:
    """Settings of the measurement: topics, groups, collection and tenants of its own for each embedder."""

    settings: Settings
    worker: WorkerChild
    name: str

    def tenant(self, conversation: str) -> str:
        """Give the tenant that remembers a conversation. The graph is shared, and its edges depend on the embedder."""
        return f"bench-{self.name}-{conversation}"


@contextmanager
def bench_stack(
    data_dir: Path | None,
    embedding: EmbeddingModel | None,
    *,
    name: str | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Iterator[BenchStack]:
    """Use the local stack that runs, or start one for the time of the block: in `data_dir`, else in a temporary folder.

    What a data directory holds already is not sent twice in effect: ingestion is idempotent. `name` sets this memory
    apart (the embedder's when left out); `overrides` are settings of the measurement.
    """
    given = settings_for(data_dir)
    with ExitStack() as stack:
        if not stack_status(given.data_dir).running:
            folder = data_dir or Path(stack.enter_context(TemporaryDirectory(prefix="magma-bench-")))
            stack.enter_context(LocalStack(folder, plan=StackPlan.beside(given)))
            given = settings_for(folder)
        model = embedding or given.embedding_model
        called = name or model.value
        own = {
            "embedding_model": model.value,
            "milvus_collection": f"{given.milvus_collection}_bench_{called.replace('-', '_')}",
            "topic_prefix": f"{given.topic_prefix}bench-{called}.",
            **(overrides or {}),
        }
        settings = load_settings(data_dir=given.data_dir, **own)
        environment = {f"{PREFIX}{name.upper()}": value for name, value in own.items()}
        worker = WorkerChild(settings, Wait.CONSOLIDATED.stages, environment)
        stack.callback(worker.stop)
        yield BenchStack(settings, worker, called)


async def remember(stack: BenchStack, items: Iterable[ReadItem]) -> int:
    """Send events through Kafka and wait until all of them are consolidated; give how many distinct ones there are.

    A measurement is patient: a machine that is busy is no reason to throw away what it has done.
    """
    await ensure_topics(stack.settings)
    with Progress("sent") as progress:
        produced = await produce(stack.settings, items, progress=progress)
    if produced.rejected:
        note(f"{produced.rejected} turns are not valid events, the first: {produced.problems[0]}")
    return await wait_for(stack.settings, produced, Wait.CONSOLIDATED, stack.worker, stalled_after_s=STALLED_AFTER_S)
