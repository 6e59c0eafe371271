"""`magma erase`: what it takes, what it leaves, and how it is asked."""

from pathlib import Path

import pytest

from streams.topics import Stage
from tests.cli.conftest import Magma, an_event, write_lines
from tests.dump import dump

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]


def ingest(magma: Magma, tenant: str, folder: Path) -> None:
    events = [
        an_event(tenant, f"e{n}", sequence=n, session="gone" if n % 2 else "kept", text=f"step {n} of the move")
        for n in range(12)
    ]
    magma("ingest", str(write_lines(folder / "events.jsonl", events)), "--wait", "durable")


def test_a_session_is_erased_with_a_receipt_and_a_replay_does_not_bring_it_back(
    apart: Magma, tenant: str, tmp_path: Path
) -> None:
    with apart.worker(Stage.INTAKE, Stage.INGEST):
        ingest(apart, tenant, tmp_path)
        receipt = apart.json("erase", "--tenant", tenant, "--session", "gone", "--yes")["receipt"]
        assert (receipt["events"], receipt["vectors"], receipt["log_records"]) == (6, 6, 6)
        assert receipt["verified"]
        assert receipt["signature"]
        assert apart.json("replay", "--tenant", tenant)["changed"] == 0
        assert apart.json("check", "--tenant", tenant)["events"] == 6
        held = dump(apart.settings, tenant)
        assert {node["session"] for node in held.nodes_of("Event")} == {"kept"}
        assert len(held.vectors) == 6


def test_a_worker_that_runs_the_stage_carries_the_order_out(apart: Magma, tenant: str, tmp_path: Path) -> None:
    with apart.worker(Stage.INTAKE, Stage.INGEST, Stage.ERASE):
        ingest(apart, tenant, tmp_path)
        said = apart("erase", "--tenant", tenant, "--event", "e3", "--source", "test", "--yes")
        assert "forgotten: 1 events" in said.out
        assert "verified" in said.out
    assert len(dump(apart.settings, tenant).nodes_of("Event")) == 11


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tenant", "t", "--session", "s", "--agent", "a", "--yes"], "name one of"),
        (["--tenant", "t", "--session", "s"], "--yes"),
        (["--tenant", "a|b", "--yes"], "tenant"),
        (["--session", "s", "--yes"], "--tenant"),
    ],
    ids=["two scopes", "nobody to ask", "no name", "no tenant"],
)
def test_wrong_use_is_told_and_nothing_is_done(apart: Magma, arguments: list[str], told: str) -> None:
    said = apart("erase", *arguments, status=2)
    assert told in said.err
    assert "Traceback" not in said.err
