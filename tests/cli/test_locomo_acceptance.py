"""Real conversations: every turn in both stores, once; and the memory finds what was said and when it happened.

Collected only where the data lie beside the project: they are measured against and never part of it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from memory.events import derive_id
from tests.cli.conftest import LOCOMO, Magma, pass_through
from tests.dump import Dump, dump

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

SAMPLE = "conv-26"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file with one conversation."""
    [found] = [one for one in json.loads(LOCOMO.read_bytes()) if one["sample_id"] == SAMPLE]
    path = tmp_path_factory.mktemp("locomo") / "sample.json"
    path.write_text(json.dumps([found]))
    return path


@pytest.fixture(scope="module")
def remembered(magma: Magma, sample: Path) -> Dump:
    """Give what the stores hold of it, consolidated."""
    report = magma.json("ingest", str(sample), "--format", "locomo", "--wait", "consolidated")
    assert report["accepted"] == report["durable"] == len(turns(sample))
    assert report["rejected"] == 0
    return dump(magma.settings, SAMPLE)


def turns(sample: Path) -> list[str]:
    """Give the ids of all turns, straight from the file."""
    [document] = json.loads(sample.read_bytes())
    talk: dict[str, Any] = document["conversation"]
    return [turn["dia_id"] for value in talk.values() if isinstance(value, list) for turn in value]


def test_every_turn_is_in_both_stores_once(sample: Path, remembered: Dump) -> None:
    wanted = sorted(turns(sample))
    assert sorted(node["ref"] for node in remembered.nodes_of("Event")) == wanted
    ids = sorted(derive_id(SAMPLE, "locomo", turn) for turn in wanted)
    assert sorted(json.loads(line)[0]["id"] for line in remembered.vectors) == ids


def test_a_second_ingest_changes_nothing_and_check_says_ok(
    magma: Magma, sample: Path, remembered: Dump, tmp_path: Path
) -> None:
    magma.json("ingest", str(sample), "--wait", "consolidated")
    pass_through(magma, tmp_path)
    assert dump(magma.settings, SAMPLE) == remembered
    report = magma.json("check", "--tenant", SAMPLE)
    assert report["ok"]
    assert report["events"] == len(turns(sample))


@pytest.mark.usefixtures("remembered")
def test_the_turn_that_answers_is_among_the_first_five_with_the_day_it_speaks_of(magma: Magma) -> None:
    answer = magma.json("ask", "--tenant", SAMPLE, "When did Caroline go to the LGBTQ support group?")
    first = {event["ref"]: event for event in answer["events"][:5]}
    assert "D1:3" in first
    assert "7 May 2023" in [span["text"] for span in first["D1:3"]["dates"]]
    [block] = [line for line in answer["context"].splitlines() if line.endswith("<ref:D1:3>")]
    assert "[event date: 7 May 2023]" in block
