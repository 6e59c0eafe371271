"""The import arrows of the house: cli -> {streams, consolidators, query_api, deploy} -> memory, and nothing else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {"memory", "streams", "consolidators", "query_api", "deploy", "cli", "bench"}
MAY_IMPORT = {
    "memory": set(),
    "streams": {"memory"},
    "consolidators": {"memory"},
    "query_api": {"memory"},
    "deploy": {"memory"},
    "cli": {"memory", "streams", "consolidators", "query_api", "deploy", "bench"},
    "bench": {"memory", "streams", "consolidators", "query_api", "deploy", "cli"},
}


def imports(path: Path) -> Iterator[str]:
    """Give the first name of every absolute import in a file, also of those inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_what_the_arrows_allow(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files, f"the room {room} is empty"
    wrong = {
        f"{path.relative_to(ROOT)} -> {name}"
        for path in files
        for name in imports(path)
        if name in ROOMS and name != room and name not in MAY_IMPORT[room]
    }
    assert not wrong


def test_the_memory_knows_neither_kafka_nor_http_servers() -> None:
    strangers = {"aiokafka", "faust", "mode", "fastapi", "uvicorn", "typer"}
    found = {
        f"{path.relative_to(ROOT)} -> {name}"
        for path in sorted((ROOT / "memory").rglob("*.py"))
        for name in imports(path)
        if name in strangers
    }
    assert not found
