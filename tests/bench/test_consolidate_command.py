"""`magma bench consolidate` as a person types it: a tiny set and two failure logs, through the whole pipeline."""

import json
from pathlib import Path
from typing import Any

import pytest

from memory.settings import Settings
from tests.cli.conftest import Magma, magma_on

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

_EVENTS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("k1", "tool_call", "weigh(crate='Oslo-4')", {"attributes": {"tool": "scale", "tool_call_id": "w1"}}),
    ("k2", "tool_result", "Oslo-4 weighs 41 kg", {"attributes": {"tool": "scale", "tool_call_id": "w1"}}),
    ("k3", "message", "Marta Quist leaves for Tromsø on 9 June 2026.", {}),
    ("k4", "note", "The ramp is dry.", {"caused_by": ["k1"]}),
]
_LABELS = [
    {
        "id": "crates",
        "domain": "freight",
        "closed": True,
        "causal": [
            {"cause": "k1", "effect": "k2", "causal": True, "kind": "leads_to", "note": "call gives result"},
            {"cause": "k2", "effect": "k3", "causal": False, "kind": None, "note": "unrelated"},
        ],
        "disputable": [],
        "mentions": [{"event": "k3", "surface": "Marta Quist", "entity": "marta"}],
        "dates": [
            {
                "event": "k3",
                "phrase": "9 June 2026",
                "start": "2026-06-09T00:00:00+00:00",
                "end": "2026-06-10T00:00:00+00:00",
                "precision": "day",
            }
        ],
    }
]


def _failed(name: str, steps: int) -> dict[str, Any]:
    history = [
        {"content": f"{name}: step {number} looks at shelf {number}.", "role": "human"} for number in range(steps)
    ]
    return {"question": "Which shelf is empty?", "history": history, "mistake_step": "0", "file": f"Tiny/{name}.json"}


@pytest.fixture(scope="module")
def magma(stack: Settings) -> Magma:
    return magma_on(stack)


@pytest.fixture(scope="module")
def report(magma: Magma, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("tiny")
    events = [
        {
            "id": ident,
            "tenant": "crates",
            "agent": "loader",
            "session": "dock",
            "kind": kind,
            "text": text,
            "occurred_at": f"2026-06-08T10:0{place}:00+00:00",
            **more,
        }
        for place, (ident, kind, text, more) in enumerate(_EVENTS)
    ]
    (folder / "dev.events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    (folder / "dev.labels.json").write_text(json.dumps(_LABELS))
    (folder / "failed.json").write_text(json.dumps([_failed("short", 3), _failed("long", 14)]))
    failures = str(folder / "failed.json")
    return magma.json("bench", "consolidate", "--data", str(folder), "--split", "dev", "--failures", failures)


def test_causes_are_judged_without_what_the_producer_said(report: Any) -> None:
    causal = report["rules"]["causal"]
    assert (causal["n"], causal["pairs"], causal["recall"]) == (2, 1, 1.0)
    assert causal["verdicts"]["right"] == 1
    assert all("k4" not in edge for edge in causal["mistakes"]["wrong"])


def test_entities_and_dates_are_read_from_the_graph(report: Any) -> None:
    assert report["rules"]["entities"]["n"] == 1
    assert report["rules"]["entities"]["b3_f1"] == 1.0
    assert report["rules"]["dates"]["accuracy"] == 1.0
    assert report["rules"]["dates"]["intervals"]["accuracy"] == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_failure_logs_are_walked_and_asked(report: Any) -> None:
    failures = report["rules"]["failures"]
    assert failures["data"] == "failed.json"
    assert (failures["all"]["n"], failures["all"]["events"], failures["longer"]["n"]) == (2, 17, 1)
    first = failures["all"]["first"]
    assert first["recent"] == 1  # the short log only: the long one's mistake is its first step
    assert first["chance"] == pytest.approx(1 + 10 / 14, abs=0.01)
    assert first["nearest"] >= 1
    assert first["magma"] >= 1
    assert failures["all"]["reached"] + len(failures["missed"]) == 2


def test_the_output_says_what_was_measured_and_where(report: Any) -> None:
    assert report["openai"] is None
    assert (report["split"], report["documents"], report["events"]) == ("dev", 1, 4)
    assert report["environment"]["python"].startswith("3.")


def test_wrong_use_is_one_sentence(magma: Magma, tmp_path: Path) -> None:
    assert "held.labels.json" in magma("bench", "consolidate", "--data", str(tmp_path), status=1).err
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert "Who&When" in magma("bench", "consolidate", "--failures", str(other), status=1).err
    magma("bench", "consolidate", "--split", "train", status=2)
