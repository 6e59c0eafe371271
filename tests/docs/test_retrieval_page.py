"""The page on retrieval says what the stored measurements say, and can say what a measurement with ablations says."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from bench.datasets import Conversation, Dataset, Question
from bench.environment import environment
from bench.measure import Measured
from bench.rankings import Ranked
from bench.refit import Anew, refitted
from bench.report import Report, make_report
from bench.systems import System

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def maker() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "make_retrieval.py"))


def test_the_page_is_what_the_stored_measurements_say(maker: dict[str, Any]) -> None:
    text = (DOCS / "retrieval.md").read_text("utf-8")
    stored = maker["reports"]()
    assert stored
    assert maker["page"](text, stored) == text, "run PYTHONPATH=. python docs/make_retrieval.py"


def ranked(conversation: str, question: Question, turns: str, visited: str) -> Ranked:
    return Ranked(conversation, question, tuple(turns), ("s1",), {}, 10, 1.0, 1.0, frozenset(visited))


def small_report() -> Report:
    asked = {name: [Question("?", category, ("a",), ("s1",)) for category in "14"] for name in ("one", "two")}
    measured = Measured(fit="made up", repeatable=True)
    for system, turns, visited in ((System.MAGMA, "abc", "abc"), (System.NO_GRAPH, "bcd", "b")):
        measured.outcomes[system] = [ranked(name, one, turns, visited) for name, ones in asked.items() for one in ones]
    categories = {name: ["1", "4"] for name in asked}
    whole = Anew({name: [1.0, 1.0] for name in asked}, categories)
    without = Anew({name: [1.0, 0.5] for name in asked}, categories)
    measured.refitted = {System.MAGMA: refitted(whole, None), System.NO_GRAPH: refitted(without, whole)}
    dataset = Dataset(tuple(Conversation(name, tuple(ones)) for name, ones in asked.items()))
    return make_report(dataset, measured, data="small", embedding="small-1", environment=environment())


def test_a_measurement_with_ablations_fills_both_parts(maker: dict[str, Any]) -> None:
    places = "<!-- results -->\nEARLIER\n<!-- /results -->\nkept\n<!-- relations -->\nEARLIER\n<!-- /relations -->\n"
    report = small_report()
    made = maker["page"](places, [report])
    assert "EARLIER" not in made
    assert "\nkept\n" in made
    results, relations = made.split("kept")
    assert "| `magma` | 1.000 |" in results
    assert "no_graph" not in results
    assert "| `no_graph` | 0.000 | 0.000 | 0.000 | 100% | 2.0 / 0.0 |" in relations
    assert (
        "| `no_graph` | 0.750 | **×1.333 [1.333, 1.333]** | ×1.000 [1.000, 1.000] | **×2.000 [2.000, 2.000]** |" in made
    )
    assert maker["page"](made, [report]) == made


def test_a_page_without_a_place_is_refused(maker: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="0 places for results"):
        maker["page"]("nothing here", [])
