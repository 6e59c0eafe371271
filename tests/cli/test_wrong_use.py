"""Whatever goes wrong is one sentence on stderr and an honest exit status; never a traceback."""

import socket
from pathlib import Path

import pytest
import typer

from cli.main import COMMANDS, build_app
from deploy.local.ports import free_port
from memory.settings import Settings
from tests.cli.conftest import EXAMPLES, Magma, an_event, write_lines

NOWHERE = Magma({"MAGMA_DATA_DIR": "/nonexistent/magma"})


def one_sentence(err: str) -> str:
    assert "Traceback" not in err
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("magma: ")
    return lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["ask"],
        ["ask", "why", "--no-such-option"],
        ["ask", "why", "--top-k", "0"],
        ["ask", ""],
        ["ask", "why " * 2_000],
        ["ask", "why", "--as-of", "2026-03-03T08:00:00"],
        ["ask", "why", "--as-of", "yesterday"],
        ["ingest"],
        ["ingest", "/nonexistent/file.jsonl"],
        ["ingest", str(EXAMPLES / "incident.jsonl"), "--format", "xml"],
        ["ingest", str(EXAMPLES / "incident.jsonl"), "--rate", "0"],
        ["worker"],
        ["worker", "brew"],
        ["dlq", "show"],
        ["replay", "--from", "noon"],
        ["serve", "--port", "70000"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_status_2_and_says_what(arguments: list[str]) -> None:
    said = NOWHERE(*arguments, status=2)
    assert said.out == ""
    assert "Error" in said.err
    assert "Traceback" not in said.err


def test_the_example_of_a_time_is_one_that_is_taken() -> None:
    said = NOWHERE("ask", "why", "--as-of", "2026-03-03", status=2)
    assert "2026-03-03T00:00:00+00:00" in "".join(said.err.split())


def test_serving_on_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = NOWHERE("serve", "--port", str(taken.getsockname()[1]), status=1)
    assert "choose another with --port" in one_sentence(said.err)


@pytest.mark.parametrize(
    ("arguments", "setting", "what"),
    [
        (["ask", "why"], "MAGMA_GRAPH_URI", "graph"),
        (["check"], "MAGMA_GRAPH_URI", "graph"),
        (["replay"], "MAGMA_GRAPH_URI", "graph"),
        (["ingest", str(EXAMPLES / "incident.jsonl")], "MAGMA_KAFKA_BOOTSTRAP", "Kafka"),
        (["dlq", "list"], "MAGMA_KAFKA_BOOTSTRAP", "Kafka"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_server_that_is_away_is_one_sentence_and_status_1(
    arguments: list[str], setting: str, what: str, tmp_path: Path
) -> None:
    port = free_port()
    address = f"bolt://127.0.0.1:{port}" if "GRAPH" in setting else f"127.0.0.1:{port}"
    said = Magma({"MAGMA_DATA_DIR": str(tmp_path), setting: address})(*arguments, status=1)
    assert said.out == ""
    sentence = one_sentence(said.err)
    assert what in sentence
    assert str(port) in sentence


@pytest.mark.stack
def test_a_vector_server_that_is_away_is_one_sentence_and_status_1(stack_graph: dict[str, str], tmp_path: Path) -> None:
    port = free_port()
    away = {"MAGMA_MILVUS_URI": f"http://127.0.0.1:{port}", "MAGMA_MILVUS_TIMEOUT_S": "3"}
    said = Magma({"MAGMA_DATA_DIR": str(tmp_path), **stack_graph, **away})("check", status=1)
    assert str(port) in one_sentence(said.err)


@pytest.fixture
def stack_graph(stack: Settings) -> dict[str, str]:
    """Give the environment that leads to the graph of the running stack alone."""
    return {
        "MAGMA_GRAPH_URI": stack.graph_uri,
        "MAGMA_GRAPH_USER": stack.graph_user,
        "MAGMA_GRAPH_PASSWORD": stack.graph_password.get_secret_value(),
        "MAGMA_GRAPH_DATABASE": stack.graph_database,
    }


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("MAGMA_NO_SUCH_THING", "1", "MAGMA_NO_SUCH_THING"),
        ("MAGMA_TOPIC_PARTITIONS", "none", "topic_partitions"),
        ("MAGMA_EMBEDDING_MODEL", "word2vec", "embedding_model"),
    ],
)
def test_an_unknown_or_bad_setting_is_named(setting: str, value: str, named: str, tmp_path: Path) -> None:
    said = Magma({"MAGMA_DATA_DIR": str(tmp_path), setting: value})("check", status=1)
    assert named in one_sentence(said.err)


@pytest.mark.stack
def test_a_tenant_that_has_no_events_is_named_and_not_answered(apart: Magma, tenant: str) -> None:
    said = apart("ask", "who deployed?", "--tenant", tenant, status=1)
    assert f"no events of tenant {tenant!r}" in one_sentence(said.err)


def test_an_event_without_workers_is_sent_and_nothing_is_promised(apart: Magma, tenant: str, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "one.jsonl", [an_event(tenant, "e1")])
    report = apart.json("ingest", str(file))
    assert report["accepted"] == 1
    assert report["durable"] is None


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(command: str) -> None:
    found = getattr(typer.main.get_command(build_app(command)), "commands")[command]  # noqa: B009  typer's own click
    parts = [(name,) for name in getattr(found, "commands", {})] or [()]
    for part in parts:
        shown = " ".join(NOWHERE(command, *part, "--help").out.split())
        assert f"Example: magma {' '.join((command, *part))}" in shown
