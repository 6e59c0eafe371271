"""The page on codes names every code that Magma can tell, and none that it cannot."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from memory import errors
from memory.errors import MagmaError, Misconfigured, Poison, Retryable
from query_api.problems import _HTTP_CODES, problem_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "codes.md").read_text("utf-8")
ROOMS = ("memory", "streams", "consolidators", "query_api")
#: Groups that are never raised themselves, and the codes of statuses that the framework answers by itself.
GROUPS = {kind.code for kind in (MagmaError, Retryable, Poison, Misconfigured)}
FRAMEWORK = {HTTPStatus(status).name.lower() for status in (404, 405)} | set(_HTTP_CODES.values())


def of_errors() -> dict[str, type[MagmaError]]:
    """Give the code of every error of ours, in whatever file it is."""
    for room in ROOMS:
        for found in pkgutil.walk_packages([str(ROOT / room)], f"{room}."):
            importlib.import_module(found.name)
    known: dict[str, type[MagmaError]] = {}
    waiting: list[type[MagmaError]] = [MagmaError]
    while waiting:
        kind = waiting.pop()
        if kind.__module__.split(".")[0] in ROOMS:
            known[kind.code] = kind
        waiting += kind.__subclasses__()
    return {code: kind for code, kind in known.items() if code not in GROUPS}


def of_the_face() -> Iterator[tuple[str, int | None]]:
    """Give what the HTTP face refuses with, as it stands in its code: code and status."""
    for path in sorted((ROOT / "query_api").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", "")
            told = [part.value for part in node.args[:2] if isinstance(part, ast.Constant)]
            if name in ("Refused", "problem") and len(told) == 2:
                yield str(told[1]), int(str(told[0]))
            elif name == "CredentialRefused":
                yield str(told[0]), 401


def documented() -> dict[str, list[str]]:
    """Give the cells of each row, by code; a code may stand in two tables."""
    rows: dict[str, list[str]] = {}
    for line in PAGE.splitlines():
        if match := re.match(r"\| `([a-z_]+)` \|(.*)\|$", line):
            rows.setdefault(match[1], []).append(match[2])
    return rows


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    face = {code for code, _ in of_the_face()}
    assert len(face) >= 18
    assert set(documented()) == set(of_errors()) | face | FRAMEWORK


def test_the_status_of_a_refusal_is_as_shown() -> None:
    rows = documented()
    for code, status in of_the_face():
        assert any(cells.strip().startswith(f"{status} |") for cells in rows[code]), (code, status)


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("Dead letters", Poison), ("Waiting", Retryable)],
)
def test_a_code_stands_under_what_becomes_of_it(heading: str, kind: type[MagmaError]) -> None:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    shown = set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE))
    assert shown == {code for code, found in of_errors().items() if issubclass(found, kind)}


def test_what_comes_out_over_http_has_the_status_that_the_page_says() -> None:
    assert problem_of(errors.MalformedEvent("x")).status == 422
    assert problem_of(errors.UnusableModelOutput("x")).status == 502
    assert problem_of(errors.StoreUnavailable("x")).status == 503
    assert problem_of(errors.LlmNotConfigured("x")).status == 501
    assert problem_of(errors.BadSetting("x")).status == 500
    assert problem_of(errors.NotFound("x")).status == 404
