"""The command line as a person types it, over one local stack, one set of topics and one worker."""

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cli.main import magma as run_magma
from cli.workers import WorkerChild, running_stages
from memory.settings import PREFIX, Settings, load_settings
from streams.topics import Stage

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LOCOMO = ROOT.parent / "shared" / "data" / "locomo_dev.json"

#: LoCoMo may not be part of the project: where it does not lie beside it, there is nothing to hold it to.
collect_ignore = [] if LOCOMO.exists() else ["test_locomo_acceptance.py"]

_WORKER_START_S = 30.0


@dataclass(frozen=True)
class Said:
    """What a command left: exit status, stdout, stderr."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


@dataclass
class Magma:
    """Runs commands with an environment of their own."""

    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """The settings that the commands see."""
        with self._environment():
            return load_settings()

    def __call__(self, *arguments: str, status: int = 0) -> Said:
        """Run a command in this process; it must leave with `status`."""
        out, err = io.StringIO(), io.StringIO()
        with self._environment(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            left = run_magma(list(arguments))
        said = Said(left, out.getvalue(), err.getvalue())
        assert said.status == status, f"magma {' '.join(arguments)}: {left}\n{said.out}\n{said.err}"
        return said

    def json(self, *arguments: str, status: int = 0) -> Any:
        """Run a command with `--json`; gives the object."""
        return self(*arguments, "--json", status=status).json

    @contextlib.contextmanager
    def alone(self, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
        """Run a command in a process of its own; one that still runs at the end of the block is killed."""
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", *arguments],
            cwd=ROOT,
            env={**_bare(), **self.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()

    @contextlib.contextmanager
    def worker(self, *stages: Stage) -> Iterator[WorkerChild]:
        """Run a worker until the end of the block; it must be told to stop and leave with 0."""
        with self._environment():
            child = WorkerChild(load_settings(), stages or tuple(Stage))
            settings = load_settings()
        try:
            until = time.monotonic() + _WORKER_START_S
            while not running_stages(settings).issuperset(stages or tuple(Stage)):
                child.ensure_alive()
                assert time.monotonic() < until, "the worker does not start"
                time.sleep(0.1)
            yield child
        finally:
            child.stop()

    @contextlib.contextmanager
    def _environment(self) -> Iterator[None]:
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update({**_bare(before), **self.environment})
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _bare(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Give the environment without settings of Magma, but for the servers that the stack was told to use."""
    kept = {f"{PREFIX}{name}" for name in ("KAFKA_BOOTSTRAP", "GRAPH_URI", "MILVUS_URI")}
    return {name: value for name, value in environment.items() if not name.startswith(PREFIX) or name in kept}


def magma_on(stack: Settings) -> Magma:
    """Give a command line with topics and a collection of its own on the running stack."""
    unique = uuid4().hex[:12]
    return Magma(
        {
            "MAGMA_DATA_DIR": str(stack.data_dir),
            "MAGMA_TOPIC_PREFIX": f"cli-{unique}.",
            "MAGMA_MILVUS_COLLECTION": f"cli_{unique}",
        }
    )


@pytest.fixture(scope="session")
def magma(stack: Settings) -> Iterator[Magma]:
    """Give the command line with a worker of all stages behind it, shared by all tests of this room."""
    shared = magma_on(stack)
    with shared.worker():
        yield shared


@pytest.fixture
def apart(stack: Settings) -> Magma:
    """Give a command line with topics of its own and no worker."""
    return magma_on(stack)


def write_lines(path: Path, events: list[Any]) -> Path:
    """Write events, or raw lines, to a file."""
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in events]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def an_event(
    tenant: str, ident: str, *, text: str = "the deploy of payments was started", **more: Any
) -> dict[str, Any]:
    """Give a valid event as a producer writes it."""
    return {
        "id": ident,
        "source": "test",
        "tenant": tenant,
        "agent": "deployer",
        "session": "s1",
        "kind": "message",
        "text": text,
        "occurred_at": "2026-03-03T08:00:00+00:00",
        **more,
    }


def pass_through(magma: Magma, folder: Path) -> None:
    """Return when everything sent so far has been through all stages, what changes nothing included.

    Events of many sessions, so of every partition, follow it; each stage keeps the order of a partition.
    """
    tenant = f"behind-{uuid4().hex[:12]}"
    events = [an_event(tenant, f"e{n}", session=f"s{n}") for n in range(48)]
    file = write_lines(folder / f"{tenant}.jsonl", events)
    assert magma.json("ingest", str(file), "--wait", "consolidated")["durable"] == len(events)
