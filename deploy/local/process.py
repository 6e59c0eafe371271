"""A server process: started so that it cannot outlive its parent, ended by its own pid, its log bounded at start."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.local import die_with_parent

LOG_LIMIT_BYTES = 1_000_000
_TAIL_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. `environment` is complete: nothing is inherited, so no variable of the user's changes a server."""

    arguments: Sequence[str]
    environment: Mapping[str, str]


class Child:
    """One running server process.

    Must be started on a thread that lives as long as the server shall (the main thread): the kernel's death signal is
    bound to it. The process has a session of its own, so that Ctrl-C reaches only its parent, which stops it in order.
    """

    def __init__(self, command: Command, log: Path) -> None:
        self.log = log
        rotate(log)
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    die_with_parent.__file__,
                    str(os.getpid()),
                    *command.arguments,
                ],
                env=dict(command.environment),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id; it stays the same when the script becomes the server."""
        return self._process.pid

    def exit_status(self) -> int | None:
        """Give the exit status, or None while it runs."""
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, without waiting."""
        if self.exit_status() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait_or_kill(self, deadline: float) -> None:
        """Wait until it has ended; kill it at the deadline (`time.monotonic()` seconds)."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def last_words(self) -> str:
        """Give the last line it logged, to be quoted in an error; empty when there is none."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
            lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")[:300]


def rotate(log: Path) -> None:
    """Keep at most one old file of each log: a server's log is bounded by what one run writes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(log.suffix + ".1"))


def server_environment(**added: str) -> dict[str, str]:
    """Give the few variables of the caller's that a server needs (paths, locale), and `added`."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | added
