"""`magma up`, `down`, `status` with their real supervisor: found again, recovered after a kill, honest on failure."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import typer

from cli import stack as commands
from cli.output import run_command
from deploy.local import take_down
from deploy.local.lock import is_held, named_holder
from deploy.local.ports import free_port
from memory.settings import STACK_FILE, load_settings
from tests.deploy.stores import count_nodes, is_alive, read_vector, write_node, write_vector

pytestmark = pytest.mark.stack

PATIENCE_S = 30.0
ROOT = Path(__file__).resolve().parents[2]

app = typer.Typer()
for command in (commands.up, commands.down, commands.status):
    app.command()(command)

#: The same commands in a process of their own.
ALONE = (
    "import sys, typer\nfrom cli import stack\nfrom cli.output import run_command\n"
    "app = typer.Typer()\nfor c in (stack.up, stack.down, stack.status): app.command()(c)\n"
    "sys.exit(run_command(app))\n"
)


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """Give a data directory whose stack is stopped however the test ends."""
    yield tmp_path / "data"
    if is_held(tmp_path / "data"):
        take_down(tmp_path / "data")


@pytest.fixture
def magma(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Give a way to run a command that must succeed and to read its JSON; what it notes is under `stderr`."""

    def run(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        status = run_command(app, [*arguments, "--data-dir", str(data_dir), "--json"])
        out, err = capsys.readouterr()
        assert status == 0, err
        return {**json.loads(out), "stderr": err}

    return run


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_S} s"
        time.sleep(0.1)


