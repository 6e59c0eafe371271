"""The supervisor as a detached process: a pipe for its one report, its pid known from the first moment."""

import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path

import deploy
from deploy.local.process import rotate
from deploy.local.services import StackPlan, StartReport
from deploy.local.stack import START_TIMEOUT_S, STOP_TIMEOUT_S
from memory.errors import StackProblem

#: Above what the supervisor itself allows for a start that fails and is cleared away.
_REPORT_TIMEOUT_S = 2 * START_TIMEOUT_S + STOP_TIMEOUT_S
_LOOK_EVERY_S = 0.05
_REPORT_LIMIT_BYTES = 65_536


def start_supervisor(data_dir: Path, plan: StackPlan) -> StartReport:
    """Start the supervisor and wait for its report; if this is interrupted, it is stopped with what it had begun."""
    log = data_dir / "logs" / "supervisor.log"
    try:
        rotate(log)
    except OSError as error:
        raise StackProblem(
            f"cannot make the data folder {data_dir}: {error.strerror}", hint="choose another with --data-dir"
        ) from error
    arguments = [sys.executable, "-P", "-m", "deploy.local.supervisor", "--data-dir", str(data_dir)]
    arguments += [word for service, port in plan.ports.items() for word in ("--port", f"{service}={port}")]
    arguments += [word for service in plan.external for word in ("--external", service)]
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        try:
            # Not `subprocess`: its object wants to outlive the process. A session of its own keeps Ctrl-C away.
            pid = os.posix_spawn(
                sys.executable,
                arguments,
                os.environ | {"PYTHONPATH": _python_path()},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 1),
                    (os.POSIX_SPAWN_OPEN, 2, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                ],
                setsid=True,
            )
        finally:
            os.close(writing)
        try:
            ready, _, _ = select.select([pipe], [], [], _REPORT_TIMEOUT_S)
            line = pipe.readline(_REPORT_LIMIT_BYTES) if ready else b""
            if not line:
                raise StackProblem("the supervisor of the local stack ended without a word", hint=f"see {log}")
        except BaseException:  # also Ctrl-C: a start that is given up leaves no server
            stop_process(pid, STOP_TIMEOUT_S)
            raise
    return StartReport.model_validate_json(line)


def stop_process(pid: int, timeout_s: float) -> None:
    """Ask the process to stop, wait until it has ended, and kill it when the time is over."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if _has_ended(pid):
                return
            time.sleep(_LOOK_EVERY_S)
    raise StackProblem(f"the supervisor, process {pid}, does not end", hint="end it by hand")


def _has_ended(pid: int) -> bool:
    """Say whether the process has ended; a child of ours is collected on the way."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False


def _python_path() -> str:
    """Give the path on which the supervisor finds these very rooms, whatever folder it is started in."""
    here = str(Path(deploy.__file__).absolute().parents[1])
    return os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
