"""Which workers run beside the local stack, and a worker as a child of a command that needs one.

A worker on the local stack leaves a note in `<data_dir>/workers/`. `magma ingest --wait` and `magma demo` look there:
when nobody would take the events, they run a worker for as long as they wait.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from deploy.local.process import Child, Command
from memory.errors import StackProblem
from memory.settings import Settings
from streams.topics import Stage

FOLDER = "workers"
STOP_S = 15.0


@contextmanager
def registered(settings: Settings, stages: Sequence[Stage]) -> Iterator[None]:
    """Leave a note that this process runs these stages, for as long as it does."""
    folder = settings.data_dir / FOLDER
    if not settings.stack_file.exists():  # a worker against servers elsewhere has nobody to tell
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{os.getpid()}.json"
    told = {"pid": os.getpid(), "topics": settings.topic_prefix, "stages": [stage.value for stage in stages]}
    note.write_bytes(orjson.dumps(told))
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def running_stages(settings: Settings) -> set[Stage]:
    """Give the stages that live workers beside this local stack run on these topics; notes of dead ones are removed."""
    stages: set[Stage] = set()
    for note in sorted((settings.data_dir / FOLDER).glob("*.json")):
        try:
            told = orjson.loads(note.read_bytes())
            os.kill(int(told["pid"]), 0)
            if told["topics"] == settings.topic_prefix:
                stages |= {Stage(name) for name in told["stages"]}
        except (ProcessLookupError, FileNotFoundError, orjson.JSONDecodeError, KeyError, ValueError):
            note.unlink(missing_ok=True)
        except PermissionError:  # alive, somebody else's
            continue
    return stages


class WorkerChild:
    """A worker process that dies with this one; its log goes to `<data_dir>/logs/worker.log`.

    `environment`: variables of its own, over those of this process.
    """

    def __init__(
        self, settings: Settings, stages: Sequence[Stage], environment: Mapping[str, str] | None = None
    ) -> None:
        command = [sys.executable, "-m", "cli.main", "worker", *(stage.value for stage in stages)]
        command += ["--data-dir", str(settings.data_dir.absolute())]
        self._child = Child(
            Command(command, _environment() | dict(environment or {})), settings.data_dir / "logs" / "worker.log"
        )

    def ensure_alive(self) -> None:
        """Raise `StackProblem` with the end of its log when the worker has stopped."""
        status = self._child.exit_status()
        if status is not None:
            raise StackProblem(f"the worker stopped with status {status}: {self._why()}", hint=f"see {self._child.log}")

    def _why(self) -> str:
        """Give the line in which the worker said why it stops; its last words when it said nothing."""
        lines = self._child.log.read_text(errors="replace").splitlines()[-200:]
        told = [line.partition(" CRITICAL ")[2] for line in lines if " CRITICAL " in line]
        return told[-1].strip() if told else self._child.last_words()

    def stop(self) -> None:
        """End the worker by its own id: SIGTERM, then SIGKILL after a grace period."""
        self._child.ask_to_stop()
        self._child.wait_or_kill(time.monotonic() + STOP_S)


def _environment() -> dict[str, str]:
    """Give the child's environment: this one's, with the packages found from wherever we were started."""
    root = str(Path(__file__).resolve().parent.parent)
    path = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


@contextmanager
def workers_for(settings: Settings, stages: Sequence[Stage]) -> Iterator[WorkerChild | None]:
    """Run the stages that no worker of the local stack runs yet; none when the servers are not a local stack's."""
    if not settings.stack_file.exists():
        yield None
        return
    absent = [stage for stage in stages if stage not in running_stages(settings)]
    if not absent:
        yield None
        return
    child = WorkerChild(settings, absent)
    try:
        yield child
    finally:
        child.stop()
