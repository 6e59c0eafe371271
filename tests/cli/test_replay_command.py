"""`magma replay`: the log makes both stores again, equal in every node, edge and vector."""

from pathlib import Path
from typing import Any

import pytest

from memory.settings import Settings
from streams.topics import Stage
from tests.cli.conftest import EXAMPLES, Magma, magma_on, pass_through
from tests.dump import Dump, dump, empty_stores

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]

INCIDENT = EXAMPLES / "incident.jsonl"
TENANT = "cli-replay"
#: What consolidation puts on events.
MARKS = ("c_semantic", "c_entities", "c_causal", "c_episodes", "causes_in", "causes_out")


@pytest.fixture(scope="module")
def magma(stack: Settings) -> Magma:
    """Give a command line without a worker: who takes part in a replay is said by each test."""
    return magma_on(stack)


@pytest.fixture(scope="module")
def original(magma: Magma, tmp_path_factory: pytest.TempPathFactory) -> Dump:
    """Give everything that the stores hold of the incident, consolidated once all of it was there.

    What is similar, and how sure a name is, depends on what else is known at the time: a replay has everything at once.
    """
    with magma.worker(Stage.INTAKE, Stage.INGEST):
        report = magma.json("ingest", str(INCIDENT), "--tenant", TENANT, "--wait", "durable")
    assert report["rejected"] == 0
    with magma.worker():
        pass_through(magma, tmp_path_factory.mktemp("behind"))
    return dump(magma.settings, TENANT)


def _by_id(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Order nodes by what never differs: a dump is ordered by all properties, marks among them."""
    return sorted(nodes, key=lambda node: str(node["id"]))


def test_over_full_stores_it_changes_nothing(magma: Magma, original: Dump) -> None:
    report = magma.json("replay", "--tenant", TENANT)
    assert report["events"] >= len(original.nodes_of("Event"))
    assert report["changed"] == 0
    assert report["letters"] == 0
    assert dump(magma.settings, TENANT) == original


def test_into_empty_stores_it_gives_the_same_memory_and_consolidation_gives_the_same_edges(
    magma: Magma, original: Dump, tmp_path: Path
) -> None:
    empty_stores(magma.settings, TENANT)
    nothing = dump(magma.settings, TENANT)
    assert (nothing.nodes, nothing.edges, nothing.vectors) == ((), (), ())

    report = magma.json("replay", "--from", "earliest", "--tenant", TENANT)
    assert report["changed"] == 2 * len(original.nodes_of("Event"))
    again = dump(magma.settings, TENANT, without=MARKS)
    assert again.vectors == original.vectors
    assert again.edges == tuple(original.edges_of("NEXT"))
    assert again.nodes_of("Session") == original.nodes_of("Session")
    assert _by_id(again.nodes_of("Event")) == _by_id(
        [{name: value for name, value in node.items() if name not in MARKS} for node in original.nodes_of("Event")]
    )

    with magma.worker():
        pass_through(magma, tmp_path)
        assert magma.json("check", "--tenant", TENANT)["ok"]
    consolidated = dump(magma.settings, TENANT)
    assert consolidated.vectors == original.vectors
    assert consolidated.nodes == original.nodes
    assert consolidated.edges == original.edges


def test_another_tenants_part_of_the_log_stays_where_it_is(magma: Magma, original: Dump) -> None:
    report = magma.json("replay", "--tenant", "somebody-else")
    assert (report["events"], report["changed"]) == (0, 0)
    assert len(dump(magma.settings, TENANT).nodes_of("Event")) == len(original.nodes_of("Event"))
