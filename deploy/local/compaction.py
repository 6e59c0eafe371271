"""`magma compact`: after an erasure, what the stopped stack's stores have deleted leaves their files too.

Each engine works in a process of its own, as the servers do, under the lock of the data directory.
"""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from deploy.local.graph import DATABASE, GraphServer
from deploy.local.lock import DataDirLock
from deploy.local.process import Child, Command, server_environment
from deploy.local.server import require_packages
from deploy.local.services import Owner, Service
from deploy.local.vectors import VectorServer
from memory.errors import StackProblem
from memory.graph.schema import Dialect, ddl

#: Longest time that one store may take, in seconds: some hundred thousand events.
TIMEOUT_S = 1_800.0
_LOOK_EVERY_S = 0.05
_HERE = Path(__file__).parent


class Compacted(BaseModel):
    """One store. Sizes are those of its files, in bytes."""

    model_config = ConfigDict(frozen=True)

    name: Service
    bytes_before: int
    bytes_after: int


class CompactionReport(BaseModel):
    """What `magma compact` tells: the stores that have data in this directory."""

    model_config = ConfigDict(frozen=True)

    data_dir: Path
    stores: tuple[Compacted, ...]


@dataclass(frozen=True, slots=True)
class _Job:
    service: Service
    package: str
    root: Path
    arguments: tuple[str, ...]


def compact(data_dir: Path) -> CompactionReport:
    """Compact graph and vectors of a stack that does not run. The log needs nothing: it is in memory.

    Raises `LockHeld` while the stack runs, `MissingExtra` without the `local` extra, `StackProblem` when a store's
    process fails.
    """
    data_dir = data_dir.absolute()
    jobs = [job for job in _jobs(data_dir) if job.root.is_dir()]
    if not jobs:
        return CompactionReport(data_dir=data_dir, stores=())
    require_packages(*(job.package for job in jobs))
    with DataDirLock(data_dir, Owner.PROCESS):
        return CompactionReport(data_dir=data_dir, stores=tuple(_run(data_dir, job) for job in jobs))


def _jobs(data_dir: Path) -> tuple[_Job, ...]:
    database = GraphServer(data_dir).root / "databases" / DATABASE
    vectors = VectorServer(data_dir).root
    statements = json.dumps(list(ddl(Dialect.NEO4J)))
    return (
        _Job(
            Service.GRAPH,
            GraphServer.package,
            database,
            (str(_HERE / "graph_compact.py"), str(database), statements),
        ),
        _Job(Service.VECTORS, VectorServer.package, vectors, (str(_HERE / "vectors_compact.py"), str(vectors))),
    )


def _run(data_dir: Path, job: _Job) -> Compacted:
    before = _size_bytes(job.root)
    log = data_dir / "logs" / f"compact-{job.service}.log"
    environment = server_environment(ARCADEDB_LOG_DIR=str(log.parent))
    child = Child(Command([sys.executable, "-P", *job.arguments], environment), log)
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while child.exit_status() is None and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
    finally:
        child.wait_or_kill(0.0)  # also Ctrl-C: nothing may be left that has the files open
    if child.exit_status() != 0:
        raise StackProblem(
            f"the {job.service} could not be compacted (status {child.exit_status()}): {child.last_words()}",
            hint=f"see {log}; run it again",
        )
    return Compacted(name=job.service, bytes_before=before, bytes_after=_size_bytes(job.root))


def _size_bytes(root: Path) -> int:
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
