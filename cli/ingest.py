"""`magma ingest`: the events of files, or of stdin, into Kafka."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from cli.loop import run
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit, note
from cli.produce import Produced, produce
from cli.progress import Progress
from cli.readers import Format, ReadItem, read_events
from cli.waiting import STALLED_AFTER_S, wait_until_stored
from cli.workers import WorkerChild, running_stages, workers_for
from memory.embedding import make_encoder
from memory.graph import Graph, Mark
from memory.settings import Settings
from memory.vectors import Vectors
from streams.admin import ensure_topics
from streams.topics import CONSOLIDATION, Stage

#: How many problems of a file are told one by one.
TOLD_PROBLEMS = 10


class Wait(StrEnum):
    """What to wait for after producing."""

    DURABLE = "durable"
    CONSOLIDATED = "consolidated"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that must run for the wait to end."""
        fast = (Stage.INTAKE, Stage.INGEST)
        return fast if self is Wait.DURABLE else fast + CONSOLIDATION


class IngestReport(BaseModel):
    """What `magma ingest --json` prints. `durable` is null when nothing was waited for."""

    accepted: int
    rejected: int
    conflicts: int
    durable: int | None
    seconds: float
    events_per_s: float
    problems: list[str]


def ingest(
    files: Annotated[list[str], typer.Argument(help="Files of events; - is stdin.", metavar="FILE...")],
    tenant: Annotated[str | None, typer.Option("--tenant", help="Tenant of all events of these files.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="What the files hold.")] = Format.AUTO,
    rate: Annotated[float | None, typer.Option("--rate", min=0.001, help="Most events a second.")] = None,
    wait: Annotated[
        Wait | None,
        typer.Option("--wait", help="Wait until durable (--wait alone) or consolidated."),
    ] = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Send the events of files to Kafka.

    Example: magma ingest examples/incident.jsonl --wait consolidated
    """
    settings = settings_for(data_dir)
    for name in files:
        if name != "-" and not Path(name).is_file():
            raise typer.BadParameter(f"{name} is a folder" if Path(name).is_dir() else f"there is no file {name}")
    with ExitStack() as stack:
        child = stack.enter_context(workers_for(settings, wait.stages)) if wait else None
        started = time.monotonic()
        produced, durable = run(ingest_files(settings, files, tenant, format_, rate, wait, child))
        seconds = time.monotonic() - started
    for problem in produced.problems[:TOLD_PROBLEMS]:
        note(f"dead-lettered: {problem}")
    if len(produced.problems) > TOLD_PROBLEMS:
        note(f"and {len(produced.problems) - TOLD_PROBLEMS} more")
    if wait is None and settings.stack_file.exists() and not {Stage.INTAKE, Stage.INGEST} <= running_stages(settings):
        note("no worker of the local stack takes these events yet: `magma worker intake ingest …`, or use --wait")
    report = IngestReport(
        accepted=produced.accepted,
        rejected=produced.rejected,
        conflicts=produced.conflicts,
        durable=durable,
        seconds=round(seconds, 3),
        events_per_s=round(produced.accepted / seconds, 1),
        problems=produced.problems[:100],
    )
    emit(json_mode, report)


async def ingest_files(
    settings: Settings,
    files: Sequence[str],
    tenant: str | None,
    format_: Format,
    rate_per_s: float | None,
    wait: Wait | None,
    child: WorkerChild | None,
) -> tuple[Produced, int | None]:
    """Produce the events of the files; with `wait`, stay until they are there. Gives what was sent and how many are."""
    await ensure_topics(settings)

    def items() -> Iterator[ReadItem]:
        for name in files:
            yield from read_events(name, format_, tenant, settings)

    with Progress("sent") as progress:
        produced = await produce(settings, items(), rate_per_s=rate_per_s, progress=progress)
    if wait is None:
        return produced, None
    return produced, await wait_for(settings, produced, wait, child)


async def wait_for(
    settings: Settings,
    produced: Produced,
    wait: Wait,
    child: WorkerChild | None,
    *,
    stalled_after_s: float = STALLED_AFTER_S,
) -> int:
    """Wait until everything that was produced is durable or consolidated; give how many distinct events that is."""
    encoder = make_encoder(settings)
    marks = [Mark(stage.value) for stage in wait.stages if stage in CONSOLIDATION]
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(Graph.open(settings))
        await graph.ensure_schema()
        vectors = await stack.enter_async_context(Vectors.open(settings, model=encoder.name, dim=encoder.dim))
        with Progress(wait.value, total=produced.distinct) as progress:
            return await wait_until_stored(
                graph,
                vectors,
                {tenant: list(ids) for tenant, ids in produced.ids.items()},
                marks,
                stalled_after_s=stalled_after_s,
                progress=progress,
                alive=child.ensure_alive if child else lambda: None,
            )
