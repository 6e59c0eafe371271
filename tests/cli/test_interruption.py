"""Ctrl-C leaves no process, and nothing half done that the same command would not finish."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.workers import FOLDER
from tests.cli.conftest import Magma, an_event, write_lines
from tests.deploy.stores import is_alive
from tests.dump import dump, stored_events

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]

PATIENCE_S = 40.0
_NUMBER = 400


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_S} s"
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    """Give the processes that a process and its threads have started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except FileNotFoundError:
            continue
    return found


@pytest.mark.parametrize("moment", ["while its worker starts", "while it sends and the worker writes"])
def test_an_interrupted_ingest_leaves_no_process_and_can_be_finished(
    moment: str, apart: Magma, tenant: str, tmp_path: Path
) -> None:
    notes = apart.settings.data_dir / FOLDER
    before = set(notes.glob("*.json"))
    file = write_lines(tmp_path / "many.jsonl", [an_event(tenant, f"e{n}", sequence=n) for n in range(_NUMBER)])
    with apart.alone("ingest", str(file), "--rate", "40", "--wait", "consolidated", "--json") as process:
        until(lambda: bool(children_of(process.pid)), "the worker is started")
        workers = children_of(process.pid)
        if moment == "while it sends and the worker writes":
            until(lambda: stored_events(apart.settings, tenant) > 0, "the first events are durable")
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert not any(is_alive(pid) for pid in workers)
    assert set(notes.glob("*.json")) <= before

    if moment == "while it sends and the worker writes":
        assert apart.json("ingest", str(file), "--wait", "consolidated")["durable"] == _NUMBER
        held = dump(apart.settings, tenant)
        assert len(held.nodes_of("Event")) == len(held.vectors) == _NUMBER
        assert len(held.edges_of("NEXT")) == _NUMBER - 1
        assert apart.json("check", "--tenant", tenant)["ok"]


def test_an_interrupted_worker_stops_with_status_0(apart: Magma) -> None:
    folder = apart.settings.data_dir / FOLDER
    with apart.alone("worker", "intake", "ingest") as process:
        until(lambda: (folder / f"{process.pid}.json").exists(), "the worker has begun")
        time.sleep(1.0)  # it is somewhere between connecting and having joined its groups
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert not (folder / f"{process.pid}.json").exists()