def alone(data_dir: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", ALONE, *arguments, "--data-dir", str(data_dir)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_up_is_found_again_and_its_data_survive_down_and_up(data_dir: Path, magma: Callable[..., Any]) -> None:
    first = magma("up")
    assert first["started"]
    assert [service["name"] for service in first["services"]] == ["broker", "graph", "vectors"]
    for service in first["services"]:
        assert service["ready"]
        assert service["version"]
        assert is_alive(service["pid"])
    assert (data_dir / STACK_FILE).stat().st_mode & 0o777 == 0o600

    second = magma("up")
    assert not second["started"]
    assert second["services"] == first["services"]
    assert magma("status")["services"] == first["services"]

    uid, collection = uuid4().hex, f"kept_{uuid4().hex[:8]}"
    settings = load_settings(data_dir=data_dir)
    asyncio.run(write_node(settings, uid))
    write_vector(settings, collection)

    stopped = magma("down")
    assert not stopped["running"]
    assert "log in memory" in stopped["log"]
    assert not any(is_alive(service["pid"]) for service in first["services"])
    assert not (data_dir / STACK_FILE).exists()

    nothing = magma("status")
    assert not nothing["running"]
    assert [(service["ready"], service["pid"]) for service in nothing["services"]] == [(False, None)] * 3
    assert "not running; nothing to stop" in magma("down")["note"]

    assert magma("up")["started"]
    again = load_settings(data_dir=data_dir)
    assert asyncio.run(count_nodes(again, uid)) == 1
    assert read_vector(again, collection) == ["kept"]


def test_a_killed_supervisor_leaves_no_server_and_the_next_up_says_so(
    data_dir: Path, magma: Callable[..., Any]
) -> None:
    pids = [service["pid"] for service in magma("up")["services"]]
    uid = uuid4().hex
    asyncio.run(write_node(load_settings(data_dir=data_dir), uid))
    holder = named_holder(data_dir)
    assert holder is not None
    os.kill(holder.pid, signal.SIGKILL)
    until(lambda: not any(is_alive(pid) for pid in pids), "the servers end with their supervisor")
    assert (data_dir / STACK_FILE).exists()

    dead = magma("status")
    assert not dead["running"]
    assert str(holder.pid) in dead["note"]

    back = magma("up")
    assert back["started"]
    assert back["stderr"].count("\n") == 1
    assert f"process {holder.pid}) was killed" in back["stderr"]
    assert asyncio.run(count_nodes(load_settings(data_dir=data_dir), uid)) == 1


def test_a_killed_server_comes_back_on_its_address_and_status_tells(data_dir: Path, magma: Callable[..., Any]) -> None:
    before = {service["name"]: service for service in magma("up")["services"]}
    uid = uuid4().hex
    asyncio.run(write_node(load_settings(data_dir=data_dir), uid))
    for name in ("graph", "broker"):
        os.kill(before[name]["pid"], signal.SIGKILL)

    def after() -> dict[str, Any]:
        return {service["name"]: service for service in magma("status")["services"]}

    until(lambda: all(s["ready"] and s["restarts"] == (s["name"] != "vectors") for s in after().values()), "back")
    now = after()
    assert now["graph"]["address"] == before["graph"]["address"]
    assert now["graph"]["pid"] != before["graph"]["pid"]
    assert "log in memory" in now["broker"]["note"]
    assert now["vectors"] == before["vectors"]
    assert asyncio.run(count_nodes(load_settings(data_dir=data_dir), uid)) == 1


def test_a_server_that_stands_still_is_not_called_ready(data_dir: Path, magma: Callable[..., Any]) -> None:
    pid = next(service["pid"] for service in magma("up")["services"] if service["name"] == "broker")
    os.kill(pid, signal.SIGSTOP)
    try:
        services = {service["name"]: service for service in magma("status")["services"]}
    finally:
        os.kill(pid, signal.SIGCONT)
    assert not services["broker"]["ready"]
    assert services["graph"]["ready"]


def test_a_port_in_use_is_one_sentence_and_status_1(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert run_command(app, ["up", "--data-dir", str(data_dir), "--milvus-port", port]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"magma: port {port} of 127.0.0.1, wanted for the vectors, is in use.")
    assert err.count("\n") == 1
    assert not is_held(data_dir)


def test_a_port_other_than_the_running_one_is_refused(
    data_dir: Path, magma: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(free_port())
    address = magma("up", "--kafka-port", port)["services"][0]["address"]
    assert address == f"127.0.0.1:{port}"
    assert not magma("up", "--kafka-port", port)["started"]
    assert run_command(app, ["up", "--data-dir", str(data_dir), "--kafka-port", str(free_port())]) == 1
    assert f"already runs with its broker on {address}" in capsys.readouterr().err


def test_two_at_once_start_one_stack(data_dir: Path) -> None:
    both = [alone(data_dir, "up", "--json") for _ in range(2)]
    answers = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    found = [json.loads(out) for out, _ in answers]
    assert found[0]["services"] == found[1]["services"]
    assert sorted(one["started"] for one in found) == [False, True]


def supervisors_of(data_dir: Path) -> list[int]:
    """Give the processes whose command line names the data directory."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"deploy.local.supervisor" in words and str(data_dir).encode() in words:
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize("moment", ["before it holds the directory", "while the servers start"])
def test_an_interrupted_up_leaves_nothing(moment: str, data_dir: Path) -> None:
    process = alone(data_dir, "up")
    if moment == "while the servers start":
        until(lambda: is_held(data_dir) and named_holder(data_dir) is not None, "the supervisor begins")
    else:
        until(lambda: bool(supervisors_of(data_dir)), "the supervisor exists")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert supervisors_of(data_dir) == []
    assert not is_held(data_dir)
    assert not (data_dir / STACK_FILE).exists()


def test_an_address_that_a_person_gave_is_used_not_started(
    data_dir: Path, magma: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    away = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("MAGMA_KAFKA_BOOTSTRAP", away)
    broker, graph, vectors = magma("up")["services"]
    assert (broker["address"], broker["ready"], broker["pid"]) == (away, False, None)
    assert "MAGMA_KAFKA_BOOTSTRAP" in broker["note"]
    assert graph["ready"]
    assert vectors["ready"]
    assert load_settings(data_dir=data_dir).kafka_bootstrap == away


def test_a_stopped_stack_is_said_in_words_and_is_no_error(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(app, ["status", "--data-dir", str(data_dir)]) == 0
    assert "not running; start it with `magma up`" in capsys.readouterr().out
    assert run_command(app, ["down", "--data-dir", str(data_dir)]) == 0
    assert "nothing to stop" in capsys.readouterr().out
    assert not data_dir.exists()
