"""`magma entities`: as a person types it."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from memory.graph import Graph
from memory.settings import Settings
from tests.cli.conftest import Magma, magma_on
from tests.graph.build import event
from tests.graph.test_names import said
from tests.llm.server import Reply, serving

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


def judged(request: dict[str, Any]) -> str:
    """Say of each pair that is asked about that both are one."""
    wanted = request["response_format"]["json_schema"]["schema"]["properties"]["pairs"]["required"]
    same = {"same": True, "confidence": 0.99, "ground": "short_form"}
    return json.dumps({"pairs": dict.fromkeys(wanted, same)})


def test_a_models_proposals_wait_for_the_operator(magma: Magma, stack: Settings) -> None:
    tenant = f"names-{uuid4().hex[:8]}"

    async def fill() -> None:
        async with Graph.open(stack) as graph:
            await graph.ensure_schema()
            await graph.writer().write_events([event(tenant, name, at=name) for name in range(3)])
            names = [said(0, "Harbour Office"), said(1, "Harbour Office"), said(2, "Harbour Desk")]
            await graph.writer().write_mentions(tenant, names)

    asyncio.run(fill())
    with serving(Reply(read=judged)) as script:
        model = {"MAGMA_LLM_PROVIDER": "openai", "MAGMA_OPENAI_BASE_URL": script.url, "MAGMA_OPENAI_API_KEY": "k"}
        asking = Magma({**magma.environment, **model})
        done = asking.json("entities", "propose", "--tenant", tenant)
        assert (done["entities"], done["judged"]) == (2, 1)
        [proposal] = done["proposals"]
        assert (proposal["spelling"], proposal["after"]) == ("harbour desk", "harbour office")
        assert asking.json("entities", "propose", "--tenant", tenant)["judged"] == 0
        assert len(script.requests) == 1
    waiting = magma.json("entities", "proposals", "--tenant", tenant)["changes"]
    assert [(one["spelling"], one["origin"], one["prompt_version"]) for one in waiting] == [
        ("harbour desk", "llm", "merge-1")
    ]
    assert len(magma.json("entities", "list", "--tenant", tenant)["entities"]) == 2
    [change] = magma.json("entities", "accept", "Harbour Desk", "Harbour Office", "--tenant", tenant)["changes"]
    assert (change["after"], change["moved"], change["origin"]) == ("harbour office", 1, "operator")
    assert magma.json("entities", "proposals", "--tenant", tenant)["changes"] == []
    said_no = magma("entities", "reject", "Harbour Desk", "Harbour Office", "--tenant", tenant, status=1)
    assert "no open proposal" in said_no.err


def test_proposals_without_a_model_are_refused_with_what_to_do(magma: Magma, filled: str) -> None:
    left = magma("entities", "propose", "--tenant", filled, status=1)
    assert "llm_provider" in left.err
    assert "Traceback" not in left.err


def test_an_unknown_name_is_one_sentence(magma: Magma, filled: str) -> None:
    said = magma("entities", "show", "Nobody", "--tenant", filled, status=1)
    assert "Nobody" in said.err
    assert "Traceback" not in said.err
