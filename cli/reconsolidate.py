"""`magma reconsolidate`: consolidation again, after a change of prompt, model or rules."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from pydantic import BaseModel

from cli.loop import run
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit, note
from cli.progress import Progress
from cli.workers import running_stages
from memory.graph import Graph, Mark
from memory.settings import Settings
from streams.reconsolidate import ReconsolidateReport, Selection
from streams.reconsolidate import reconsolidate as do_again
from streams.topics import Stage


class ReconsolidateView(BaseModel):
    """What `magma reconsolidate --json` prints. `events`: announced, once for each kind; `edges`: removed."""

    kinds: list[str]
    tenants: int
    sessions: int
    events: int
    edges: int
    seconds: float


def reconsolidate(
    kinds: Annotated[
        list[Mark] | None, typer.Option("--kind", help="A kind of edges, may be repeated; all when left out.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only events ingested then or later, ISO 8601; UTC without an offset.")
    ] = None,
    prompt_version: Annotated[
        str | None, typer.Option("--prompt-version", help="Only sessions with edges of this prompt version.")
    ] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant; all when left out.")] = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Take back what consolidation inferred and announce its events to the workers again.

    Producers' own edges stay. May be interrupted and run again.

    Example: magma reconsolidate --kind causal --prompt-version consolidate-1
    """
    settings = settings_for(data_dir)
    selection = Selection(tuple(dict.fromkeys(kinds or Mark)), _moment(since), prompt_version)
    report = run(_reconsolidate(settings, tenant, selection))
    absent = {Stage(kind.value) for kind in selection.kinds} - running_stages(settings)
    if report.events and settings.stack_file.exists() and absent:
        note(f"no worker of the local stack does it yet: `magma worker {' '.join(sorted(absent))}`")
    emit(
        json_mode,
        ReconsolidateView(
            kinds=[kind.value for kind in selection.kinds],
            tenants=report.tenants,
            sessions=report.sessions,
            events=report.events,
            edges=report.edges,
            seconds=round(report.seconds, 3),
        ),
    )


async def _reconsolidate(settings: Settings, tenant: str | None, selection: Selection) -> ReconsolidateReport:
    async with Graph.open(settings) as graph:
        await graph.ensure_schema()
        tenants = [tenant] if tenant is not None else await graph.tenants()
        with Progress("announced") as progress:
            return await do_again(settings, graph, tenants, selection, progress=progress)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is no time: write 2026-03-02T08:00:00+00:00") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
