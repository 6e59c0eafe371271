"""`magma bench`: measurements, each printed as a table or as the JSON that it was made from."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bench.datasets import Dataset
from bench.environment import Environment, environment
from bench.fitting import Fit, resolve
from bench.judge import require_model
from bench.locomo import CATEGORIES, read_questions
from bench.longmemeval import events_of, questions_of, read_document
from bench.measure import Plan, measure
from bench.recalled import OpenStores, open_recalled
from bench.report import Report, draw, make_report
from bench.systems import parse_systems
from cli.bench_consolidate import consolidate
from cli.bench_ingest import ingest
from cli.bench_stack import BenchStack, bench_stack, remember
from cli.loop import run
from cli.opened import open_stores
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit
from cli.progress import Progress
from cli.readers import Format, ReadItem, read_events
from cli.readers.items import encode_event
from memory.events import AgentEvent
from memory.settings import EmbeddingModel, Settings

bench = typer.Typer(
    name="bench",
    help="Measure retrieval and consolidation against labels, and the fast path against its stores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
bench.command()(consolidate)
bench.command()(ingest)

DataFile = Annotated[Path, typer.Option("--data", help="The benchmark's file.", exists=True, dir_okay=False)]
SystemNames = Annotated[
    str, typer.Option("--systems", help="Names with commas between; also: all, baselines, ablations.")
]
Embedder = Annotated[EmbeddingModel | None, typer.Option("--embedding", help="Encoder; the settings' when left out.")]
FitOption = Annotated[Fit | None, typer.Option("--fit", help="Where Magma's ranking weights come from.")]
#: What is sent through the pipeline, once the names of the tenants are known.
Items = Callable[[BenchStack], Iterator[ReadItem]]
JudgeFlag = Annotated[bool, typer.Option("--judge", help="Let the configured model answer, and judge its answers.")]


@bench.command()
def locomo(
    data: DataFile,
    systems: SystemNames = "all",
    embedding: Embedder = None,
    fit: FitOption = None,
    refit: Annotated[bool, typer.Option("--refit", help="Fit every ablation without what it lacks, too.")] = False,
    judge: JudgeFlag = False,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Measure evidence recall on LoCoMo (snap-research/locomo, data/locomo10.json), one tenant a conversation.

    `--fit loco` fits the ranking for each conversation on all others; `--fit shipped` takes the model that comes with
    the package, which is honest only on data that it was not fitted on.

    Example: magma bench locomo --data locomo10.json --systems magma,baselines --json
    """

    def items(stack: BenchStack) -> Iterator[ReadItem]:
        for item in read_events(data, Format.LOCOMO):
            yield item if item.event is None else _item(item.line, item.event, stack.tenant(item.event.tenant))

    wanted = _Wanted(data, systems, embedding, fit, judge, data_dir, refit)
    report = _run(wanted, read_questions(data), items)
    emit(json_mode, report, lambda: draw(report, CATEGORIES))


@bench.command()
def longmemeval(
    data: DataFile,
    systems: SystemNames = "magma,baselines",
    embedding: Embedder = None,
    fit: FitOption = None,
    judge: JudgeFlag = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first questions.")] = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Measure session and turn recall on LongMemEval (xiaowu0162/LongMemEval), one tenant a question.

    Example: magma bench longmemeval --data longmemeval_s.json --limit 50 --json
    """
    document = read_document(data, limit)
    dataset = questions_of(document)
    wanted = {conversation.id for conversation in dataset.conversations}

    def items(stack: BenchStack) -> Iterator[ReadItem]:
        measured = (item for item in document if str(item["question_id"]) in wanted)
        events = (event for item in measured for event in events_of(item, stack.tenant(str(item["question_id"]))))
        for line, event in enumerate(events, start=1):
            yield _item(line, event, event.tenant)

    # a memory a question leaves too little to fit on, and the shipped weights have not seen these data
    report = _run(_Wanted(data, systems, embedding, fit or Fit.SHIPPED, judge, data_dir), dataset, items)
    emit(json_mode, report, lambda: draw(report, {}))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the options say."""

    data: Path
    systems: str
    embedding: EmbeddingModel | None
    fit: Fit | None
    judge: bool
    data_dir: Path | None
    refit: bool = False


def _item(line: int, event: AgentEvent, tenant: str) -> ReadItem:
    moved = event.model_copy(update={"tenant": tenant})
    return ReadItem(line, encode_event(moved), moved)


def _run(wanted: _Wanted, dataset: Dataset, items: Items) -> Report:
    """Check what was asked for, then fill a memory and measure."""
    systems = parse_systems([name.strip() for name in wanted.systems.split(",") if name.strip()])
    fit = resolve(wanted.fit, len(dataset.conversations))
    if wanted.judge:
        require_model(settings_for(wanted.data_dir))
    begun = environment()  # the commit that is measured, not one that is made meanwhile
    with bench_stack(wanted.data_dir, wanted.embedding) as stack:
        run(remember(stack, items(stack)))
        tenants = {conversation.id: stack.tenant(conversation.id) for conversation in dataset.conversations}
        settings = stack.settings
        judge = settings if wanted.judge else None
        plan = Plan(dataset, systems, tenants, fit, settings.context_budget_tokens, judge, wanted.refit)
        return run(_measured(wanted, settings, plan, begun))


async def _measured(wanted: _Wanted, settings: Settings, plan: Plan, begun: Environment) -> Report:
    async with open_stores(settings) as stores, open_recalled(settings, stores.encoder) as recalled:
        plain = OpenStores(stores.graph, stores.vectors, stores.encoder)
        measured = await measure(plain, recalled, plan, _bar)
        return make_report(
            plan.dataset, measured, data=wanted.data.name, embedding=stores.encoder.name, environment=begun
        )


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with Progress(what, total=total) as progress:
        yield progress
