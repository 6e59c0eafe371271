"""`magma bench ingest`: what the fast path takes, over servers that are started for the time of the measurement."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from bench.environment import environment
from bench.ingest import Plan, draw, make_report, measure
from cli.loop import run
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit
from deploy.local import LocalStack, StackPlan, stack_status


def ingest(
    events: Annotated[int, typer.Option("--events", help="Events of one run.", min=50)] = 10_000,
    runs: Annotated[int, typer.Option("--runs", help="Runs; medians are given.", min=1)] = 3,
    half_load_s: Annotated[float, typer.Option("--half-load-s", help="Seconds at half load.", min=0.5)] = 10.0,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Measure the way of events from `agent.events` to durable in both stores: rate, CPU, latency at half load.

    Servers run for the time of the measurement, in a temporary folder. With `--data-dir` those that run there are used,
    and what was sent stays in their graph, in tenants that are called `bench-ingest-...`.

    Example: magma bench ingest --events 10000 --runs 3 --json
    """
    begun = environment()
    plan = Plan(events, max(50, events // 5), runs, half_load_s)
    with ExitStack() as stack:
        if data_dir is not None and stack_status(data_dir).running:
            settings = settings_for(data_dir)
        else:
            folder = data_dir or Path(stack.enter_context(TemporaryDirectory(prefix="magma-bench-")))
            local = LocalStack(folder, plan=StackPlan.beside(settings_for(folder)))
            settings = stack.enter_context(local).settings
        report = make_report(plan, settings, run(measure(settings, plan)), begun)
    emit(json_mode, report, lambda: draw(report))
