"""`magma up`, `magma down`, `magma status`: the local stack."""

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit, note
from deploy.local import Service, StackReport, bring_up, stack_status, take_down


def _port_option(service: Service) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        service.port_option, min=1, max=65_535, help=f"fixed port of the {service} (default: a free one)"
    )
    return option


def up(
    data_dir: DataDir = None,
    kafka_port: Annotated[int | None, _port_option(Service.BROKER)] = None,
    graph_port: Annotated[int | None, _port_option(Service.GRAPH)] = None,
    milvus_port: Annotated[int | None, _port_option(Service.VECTORS)] = None,
    as_json: JsonFlag = False,
) -> None:
    """Start the local stack, or find it running; returns when every server answers.

    A server whose address is set (MAGMA_KAFKA_BOOTSTRAP, MAGMA_GRAPH_URI, MAGMA_MILVUS_URI) is used, not started.

    Example: magma up --kafka-port 9092
    """
    wanted = {Service.BROKER: kafka_port, Service.GRAPH: graph_port, Service.VECTORS: milvus_port}
    ports = {service: port for service, port in wanted.items() if port is not None}
    report = bring_up(settings_for(data_dir).data_dir, ports)
    if report.note:
        note(report.note)
    emit(as_json, report, lambda: _drawing(report))


def down(data_dir: DataDir = None, as_json: JsonFlag = False) -> None:
    """Stop the local stack. Graph and vectors keep their data; the log is in memory and does not.

    Example: magma down
    """
    report = take_down(settings_for(data_dir).data_dir)
    emit(as_json, report, lambda: Text(f"{report.note}. {report.log}."))


def status(data_dir: DataDir = None, as_json: JsonFlag = False) -> None:
    """Say what of the local stack runs where; every server is asked a question.

    Example: magma status --json
    """
    report = stack_status(settings_for(data_dir).data_dir)
    emit(as_json, report, lambda: _drawing(report))


def _drawing(report: StackReport) -> RenderableType:
    """Give the table of servers and what must be said under it."""
    table = Table(box=None, pad_edge=False)
    for heading in ("server", "version", "address", "ready", "pid"):
        table.add_column(heading, no_wrap=True)
    for service in report.services:
        ready = Text("yes", style="green") if service.ready else Text("no", style="red")
        pid = str(service.pid) if service.pid is not None else "-"
        table.add_row(service.name, service.version or "-", service.address or "-", ready, pid)
    lines = [f"{service.name}: {service.note}" for service in report.services if service.note and service.address]
    if not report.running:
        lines.append("not running; start it with `magma up`")
    if report.note:
        lines.append(report.note)
    if report.running:
        lines.append(report.log)
    return Group(table, *(Text(line, style="dim") for line in lines))
