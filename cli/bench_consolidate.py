"""`magma bench consolidate`: how right the slow path is, measured through the whole pipeline."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from bench.consolidate import ConsolidateReport, ProviderTable, draw, measure_sets
from bench.consolidate_failures import FailuresTable, measure_failures
from bench.consolidate_sets import DATA, LabelledSet, Split, read_set
from bench.environment import environment
from bench.who_and_when import FailureLog, read_logs
from cli.bench_stack import BenchStack, bench_stack, remember
from cli.loop import run
from cli.opened import Stores, open_stores
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit
from cli.progress import Progress
from cli.readers import ReadItem
from cli.readers.items import encode_event
from memory.events import AgentEvent
from memory.settings import LlmProvider

#: About how many events are sent before they are waited for.
PORTION = 120

DataFolder = Annotated[Path, typer.Option("--data", help="Folder of labelled sets.", exists=True, file_okay=False)]
FailuresFile = Annotated[
    Path | None, typer.Option("--failures", help="Failure logs in the form of Who&When.", exists=True, dir_okay=False)
]


def consolidate(
    data: DataFolder = DATA,
    split: Annotated[Split, typer.Option("--split", help="The half; on dev every mistake is listed.")] = Split.HELD,
    failures: FailuresFile = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Measure causes, entities and dates on labelled dialogues and telemetry; causes on failure logs, too.

    Rules are measured always, the model when one is configured. Each measurement has a memory of its own, written
    through the whole pipeline.

    Example: magma bench consolidate --split dev
    """
    labelled = read_set(data, split)
    logs = read_logs(failures) if failures is not None else []
    begun = environment()  # the commit that is measured, not one that is made meanwhile
    configured = settings_for(data_dir).llm_provider
    name = failures.name if failures is not None else ""
    tables = {
        provider: _measured(provider, labelled, logs, name, data_dir, show=split is Split.DEV)
        for provider in dict.fromkeys((LlmProvider.RULES, configured))
    }
    report = ConsolidateReport(
        rules=tables.get(LlmProvider.RULES),
        openai=tables.get(LlmProvider.OPENAI),
        data="bench/data" if data == DATA else data.name,
        split=split,
        documents=len(labelled.documents),
        events=sum(len(events) for events in labelled.events.values()),
        environment=begun,
    )
    emit(json_mode, report, lambda: draw(report))


def _measured(
    provider: LlmProvider,
    labelled: LabelledSet,
    logs: list[FailureLog],
    name: str,
    data_dir: Path | None,
    *,
    show: bool,
) -> ProviderTable:
    """Fill a new memory and judge it: what an older version has consolidated would not be done again."""
    called = f"consolidate-{provider}-{uuid4().hex[:8]}"
    with bench_stack(data_dir, None, name=called, overrides={"llm_provider": provider.value}) as stack:
        for items in _portions(stack, labelled, logs):
            run(remember(stack, items))
        return run(_judged(stack, provider, labelled, logs, name, show=show))


async def _judged(
    stack: BenchStack,
    provider: LlmProvider,
    labelled: LabelledSet,
    logs: list[FailureLog],
    name: str,
    *,
    show: bool,
) -> ProviderTable:
    tenants = {document.id: stack.tenant(document.id) for document in labelled.documents}
    model = "" if provider is LlmProvider.RULES else stack.settings.llm_model
    async with open_stores(stack.settings) as stores:
        failures = await _failures(stores, stack, logs, name) if logs else None
        return await measure_sets(stores.graph, labelled, tenants, show=show, model=model, failures=failures)


async def _failures(stores: Stores, stack: BenchStack, logs: list[FailureLog], name: str) -> FailuresTable:
    with Progress("failure logs", total=len(logs)) as progress:
        by_tenant = {stack.tenant(log.id): log for log in logs}
        return await measure_failures(
            stores.graph, stores.vectors, stores.encoder, by_tenant, data=name, progress=progress
        )


def _portions(stack: BenchStack, labelled: LabelledSet, logs: list[FailureLog]) -> Iterator[list[ReadItem]]:
    """Give the events of whole documents and logs, some hundred at a time: each portion is waited for."""
    portion: list[ReadItem] = []
    for events in (*labelled.events.values(), *(log.steps for log in logs)):
        portion += [_item(event, stack.tenant(event.tenant)) for event in events]
        if len(portion) >= PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def _item(event: AgentEvent, tenant: str) -> ReadItem:
    moved = event.model_copy(update={"tenant": tenant})
    return ReadItem(moved.sequence or 0, encode_event(moved), moved)
