"""Workers as processes of their own, for measurements: started with the settings of a run, ready before the clock."""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from deploy.local.ports import free_port
from deploy.local.process import Child, Command
from memory.errors import StackProblem
from memory.settings import Settings
from streams.topics import Stage

ROOT = str(Path(__file__).resolve().parents[1])
_LOOK_EVERY_S = 0.5
_READY_S = 300
_STOP_S = 20


@asynccontextmanager
async def children(settings: Settings, workers: Sequence[Sequence[Stage]], folder: Path) -> AsyncIterator[list[Child]]:
    """Run one worker for each list of stages, each ready with its share of the partitions; their logs go to `folder`.

    Raises `StackProblem` when one of them ends before it is ready, `TimeoutError` when that takes five minutes.
    """
    shown = settings.model_dump(mode="json", exclude_unset=True, exclude={"data_dir"})
    ports = [free_port() for _ in workers]
    running: list[Child] = []
    try:
        for at, (stages, port) in enumerate(zip(workers, ports, strict=True)):
            given = {f"MAGMA_{name.upper()}": str(value) for name, value in shown.items() if value is not None}
            given |= {
                "MAGMA_DATA_DIR": str(settings.data_dir),
                "MAGMA_GRAPH_PASSWORD": settings.graph_password.get_secret_value(),
                "MAGMA_OPENAI_API_KEY": "none",
                "MAGMA_WORKER_HTTP_PORT": str(port),
            }
            command = [sys.executable, "-m", "cli.main", "worker", *(stage.value for stage in stages)]
            environment = {**os.environ, **given, "PYTHONPATH": ROOT}
            running.append(Child(Command(command, environment), folder / f"worker-{len(workers)}-{at}.log"))
        await _ready(running, ports, workers, settings.topic_partitions)
        yield running
    finally:
        for child in running:
            child.ask_to_stop()
        deadline_s = time.monotonic() + _STOP_S
        for child in running:
            await asyncio.to_thread(child.wait_or_kill, deadline_s)


def all_alive(running: Sequence[Child]) -> None:
    """Raise `StackProblem` with its last words when a worker has ended."""
    for child in running:
        if child.exit_status() is not None:
            raise StackProblem(f"a worker ended: {child.last_words()}", hint=f"see {child.log}")


def cpu_seconds(running: Sequence[Child]) -> float:
    """Give the processor time that processes have used, in user and kernel, as the operating system counts it."""
    ticks = 0
    for child in running:
        fields = Path(f"/proc/{child.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_mb(child: Child) -> float:
    """Give a process's resident memory in megabytes."""
    pages = int(Path(f"/proc/{child.pid}/statm").read_text(encoding="ascii").split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


async def _ready(
    running: Sequence[Child], ports: Sequence[int], workers: Sequence[Sequence[Stage]], partitions: int
) -> None:
    """Wait until every stage's partitions are shared out among all workers that run it."""
    sharing = Counter(stage.value for stages in workers for stage in stages)
    async with asyncio.timeout(_READY_S), aiohttp.ClientSession() as session:
        while True:
            all_alive(running)
            owned: list[tuple[str, int]] = []
            for port in ports:
                try:
                    async with session.get(f"http://127.0.0.1:{port}/ready") as answer:
                        told = (await answer.json())["stages"]
                except (aiohttp.ClientError, OSError):
                    break
                owned += [(stage["stage"], len(stage["partitions"])) for stage in told]
            if len(owned) == sharing.total() and all(
                number == max(1, partitions // sharing[stage]) for stage, number in owned
            ):
                return
            await asyncio.sleep(_LOOK_EVERY_S)
