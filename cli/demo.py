"""`magma demo`: the whole pipeline on the local stack with the example that comes with the project."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import orjson
import typer
from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from cli.ingest import Wait, ingest_files, wait_for
from cli.loop import run
from cli.opened import open_stores
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit, note
from cli.produce import Produced
from cli.readers import Format
from cli.render import render_answer
from cli.workers import workers_for
from deploy.local import LocalStack, StackPlan, bring_up, stack_status
from memory.errors import NotFound
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.models import QueryRequest, QueryResult

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
DEFAULT_FILE = EXAMPLES / "incident.jsonl"


class DemoSeconds(BaseModel):
    """Seconds of each part: stack ready, events durable, events consolidated (from the moment they were sent)."""

    start: float
    ingest: float
    consolidate: float


class DemoQuestion(BaseModel):
    """A question of the example and what came back."""

    question: str
    intent: str
    refs: list[str]
    tokens: int
    ms: float


class DemoReport(BaseModel):
    """What `magma demo --json` prints. `edges`: by type, of the example's tenant."""

    events: int
    edges: dict[str, int]
    seconds: DemoSeconds
    questions: list[DemoQuestion]


def demo(
    file: Annotated[Path, typer.Argument(help="A file of events.", exists=True, dir_okay=False)] = DEFAULT_FILE,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the stack up afterwards.")] = False,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Bring the stack up, ingest a file, wait until it is consolidated, ask its questions.

    Example: magma demo --keep
    """
    started = time.monotonic()
    with demo_stack(settings_for(data_dir), keep=keep):
        settings = settings_for(data_dir)  # again: now with the stack's addresses
        start_s = time.monotonic() - started
        note(f"stack ready in {start_s:.1f} s")
        with workers_for(settings, Wait.CONSOLIDATED.stages) as child:
            sent = time.monotonic()
            produced, _ = run(ingest_files(settings, [str(file)], None, Format.AUTO, None, None, child))
            for wait in (Wait.DURABLE, Wait.CONSOLIDATED):
                run(wait_for(settings, produced, wait, child))
                if wait is Wait.DURABLE:
                    ingest_s = time.monotonic() - sent
                note(f"{produced.distinct} events {wait.value} after {time.monotonic() - sent:.1f} s")
            consolidate_s = time.monotonic() - sent
        seconds = DemoSeconds(start=round(start_s, 2), ingest=round(ingest_s, 2), consolidate=round(consolidate_s, 2))
        report, results = run(ask_all(settings, produced, questions_of(file), seconds))
        emit(json_mode, report, lambda: _page(report, results))


@contextmanager
def demo_stack(settings: Settings, *, keep: bool) -> Iterator[None]:
    """Use the running stack, or start one: as children of this command, or in the background with `--keep`."""
    if keep or stack_status(settings.data_dir).running:
        bring_up(settings.data_dir)
        yield
    else:
        with LocalStack(settings.data_dir, plan=StackPlan.beside(settings)):
            yield


def questions_of(file: Path) -> list[str]:
    """Give the questions that stand beside a file of events (`NAME.questions.jsonl`), if there are any."""
    beside = file.with_name(f"{file.stem}.questions.jsonl")
    if not beside.exists():
        return []
    return [orjson.loads(line)["question"] for line in beside.read_bytes().splitlines() if line.strip()]


async def ask_all(
    settings: Settings, produced: Produced, questions: list[str], seconds: DemoSeconds
) -> tuple[DemoReport, list[QueryResult]]:
    """Ask every question of every tenant's memory and count what is stored."""
    if not produced.ids:
        raise NotFound("the file holds no valid event")
    results: list[QueryResult] = []
    asked: list[DemoQuestion] = []
    edges: dict[str, int] = {}
    async with open_stores(settings) as stores:
        retriever = Retriever(stores.graph, stores.vectors, stores.encoder)
        for tenant in produced.ids:
            counts = await stores.graph.reader(tenant).counts()
            for edge, count in counts.edges.items():
                edges[edge.value] = edges.get(edge.value, 0) + count
            for question in questions:
                began = time.perf_counter()
                result = await retriever.query(
                    tenant, QueryRequest(question=question, budget_tokens=settings.context_budget_tokens)
                )
                ms = (time.perf_counter() - began) * 1e3
                intent = max(result.intent.items(), key=lambda item: item[1])[0]
                refs = [event.ref for event in result.events[:5]]
                asked.append(
                    DemoQuestion(
                        question=question, intent=str(intent), refs=refs, tokens=result.tokens, ms=round(ms, 1)
                    )
                )
                results.append(result)
    return DemoReport(events=produced.distinct, edges=edges, seconds=seconds, questions=asked), results


def _page(report: DemoReport, results: list[QueryResult]) -> RenderableType:
    parts: list[RenderableType] = []
    for asked, result in zip(report.questions, results, strict=True):
        parts += [
            Rule(Text(f"{asked.question}  [{asked.intent}, {asked.ms:.0f} ms, {asked.tokens} tokens]"), align="left")
        ]
        parts += [render_answer(result, explain=True, most_events=3)]
    edges = ", ".join(f"{count} {name}" for name, count in sorted(report.edges.items()))
    parts += [Rule(), Text(f"{report.events} events; {edges}")]
    times = report.seconds
    parts += [Text(f"stack {times.start} s, durable {times.ingest} s, consolidated {times.consolidate} s")]
    return Group(*parts)
