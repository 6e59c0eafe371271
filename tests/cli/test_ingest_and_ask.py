"""From a file to an answer, through the real command line: nothing lost or doubled, every answer with its path."""

import json
from pathlib import Path

import pytest
from pymilvus import MilvusClient

from memory.events import derive_id
from tests.cli.conftest import EXAMPLES, Magma, pass_through
from tests.dump import dump

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]

INCIDENT = EXAMPLES / "incident.jsonl"


@pytest.fixture(scope="module")
def incident(magma: Magma) -> str:
    """Give the tenant that holds the incident, consolidated."""
    report = magma.json("ingest", str(INCIDENT), "--tenant", "cli-incident", "--wait", "consolidated")
    lines = [json.loads(line) for line in INCIDENT.read_bytes().splitlines()]
    assert report["accepted"] == len(lines)
    assert report["rejected"] == 0
    assert report["durable"] == len({line["id"] for line in lines})
    return "cli-incident"


def test_every_event_is_in_both_stores_once(magma: Magma, incident: str) -> None:
    wanted = {
        derive_id(incident, event["source"], event["id"])
        for event in map(json.loads, INCIDENT.read_bytes().splitlines())
    }
    held = dump(magma.settings, incident)
    assert sorted(node["id"] for node in held.nodes_of("Event")) == sorted(wanted)
    assert sorted(json.loads(line)[0]["id"] for line in held.vectors) == sorted(wanted)
    assert held.edges_of("NEXT", "CAUSES", "SIMILAR", "MENTIONS", "PART_OF")


def test_a_second_ingest_changes_nothing(magma: Magma, incident: str, tmp_path: Path) -> None:
    before = dump(magma.settings, incident)
    again = magma.json("ingest", str(INCIDENT), "--tenant", incident, "--wait", "consolidated")
    assert again["durable"] == len(before.nodes_of("Event"))
    pass_through(magma, tmp_path)
    assert dump(magma.settings, incident) == before


def test_check_proves_it(magma: Magma, incident: str) -> None:
    report = magma.json("check", "--tenant", incident)
    assert report["ok"] is True
    assert report["violations"] == []
    held = dump(magma.settings, incident)
    assert report["events"] == len(held.nodes_of("Event"))
    assert report["sessions"] == len(held.nodes_of("Session"))


def test_check_finds_damage_with_status_1_and_repair_mends_it(magma: Magma, incident: str) -> None:
    settings = magma.settings
    before = dump(settings, incident)
    victim = before.nodes_of("Event")[7]["id"]
    client = MilvusClient(uri=settings.milvus_uri, timeout=20)
    client.delete(settings.milvus_collection, ids=[victim], timeout=20)
    client.close()
    found = magma.json("check", "--tenant", incident, status=1)
    assert found["ok"] is False
    assert [(one["rule"], one["ids"]) for one in found["violations"]] == [("no_vector", [victim])]
    told = magma("check", "--tenant", incident, status=1)
    assert "no_vector" in told.out
    assert victim in told.out
    mended = magma.json("check", "--tenant", incident, "--repair")
    assert mended["ok"] is True
    assert mended["violations"] == []
    assert [(one["rule"], one["ids"]) for one in mended["repaired"]] == [("no_vector", [victim])]
    assert dump(settings, incident) == before
    assert "nothing to mend" in magma("check", "--tenant", incident, "--repair").out


def test_ask_gives_the_documented_object(magma: Magma, incident: str) -> None:
    answer = magma.json("ask", "Why did migration 0147 need a third go?", "--tenant", incident, "--top-k", "10")
    assert set(answer["intent"]) == {"WHY", "WHEN", "ENTITY", "GENERAL"}
    assert max(answer["intent"], key=answer["intent"].get) == "WHY"
    assert {"window", "degraded", "context"} <= set(answer)
    assert 0 < answer["tokens"] <= 3000
    for anchor in answer["anchors"]:
        assert {"id", "lists", "rrf"} <= set(anchor)
    assert 0 < len(answer["events"]) <= 10
    for event in answer["events"]:
        assert {
            "id", "ref", "salience", "text", "kind", "speaker", "agent", "session", "occurred_at", "dates", "path",
        } <= set(event)  # fmt: skip
        for step in event["path"]:
            assert {"from", "edge", "to", "score", "origin"} <= set(step)
    assert any(event["path"] for event in answer["events"]), "the graph leads nowhere"
    assert set(answer["timings_ms"]) == {"route", "embed", "anchors", "traverse", "synthesize"}
    assert {"inc-142", "inc-148", "inc-144"} & {event["ref"] for event in answer["events"]}


def test_ask_in_words_shows_the_context_and_explain_the_path(magma: Magma, incident: str) -> None:
    question = "Why did migration 0147 need a third go?"
    plain = magma("ask", question, "--tenant", incident).out
    assert "<ref:inc-" in plain
    drawn = magma("ask", question, "--tenant", incident, "--explain").out
    assert "intent WHY" in drawn
    assert "anchor: " in drawn
    assert "CAUSES" in drawn
    assert "─" in drawn


def test_a_narrower_question_stays_within_its_session_and_budget(magma: Magma, incident: str) -> None:
    answer = magma.json(
        "ask", "what was closed?", "--tenant", incident, "--session", "triage-desk-0304", "--budget", "100"
    )
    assert answer["events"]
    assert {event["session"] for event in answer["events"]} == {"triage-desk-0304"}
    assert answer["tokens"] <= 100


def test_status_tells_what_runs_where(magma: Magma) -> None:
    services = magma.json("status")["services"]
    assert [service["name"] for service in services] == ["broker", "graph", "vectors"]
    for service in services:
        assert {"name", "version", "address", "ready", "pid"} <= set(service)
        assert service["ready"]


def test_events_come_from_standard_input(magma: Magma, tenant: str) -> None:
    lines = INCIDENT.read_text().splitlines()[:3]
    with magma.alone("ingest", "-", "--tenant", tenant, "--wait", "durable", "--json") as process:
        out, err = process.communicate("\n".join(lines), timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["durable"] == 3
    assert len(dump(magma.settings, tenant).nodes_of("Event")) == 3


def test_a_file_of_nothing_is_an_answer_not_a_fault(magma: Magma, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n\n")
    report = magma.json("ingest", str(empty), "--wait")
    assert (report["accepted"], report["rejected"], report["durable"]) == (0, 0, 0)
