"""`magma check`: proves the invariants over the stores, and mends them on request."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.loop import run
from cli.opened import open_stores
from cli.options import DataDir, JsonFlag, TenantOption, settings_for
from cli.output import EXIT_FAILED, emit
from memory.check import CheckReport, Violation
from memory.check import check as check_memory
from memory.repair import Repaired, RepairReport
from memory.repair import repair as repair_memory
from memory.settings import Settings

#: Ids shown of one finding.
SHOWN_IDS = 8


def check(
    tenant: TenantOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is found, then check again.")] = False,
    json_mode: JsonFlag = False,
    data_dir: DataDir = None,
) -> None:
    """Prove the invariants over both stores; exit status 1 when one is violated (with --repair: still violated).

    Run it when nothing is being ingested: an event on its way looks like a finding.

    Example: magma check --tenant acme --repair
    """
    settings = settings_for(data_dir)
    if repair:
        mended = run(_repair(settings, tenant))
        report = mended.check
        document = {"ok": report.ok, **asdict(report), "repaired": [asdict(one) for one in mended.repaired]}
        emit(json_mode, document, lambda: _repair_page(mended))
    else:
        report = run(_check(settings, tenant))
        emit(json_mode, {"ok": report.ok, **asdict(report)}, lambda: _table(report))
    if not report.ok:
        raise typer.Exit(EXIT_FAILED)


async def _check(settings: Settings, tenant: str | None) -> CheckReport:
    async with open_stores(settings) as stores:
        return await check_memory(stores.graph, stores.vectors, tenant)


async def _repair(settings: Settings, tenant: str | None) -> RepairReport:
    async with open_stores(settings) as stores:
        return await repair_memory(stores.graph, stores.vectors, stores.encoder, tenant)


def _table(report: CheckReport) -> Table:
    verdict = "ok" if report.ok else f"VIOLATED, {report.found} findings"
    return _rows(f"{verdict}: {report.events} events in {report.sessions} sessions", report.violations)


def _repair_page(report: RepairReport) -> RenderableType:
    if not report.repaired:
        return Group(Text("nothing to mend"), _table(report.check))
    return Group(_rows(f"mended: {len(report.repaired)} findings", report.repaired), _table(report.check))


def _rows(title: str, found: Sequence[Violation] | Sequence[Repaired]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("tenant")
    table.add_column("rule")
    table.add_column("ids")
    for one in found:
        more = " …" if len(one.ids) > SHOWN_IDS else ""
        table.add_row(Text(one.tenant), Text(str(one.rule)), Text(", ".join(one.ids[:SHOWN_IDS]) + more))
    return table
