"""`magma up`, `down` and `status`, without the words: start the supervisor, stop it, look at what runs."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from deploy.local.detached import start_supervisor, stop_process
from deploy.local.lock import Holder, is_held, named_holder
from deploy.local.server import ping
from deploy.local.services import (
    LOG_IN_MEMORY,
    Owner,
    Service,
    ServiceStatus,
    StackPlan,
    StackState,
    read_state,
    remove_state,
)
from deploy.local.stack import START_TIMEOUT_S, STOP_TIMEOUT_S
from memory.errors import MagmaError, StackProblem
from memory.settings import PREFIX, Settings, load_settings

_PING_TIMEOUT_S = 5.0
_LOOK_EVERY_S = 0.05


class StackReport(BaseModel):
    """What `magma up`, `down` and `status` tell. `seconds`: how long `up` took; `started`: whether it started one."""

    model_config = ConfigDict(frozen=True)

    running: bool
    data_dir: Path
    services: tuple[ServiceStatus, ...]
    log: str = LOG_IN_MEMORY
    started: bool = False
    seconds: float = 0.0
    note: str = ""


def bring_up(data_dir: Path, ports: Mapping[Service, int] | None = None) -> StackReport:
    """Start the stack in the background, or find it running; returns when every server answers.

    Raises `StackProblem` and `MissingExtra` with what the supervisor says; nothing is left running then.
    """
    began = time.monotonic()
    data_dir, ports = data_dir.absolute(), ports or {}
    plan = StackPlan.beside(load_settings(data_dir=data_dir), ports)
    for service in plan.external & plan.ports.keys():
        raise StackProblem(
            f"{service.port_option} is given, but {service.address_setting} already names a server that somebody runs",
            hint=f"leave out {service.port_option}, or unset {_variable(service)}",
        )
    note, started = "", False
    while not is_held(data_dir) and len(plan.external) < len(Service):
        report = start_supervisor(data_dir, plan)
        if report.held:
            continue
        if report.message:
            raise StackProblem(report.message, hint=report.hint)
        started = True
        if report.killed_pid is not None:
            note = (
                f"the stack before (process {report.killed_pid}) was killed and its servers ended with it; "
                "graph and vectors have kept their data, the log is empty"
            )
        break
    state = _await_ready(data_dir, plan)
    # The supervisor has just had an answer of each server that it started; one found running is asked now.
    services = asyncio.run(_look(data_dir, state, ask_own=not started))
    own = {status.name for status in state.services} if state else set()
    while any(service.name in own and not service.ready for service in services):
        if time.monotonic() - began > START_TIMEOUT_S:
            late = ", ".join(
                f"{service.name} ({service.note})" for service in services if service.name in own and not service.ready
            )
            raise StackProblem(f"the local stack runs, but not all of it answers: {late}", hint="see `magma status`")
        services = asyncio.run(_look(data_dir, state))
    seconds = round(time.monotonic() - began, 2)
    return StackReport(
        running=state is not None, data_dir=data_dir, services=services, started=started, seconds=seconds, note=note
    )


def take_down(data_dir: Path) -> StackReport:
    """Stop the stack that `magma up` started, if one runs; returns when all its servers have ended."""
    data_dir = data_dir.absolute()
    if not is_held(data_dir):
        killed = named_holder(data_dir)
        remove_state(data_dir)
        what = f"the stack of process {killed.pid} was killed before" if killed else "the local stack was not running"
        return stack_status(data_dir).model_copy(update={"note": f"{what}; nothing to stop"})
    holder = _holder(data_dir)
    if holder.owner is not Owner.SUPERVISOR:
        raise StackProblem(
            f"the local stack in {data_dir} belongs to the process {holder.pid}, which stops it when it ends",
            hint="end that process, or wait for it",
        )
    stop_process(holder.pid, STOP_TIMEOUT_S + _PING_TIMEOUT_S)
    remove_state(data_dir)
    return stack_status(data_dir).model_copy(update={"note": "stopped"})


def stack_status(data_dir: Path) -> StackReport:
    """Look at what runs now: every server is asked a question. A stopped stack is an answer, not an error."""
    data_dir = data_dir.absolute()
    held = is_held(data_dir)
    state = read_state(data_dir) if held else None
    note = ""
    if held and state is None:
        note = "the local stack is starting or stopping"
    elif not held and (killed := named_holder(data_dir)) is not None:
        note = f"the supervisor, process {killed.pid}, was killed and its servers ended with it; `magma up` starts anew"
    services = asyncio.run(_look(data_dir, state))
    return StackReport(running=state is not None, data_dir=data_dir, services=services, note=note)


async def _look(data_dir: Path, state: StackState | None, *, ask_own: bool = True) -> tuple[ServiceStatus, ...]:
    """Ask each server of the stack, and each that a person's settings name, at once."""
    settings = load_settings(data_dir=data_dir)
    own = {status.name: status for status in state.services} if state else {}
    external = StackPlan.beside(settings).external - own.keys()
    local = load_settings(data_dir=data_dir, **state.settings) if state else settings
    async with asyncio.TaskGroup() as group:
        looks = [
            group.create_task(_ask_own(own[service], local, ask=ask_own))
            if service in own
            else group.create_task(_ask_external(service, settings))
            for service in Service
            if service in own or service in external
        ]
    seen = {look.result().name: look.result() for look in looks}
    return tuple(seen.get(service, ServiceStatus(name=service, note="not running")) for service in Service)


