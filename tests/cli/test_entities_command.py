"""`magma entities`: as a person types it."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from memory.graph import Graph
from memory.settings import Settings
from tests.cli.conftest import Magma, magma_on
from tests.graph.build import event
from tests.graph.test_names import said

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def magma(stack: Settings) -> Magma:
    return magma_on(stack)


@pytest.fixture
def filled(stack: Settings) -> str:
    """Give a tenant that knows a few names."""
    tenant = f"names-{uuid4().hex[:8]}"

    async def fill() -> None:
        async with Graph.open(stack) as graph:
            await graph.ensure_schema()
            await graph.writer().write_events([event(tenant, name, at=name) for name in range(4)])
            mentions = [said(0, "Ledger"), said(1, "Bookkeeper"), said(2, "Melanie", spoken=True), said(3, "Mel")]
            await graph.writer().write_mentions(tenant, mentions)

    asyncio.run(fill())
    return tenant


def test_entities_are_listed_shown_merged_split_and_their_history_told(magma: Magma, filled: str) -> None:
    listed = magma.json("entities", "list", "--tenant", filled)
    assert {one["key"]: one["events"] for one in listed["entities"]} == {"bookkeeper": 1, "ledger": 1, "melanie": 2}
    page = magma.json("entities", "list", "--tenant", filled, "--limit", "2")
    assert [one["key"] for one in page["entities"]] == ["bookkeeper", "ledger"]
    assert page["next"] == "ledger"
    shown = magma.json("entities", "show", "Mel", "--tenant", filled)
    assert (shown["entity"]["key"], shown["entity"]["aliases"]) == ("melanie", ["Mel", "Melanie"])

    merged = magma.json("entities", "merge", "Bookkeeper", "Ledger", "--tenant", filled, "--reason", "one database")
    [change] = merged["changes"]
    assert (change["after"], change["moved"], change["origin"]) == ("ledger", 1, "operator")
    assert "one database" in magma("entities", "history", "Bookkeeper", "--tenant", filled).out
    magma.json("entities", "split", "bookkeeper", "--tenant", filled)
    assert magma.json("entities", "show", "Bookkeeper", "--tenant", filled)["entity"]["events"] == 1
    history = magma.json("entities", "history", "--tenant", filled)["changes"]
    assert [one["after"] for one in history if one["spelling"] == "bookkeeper"] == ["bookkeeper", "ledger"]


def test_decisions_are_exported_and_imported(magma: Magma, filled: str, tmp_path: Path) -> None:
    magma.json("entities", "split", "Mel", "--tenant", filled)
    kept = tmp_path / "names.jsonl"
    kept.write_text(magma("entities", "export", "--tenant", filled).out + '{"spelling": "nobody", "entity": "mel"}\n')
    report = magma.json("entities", "import", str(kept), "--tenant", filled)
    assert report == {"tenant": filled, "decided": 0, "held": 1, "unknown": ["nobody"]}


def test_an_unknown_name_is_one_sentence(magma: Magma, filled: str) -> None:
    said = magma("entities", "show", "Nobody", "--tenant", filled, status=1)
    assert "Nobody" in said.err
    assert "Traceback" not in said.err
