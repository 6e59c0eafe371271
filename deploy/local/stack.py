"""The three servers as children of this process: for tests, for `magma demo`, and inside the supervisor."""

import asyncio
import threading
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from deploy.local.broker import Broker
from deploy.local.graph import GraphServer
from deploy.local.lock import DataDirLock, Holder
from deploy.local.ports import LOOPBACK, free_port, is_free
from deploy.local.process import Child
from deploy.local.server import Server, ping, require_packages
from deploy.local.services import (
    Owner,
    Service,
    ServiceStatus,
    StackPlan,
    StackState,
    remove_state,
    write_state,
)
from deploy.local.vectors import VectorServer
from memory.errors import StackProblem, StoreRefused, StoreUnavailable
from memory.settings import Settings, load_settings

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
_PING_TIMEOUT_S = 5.0
_PING_EVERY_S = 0.05
#: Starts of one server with a port of our choice: another process may take the port before the server binds it.
_ATTEMPTS = 2


@dataclass
class Running:
    """One server, its process and what is known of it."""

    server: Server
    child: Child
    port: int
    ready: bool = False
    restarts: int = 0
    note: str = ""

    @property
    def status(self) -> ServiceStatus:
        """What `stack.json` says of it."""
        alive = self.child.exit_status() is None
        return ServiceStatus(
            name=self.server.service,
            version=self.server.version,
            address=f"{LOOPBACK}:{self.port}",
            ready=self.ready and alive,
            pid=self.child.pid if alive else None,
            restarts=self.restarts,
            note=self.note,
        )


class LocalStack:
    """Broker, graph and vectors over one data directory.

    A synchronous context manager: entered when all answer a question, left when all have ended. The kernel kills the
    servers should this process die, or the thread that entered: enter on one that lives as long (the main thread).
    `<data_dir>/stack.json` names the addresses meanwhile, so `load_settings(data_dir=…)` anywhere finds them.

    Raises `MissingExtra` without the `local` extra and `StackProblem` for a held directory, a port in use or a server
    that does not start.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        plan: StackPlan | None = None,
        owner: Owner = Owner.PROCESS,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self._plan = plan or StackPlan()
        self._owner = owner
        self._start_timeout_s = start_timeout_s
        self._lock = DataDirLock(self.data_dir, owner)
        self._running: dict[Service, Running] = {}
        self._settings: Settings | None = None
        self._stopping = threading.Event()

    @property
    def services(self) -> tuple[ServiceStatus, ...]:
        """The servers of this stack as they are now."""
        return tuple(running.status for running in self._running.values())

    @property
    def settings(self) -> Settings:
        """Settings that lead to these servers; what a person set in the environment for other things holds too."""
        if self._settings is None:
            raise StackProblem("this local stack was not started", hint="use it in a `with` statement")
        return self._settings

    @property
    def left_behind(self) -> Holder | None:
        """Who held the data directory before, if it was killed."""
        return self._lock.left_behind

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all and return when each has answered; on any failure nothing is left running."""
        servers = self._planned()
        require_packages(*(server.package for server in servers))
        self._make_data_dir()
        self._lock.acquire()
        try:
            remove_state(self.data_dir)
            self._require_ports()
            for server in servers:
                self._running[server.service] = self._launch(server, self._plan.ports.get(server.service))
            self._await_all()
            self._settings = load_settings(data_dir=self.data_dir, **self._addresses())
            self.publish()
        except BaseException:  # also Ctrl-C: a start that is given up leaves no server
            self.stop()
            raise

    def stop(self) -> None:
        """End all servers, each by its own pid, and give the data directory back."""
        self._stopping.set()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        for running in self._running.values():
            running.child.ask_to_stop()
        for running in self._running.values():
            running.child.wait_or_kill(deadline)
        if self._running:
            remove_state(self.data_dir)
            self._running.clear()
        self._lock.release()

    def publish(self) -> None:
        """Write what is known now to `stack.json`."""
        state = StackState(settings=self._addresses(), services=self.services, owner=self._owner, pid=self._lock.pid)
        write_state(self.data_dir, state)

    @property
    def running(self) -> Mapping[Service, Running]:
        """The servers that were started, ended ones included."""
        return self._running

    def relaunch(self, service: Service) -> None:
        """Start an ended server again on the port that clients know; `answer` tells when it is ready."""
        running = self._running[service]
        running.ready = False
        running.restarts += 1
        running.child = self._launch(running.server, running.port).child

    def answer(self, service: Service) -> None:
        """Wait until the server has answered a question; may be called on any thread.

        Raises `StackProblem` when its process ends, or when the time to start is over.
        """
        running = self._running[service]
        child, deadline = running.child, time.monotonic() + self._start_timeout_s
        settings = load_settings(data_dir=self.data_dir, **running.server.settings(running.port))
        while not self._stopping.is_set():
            if child.exit_status() is not None:
                break
            try:
                asyncio.run(ping(service, settings, _PING_TIMEOUT_S))
            except StoreUnavailable:
                if time.monotonic() > deadline:
                    raise StackProblem(
                        f"the {service} did not answer within {self._start_timeout_s:g} s", hint=f"see {child.log}"
                    ) from None
                time.sleep(_PING_EVERY_S)
                continue
            except StoreRefused:
                # Either a foreign server has taken the port, and ours is about to end, or this is our own fault.
                time.sleep(_PING_TIMEOUT_S / 10)
                if child.exit_status() is None:
                    raise
            if child.exit_status() is None:
                return
        raise StackProblem(
            f"the {service} ended while starting (status {child.exit_status()}): {child.last_words()}",
            hint=f"see {child.log}",
        )

    def _planned(self) -> list[Server]:
        every: list[Server] = [Broker(self.data_dir), GraphServer(self.data_dir), VectorServer(self.data_dir)]
        return [server for server in every if server.service not in self._plan.external]

    def _make_data_dir(self) -> None:
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StackProblem(
                f"cannot make the data folder {self.data_dir}: {error.strerror}", hint="choose another with --data-dir"
            ) from error

    def _require_ports(self) -> None:
        for service, port in self._plan.ports.items():
            if service not in self._plan.external and not is_free(port):
                raise StackProblem(
                    f"port {port} of {LOOPBACK}, wanted for the {service}, is in use",
                    hint=f"free it, or choose another with {service.port_option}",
                )

    def _launch(self, server: Server, port: int | None) -> Running:
        server.prepare()
        port = port or free_port()
        log = self.data_dir / "logs" / f"{server.service}.log"
        return Running(server, Child(server.command(port), log), port)

    def _await_all(self) -> None:
        """Wait for all at once; a server of a port of our choice that ends is started again on another.

        Processes are started here, on the caller's thread alone: they die with the thread that started them.
        """
        attempts = dict.fromkeys(self._running, 1)
        with ThreadPoolExecutor(len(self._running) or 1) as pool:
            try:
                waiting: dict[Future[None], Service] = {pool.submit(self.answer, name): name for name in self._running}
                while waiting:
                    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        service = waiting.pop(future)
                        running = self._running[service]
                        if future.exception() is None:
                            running.ready = True
                            continue
                        ended = running.child.exit_status() is not None
                        if not ended or service in self._plan.ports or attempts[service] == _ATTEMPTS:
                            future.result()
                        attempts[service] += 1
                        self._running[service] = self._launch(running.server, None)
                        waiting[pool.submit(self.answer, service)] = service
            except BaseException:  # also Ctrl-C: the waiting threads must end, for the pool waits for them
                self._stopping.set()
                raise

    def _addresses(self) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for running in self._running.values():
            merged |= running.server.settings(running.port)
        return merged
