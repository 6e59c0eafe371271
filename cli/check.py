"""`magma check`: proves the invariants over the stores."""

from dataclasses import asdict

import typer
from rich.table import Table

from cli.loop import run
from cli.opened import open_stores
from cli.options import DataDir, JsonFlag, TenantOption, settings_for
from cli.output import EXIT_FAILED, emit
from memory.check import CheckReport
from memory.check import check as check_memory
from memory.settings import Settings


def check(tenant: TenantOption = None, json_mode: JsonFlag = False, data_dir: DataDir = None) -> None:
    """Prove the invariants over both stores; exit status 1 when one is violated.

    Example: magma check --tenant acme
    """
    report = run(_check(settings_for(data_dir), tenant))
    emit(json_mode, {"ok": report.ok, **asdict(report)}, lambda: _table(report))
    if not report.ok:
        raise typer.Exit(EXIT_FAILED)


async def _check(settings: Settings, tenant: str | None) -> CheckReport:
    async with open_stores(settings) as stores:
        return await check_memory(stores.graph, stores.vectors, tenant)


def _table(report: CheckReport) -> Table:
    verdict = "ok" if report.ok else "VIOLATED"
    table = Table(title=f"{verdict}: {report.events} events in {report.sessions} sessions", title_justify="left")
    table.add_column("rule")
    table.add_column("ids")
    for violation in report.violations:
        table.add_row(str(violation.rule), ", ".join(violation.ids[:8]) + (" …" if len(violation.ids) > 8 else ""))
    return table
