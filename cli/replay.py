"""`magma replay`: graph and vectors again from the log."""

from enum import StrEnum
from typing import Annotated

import typer
from pydantic import BaseModel

from cli.loop import run
from cli.opened import Stores, open_stores
from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit, note
from cli.progress import Progress
from memory.settings import Settings
from streams.ingest import open_ingest
from streams.replay import ReplayReport
from streams.replay import replay as replay_log


class From(StrEnum):
    """Where a replay begins."""

    EARLIEST = "earliest"


class ReplayView(BaseModel):
    """What `magma replay --json` prints. `changed`: events and vectors that were not there before; `letters`: records
    of the log that can never be written."""

    events: int
    seconds: float
    changed: int
    letters: int


def replay(
    begin: Annotated[From, typer.Option("--from", help="Where to begin.")] = From.EARLIEST,  # noqa: ARG001  one so far
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's events.")] = None,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Rebuild graph and vectors from memory.events; over full stores it changes nothing.

    Example: magma replay --tenant acme
    """
    settings = settings_for(data_dir)
    report, changed = run(_replay(settings, tenant))
    for letter in report.letters[:10]:
        note(f"{letter.record.place} cannot be written: {letter.error}")
    view = ReplayView(
        events=report.records, seconds=round(report.seconds, 3), changed=changed, letters=len(report.letters)
    )
    emit(json_mode, view)


async def _replay(settings: Settings, tenant: str | None) -> tuple[ReplayReport, int]:
    async with open_stores(settings) as stores:
        before = await _stored(stores, tenant)
        with Progress("replayed") as progress:
            report = await replay_log(settings, open_ingest, tenant=tenant, progress=progress)
        return report, await _stored(stores, tenant) - before


async def _stored(stores: Stores, tenant: str | None) -> int:
    """Give how many events and vectors there are: a replay only adds."""
    tenants = [tenant] if tenant is not None else await stores.graph.tenants()
    total = 0
    for name in tenants:
        total += (await stores.graph.reader(name).counts()).events + await stores.vectors.reader(name).count()
    return total