async def _ask_own(status: ServiceStatus, settings: Settings, *, ask: bool) -> ServiceStatus:
    if not ask or not status.ready:
        return status
    try:
        await ping(status.name, settings, _PING_TIMEOUT_S)
    except MagmaError as error:
        return status.model_copy(update={"ready": False, "note": str(error)})
    return status


async def _ask_external(service: Service, settings: Settings) -> ServiceStatus:
    address = str(getattr(settings, service.address_setting))
    note = f"not started by `magma up`: given by {_variable(service)} or magma.toml"
    try:
        version = await ping(service, settings, _PING_TIMEOUT_S)
    except MagmaError as error:
        return ServiceStatus(name=service, address=address, note=f"{error}; {note}")
    return ServiceStatus(name=service, version=version, address=address, ready=True, note=note)


def _await_ready(data_dir: Path, plan: StackPlan) -> StackState | None:
    """Wait for the stack of whoever holds the directory, and check that it is the one that was asked for.

    None when every server is somebody else's and no stack is needed.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while is_held(data_dir) and read_state(data_dir) is None:
        if time.monotonic() > deadline:
            raise StackProblem(f"the local stack in {data_dir} is held but not ready", hint="run `magma down`")
        time.sleep(_LOOK_EVERY_S)
    state = read_state(data_dir) if is_held(data_dir) else None
    if state is None and len(plan.external) < len(Service):
        raise StackProblem(f"the local stack in {data_dir} ended while it was waited for", hint="see its logs folder")
    for status in state.services if state else ():
        wanted = plan.ports.get(status.name)
        if wanted is not None and not status.address.endswith(f":{wanted}"):
            raise StackProblem(
                f"the local stack already runs with its {status.name} on {status.address}",
                hint=f"run `magma down` first, or leave out {status.name.port_option}",
            )
    return state


def _holder(data_dir: Path) -> Holder:
    """Give who holds the lock; its name is written a moment after the lock is taken."""
    deadline = time.monotonic() + _PING_TIMEOUT_S
    while (holder := named_holder(data_dir)) is None:
        if time.monotonic() > deadline:
            raise StackProblem(f"{data_dir} is held by a process without a name", hint="end it by hand")
        time.sleep(_LOOK_EVERY_S)
    return holder


def _variable(service: Service) -> str:
    return f"{PREFIX}{service.address_setting.upper()}"
