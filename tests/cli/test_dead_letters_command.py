"""Bad events through the real command line: each a letter that says why, the others go on; and what comes of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.readers.jsonl import MAX_LINE_BYTES
from memory.events import derive_id
from tests.cli.conftest import Magma, an_event, pass_through, write_lines
from tests.dump import dump, empty_stores

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]


def letters(magma: Magma, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = magma.json("dlq", "list", *arguments)["letters"]
    return found


def place(letter: dict[str, Any]) -> str:
    return f"{letter['topic']}/{letter['partition']}/{letter['offset']}"


def new_letters(magma: Magma, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    before = {place(letter) for letter in known}
    return [letter for letter in letters(magma) if place(letter) not in before]


def test_each_bad_event_gets_a_letter_that_says_why_and_the_good_ones_are_durable(
    magma: Magma, tenant: str, tmp_path: Path
) -> None:
    no_session = an_event(tenant, "no-session")
    del no_session["session"]
    events: list[Any] = []
    bad = {
        "no session": (json.dumps(no_session).encode(), "malformed_event", "session"),
        "naive time": (an_event(tenant, "naive", occurred_at="2026-03-03T08:00:00"), "malformed_event", "timezone"),
        "2 MB of text": (an_event(tenant, "big", text="word " * 400_000), "oversize_event", "bound is"),
        "bad JSON": (b'{"id": "broken", "tenant"', "malformed_event", "not JSON"),
    }
    for number, (line, _, _) in enumerate(bad.values()):
        events += [an_event(tenant, f"good-{number}", sequence=number), line]
    known = letters(magma)
    report = magma.json("ingest", str(write_lines(tmp_path / "mixed.jsonl", events)), "--wait", "durable")
    assert (report["accepted"], report["rejected"], report["durable"]) == (4, 4, 4)
    assert len(report["problems"]) == 4
    pass_through(magma, tmp_path)

    found = new_letters(magma, known)
    assert len(found) == len(bad)
    for name, (_, code, word) in bad.items():
        assert [one for one in found if one["error"] == code and word in one["message"]], name
    for letter in found:
        assert letter["topic"].endswith("agent.events")
        assert letter["stage"] == "intake"
        assert letter["attempts"] >= 1
        assert letter["at"].endswith("+00:00")
    held = dump(magma.settings, tenant)
    assert {node["ref"] for node in held.nodes_of("Event")} == {f"good-{n}" for n in range(4)}
    assert len(held.vectors) == 4
    assert magma.json("check", "--tenant", tenant)["ok"]

    shown = magma.json("dlq", "show", place(next(one for one in found if "not JSON" in one["message"])))
    assert shown["value"] == '{"id": "broken", "tenant"'
    big = magma.json("dlq", "show", place(next(one for one in found if one["error"] == "oversize_event")))
    assert big["value_bytes"] > 2_000_000
    assert "not JSON" in magma("dlq", "list").out


def test_a_line_that_no_broker_takes_is_told_and_stops_nobody(magma: Magma, tenant: str, tmp_path: Path) -> None:
    events = [an_event(tenant, "a"), b'"' + b"x" * MAX_LINE_BYTES + b'"', an_event(tenant, "b")]
    report = magma.json("ingest", str(write_lines(tmp_path / "huge.jsonl", events)), "--wait", "durable")
    assert (report["accepted"], report["rejected"], report["durable"]) == (2, 1, 2)
    assert "not produced" in report["problems"][0]


def test_a_letter_redriven_unmended_comes_back_once_and_a_dropped_one_never(
    magma: Magma, tenant: str, tmp_path: Path
) -> None:
    known = letters(magma)
    marked = f'{{"not": "an event of {tenant}"}}'.encode()
    file = write_lines(tmp_path / "bad.jsonl", [marked])
    assert magma.json("ingest", str(file))["rejected"] == 1
    pass_through(magma, tmp_path)
    [first] = new_letters(magma, known)

    assert magma.json("dlq", "redrive", place(first)) == {"redriven": 1}
    pass_through(magma, tmp_path)
    [second] = new_letters(magma, known)
    assert place(second) != place(first)
    assert magma.json("dlq", "show", place(second))["value"] == marked.decode()
    assert "there is no dead letter" in magma("dlq", "redrive", place(first), status=1).err

    assert magma.json("dlq", "drop", place(second), "--yes") == {"dropped": 1}
    assert new_letters(magma, known) == []
    pass_through(magma, tmp_path)
    assert new_letters(magma, known) == []


def test_a_redrive_after_the_fix_loses_and_doubles_nothing(magma: Magma, tenant: str, tmp_path: Path) -> None:
    """Two events with one id: the second is a letter, until the wrong first one is gone."""
    known = letters(magma)
    wrong = an_event(tenant, "e2", text="a colleague's test, sent to the wrong tenant")
    right = an_event(tenant, "e2", text="the deploy of payments failed", occurred_at="2026-03-03T08:00:01+00:00")
    around = [an_event(tenant, f"e{n}", occurred_at=f"2026-03-03T08:00:0{n - 1}+00:00") for n in (1, 3)]
    for number, events in enumerate(([wrong], [right, *around])):
        magma.json("ingest", str(write_lines(tmp_path / f"{number}.jsonl", events)), "--wait", "consolidated")
    pass_through(magma, tmp_path)
    [letter] = new_letters(magma, known)
    assert letter["error"] == "conflicting_event"
    assert letter["stage"] == "ingest"
    assert "e2" in letter["message"]

    empty_stores(magma.settings, tenant)  # the fix; what was right there comes again from the log
    magma.json("ingest", str(write_lines(tmp_path / "around.jsonl", around)), "--wait", "consolidated")
    for _ in range(2):  # as by an operator who is not sure that the first time worked
        magma.json("dlq", "redrive", "--error", "conflicting_event")
        pass_through(magma, tmp_path)
    assert new_letters(magma, known) == []
    held = dump(magma.settings, tenant)
    texts = {node["ref"]: node["text"] for node in held.nodes_of("Event")}
    assert texts == {"e1": around[0]["text"], "e2": right["text"], "e3": around[1]["text"]}
    assert len(held.vectors) == 3
    report = magma.json("check", "--tenant", tenant)
    assert report["ok"]
    ids = {ref: derive_id(tenant, "test", ref) for ref in texts}
    chain = {(line[0].split("|")[1], line[2].split("|")[1]) for line in map(json.loads, held.edges_of("NEXT"))}
    assert chain == {(ids["e1"], ids["e2"]), (ids["e2"], ids["e3"])}


def test_letters_are_chosen_by_topic_error_and_age(magma: Magma, tenant: str, tmp_path: Path) -> None:
    known = letters(magma)
    magma.json("ingest", str(write_lines(tmp_path / "bad.jsonl", [f'{{"bad": "{tenant}"}}'.encode()])))
    pass_through(magma, tmp_path)
    [mine] = new_letters(magma, known)
    topic = mine["topic"].removeprefix(magma.settings.topic_prefix)
    assert mine in letters(magma, "--topic", topic)
    assert mine in letters(magma, "--error", "malformed_event")
    assert mine not in letters(magma, "--topic", "memory.events")
    assert mine not in letters(magma, "--error", "oversize_event")
    assert mine not in letters(magma, "--older-than", "1h")
    assert "is no span of time" in magma("dlq", "list", "--older-than", "soon", status=2).err
