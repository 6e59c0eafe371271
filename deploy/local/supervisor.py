"""The process behind `magma up`: `python -m deploy.local.supervisor --data-dir D` owns the servers until SIGTERM.

It starts all, reports one line of JSON on stdout and then only watches: a server that ends is noted in `stack.json` and
started again on its port, with growing pauses, until it has failed too often. The servers end with it, however it ends.
"""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from deploy.local.lock import LockHeld
from deploy.local.services import LOG_IN_MEMORY, Owner, Service, StackPlan, StartReport
from deploy.local.stack import LocalStack, Running
from memory.errors import MagmaError

WATCH_EVERY_S = 0.3
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
#: A server that ran so long is sound again: its failures are forgotten.
SOUND_AFTER_S = 60.0
GIVE_UP_AFTER = 6


@dataclass
class Healing:
    """The way back of one ended server. Times are `time.monotonic()` seconds."""

    failures: int = 0
    next_start_s: float = 0.0
    starting: Future[None] | None = None
    sound_since_s: float | None = None

    @property
    def given_up(self) -> bool:
        """Whether it failed too often to be started again."""
        return self.failures >= GIVE_UP_AFTER


class Supervisor:
    """Watches a started stack until told to stop. `step` must be called on the thread that started the stack."""

    def __init__(self, stack: LocalStack) -> None:
        self._stack = stack
        self._healing: dict[Service, Healing] = {}
        self._pool = ThreadPoolExecutor(len(Service))

    def watch(self, stop: threading.Event) -> None:
        """Watch until `stop` is set, then end the servers."""
        try:
            while not stop.wait(WATCH_EVERY_S):
                self.step(time.monotonic())
        finally:
            self._stack.stop()
            self._pool.shutdown()

    def step(self, now_s: float) -> None:
        """Look at each server once: note an end, start again when its pause is over, note that it is back."""
        for service, running in self._stack.running.items():
            healing = self._healing.setdefault(service, Healing())
            if healing.starting is not None:
                self._see_start(running, healing, healing.starting, now_s)
            elif running.child.exit_status() is None:
                if healing.sound_since_s is not None and now_s - healing.sound_since_s > SOUND_AFTER_S:
                    healing.failures, healing.sound_since_s = 0, None
            elif running.ready:
                self._see_end(running, healing, now_s)
            elif not healing.given_up and now_s >= healing.next_start_s:
                self._stack.relaunch(service)
                healing.starting = self._pool.submit(self._stack.answer, service)

    def _see_end(self, running: Running, healing: Healing, now_s: float) -> None:
        what = f"ended by itself (status {running.child.exit_status()}) at {_clock()}"
        self._see_failure(running, healing, now_s, what)

    def _see_start(self, running: Running, healing: Healing, starting: Future[None], now_s: float) -> None:
        if not starting.done():
            return
        healing.starting = None
        error = starting.exception()
        if error is not None:
            self._see_failure(running, healing, now_s, str(error))
            return
        running.ready, healing.sound_since_s = True, now_s
        lost = f"; {LOG_IN_MEMORY}" if running.server.service is Service.BROKER else ""
        running.note = f"ended by itself and was started again at {_clock()}{lost}"
        self._stack.publish()

    def _see_failure(self, running: Running, healing: Healing, now_s: float, what: str) -> None:
        healing.failures += 1
        healing.sound_since_s = None
        running.ready = False
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (healing.failures - 1))
        healing.next_start_s = now_s + pause_s
        then = (
            f"failed {healing.failures} times and is not started again; see {running.child.log}, then `magma down`"
            if healing.given_up
            else f"is started again in {pause_s:g} s"
        )
        running.note = f"{what}; {then}"
        self._stack.publish()


def _clock() -> str:
    return datetime.now(UTC).strftime("%H:%M:%S UTC")


def main(arguments: Sequence[str] | None = None) -> None:
    """Start, report, watch."""
    data_dir, plan = _parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stop = threading.Event()
    stack = LocalStack(data_dir, plan=plan, owner=Owner.SUPERVISOR)
    try:
        stack.start()
    except MagmaError as error:
        _report(StartReport(message=error.message, hint=error.hint, held=isinstance(error, LockHeld)))
        sys.exit(1)
    except KeyboardInterrupt:
        _report(StartReport(message="the local stack was told to stop while it started"))
        sys.exit(1)

    def told_to_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, told_to_stop)
    _report(StartReport(killed_pid=stack.left_behind.pid if stack.left_behind else None))
    Supervisor(stack).watch(stop)


def _parse(arguments: Sequence[str] | None) -> tuple[Path, StackPlan]:
    parser = argparse.ArgumentParser(prog="deploy.local.supervisor", description="Owns the servers of `magma up`.")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", action="append", default=[], metavar="SERVICE=PORT", help="fix a server's port")
    parser.add_argument("--external", action="append", default=[], type=Service, help="do not start this server")
    given = parser.parse_args(arguments)
    pairs = (pair.split("=", 1) for pair in given.port)
    return given.data_dir, StackPlan({Service(name): int(port) for name, port in pairs}, frozenset(given.external))


def _report(report: StartReport) -> None:
    """Write the one line and let go of the pipe; whoever asked may have gone away meanwhile, and that is no reason."""
    try:
        os.write(1, report.model_dump_json().encode() + b"\n")
    except BrokenPipeError:
        pass
    finally:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
