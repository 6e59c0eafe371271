"""What the documentation quotes from the examples stands there, word for word; what it links to exists."""

import io
import re
from datetime import datetime
from pathlib import Path

import orjson
import pytest

from cli.readers.jsonl import read_jsonl

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
INCIDENT = {
    event["id"]: event for event in map(orjson.loads, (ROOT / "examples" / "incident.jsonl").read_bytes().splitlines())
}
_ROW = re.compile(r"^\| `(inc-\d{3})` \| ([\w-]+) \| (.+) \|$", re.MULTILINE)
_BLOCK = re.compile(r"^<t:(\S+)> (\S+): (.+) <ref:(inc-\d{3})>$", re.MULTILINE)


def test_quoted_rows_of_the_incident_are_true() -> None:
    rows = [row for page in PAGES for row in _ROW.findall(page.read_text("utf-8"))]
    assert len(rows) >= 10
    for ident, agent_or_kind, text in rows:
        event = INCIDENT[ident]
        assert text == event["text"]
        assert agent_or_kind in (event["agent"], event["kind"])


def test_quoted_blocks_of_a_context_are_true() -> None:
    blocks = [block for page in PAGES for block in _BLOCK.findall(page.read_text("utf-8"))]
    assert blocks
    for at, who, text, ident in blocks:
        event = INCIDENT[ident]
        assert datetime.fromisoformat(at) == datetime.fromisoformat(event["occurred_at"])
        assert (who, text) == (event.get("speaker", event["agent"]), event["text"])


def test_the_number_of_events_named_is_the_number_there_is() -> None:
    named = re.search(r"Six agents send (\d+) events", (ROOT / "docs" / "concepts.md").read_text("utf-8"))
    assert named is not None
    assert int(named[1]) == len(INCIDENT)
    assert len({event["agent"] for event in INCIDENT.values()}) == 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_events_of_the_quick_start_are_valid() -> None:
    page = (ROOT / "docs" / "quickstart.md").read_text("utf-8")
    lines = re.search(r"```json\n(.+?)```", page, re.DOTALL)
    assert lines is not None
    items = list(read_jsonl(io.BytesIO(lines[1].encode()), tenant="acme"))
    assert [item.problem for item in items] == ["", "", ""]


def test_ids_named_in_the_text_exist() -> None:
    named = {ident for page in PAGES for ident in re.findall(r"\binc-\d{3}\b", page.read_text("utf-8"))}
    assert {ident for ident in named if ident != "inc-881"} <= set(INCIDENT)
