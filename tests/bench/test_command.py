"""`magma bench` as a person types it, on the local stack with small data in the benchmarks' forms."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from bench.systems import ABLATIONS, BASELINES, System
from bench.tune import moves
from cli.tune_report import TuneReport, draw_report
from memory.settings import Settings
from query_api.policy import read_policy, shipped_policy
from tests.bench.small_talk import locomo, longmemeval
from tests.cli.conftest import Magma, magma_on

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


def render(drawing: RenderableType) -> str:
    drawn = io.StringIO()
    Console(file=drawn, width=200).print(drawing)
    return drawn.getvalue()


@pytest.fixture(scope="module")
def magma(stack: Settings) -> Magma:
    return magma_on(stack)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "talks.json"
    path.write_text(json.dumps(locomo()))
    return path


@pytest.fixture(scope="module")
def report(magma: Magma, data: Path) -> Any:
    return magma.json("bench", "locomo", "--data", str(data))


def test_every_system_is_measured_over_every_question_with_evidence(report: Any) -> None:
    assert report["questions"] == 11
    assert report["skipped"] == {"no_evidence": 1}
    assert report["evidence"] == {"repaired": 2, "dropped": 0}
    assert report["events"] == 216
    assert list(report["systems"]) == [system.value for system in System]
    for system, one in report["systems"].items():
        assert set(one["overall"]) == {"5", "10", "20", "50"}
        assert set(one["by_category"]) == {"1", "2", "4", "5"}
        assert set(one["by_conversation"]) == {"bt-harbour", "bt-orchard", "bt-station"}
        for at in (*one["overall"].values(), *one["by_category"]["4"].values()):
            assert 0 <= at["recall"]["low"] <= at["recall"]["mean"] <= at["recall"]["high"] <= 1
            assert 0 <= at["hit"] <= 1
            assert 0 <= at["ndcg"] <= 1
        if system in ABLATIONS:  # asked of stores that remember
            assert one["ms"] is None
        else:
            assert 0 < one["ms"]["p50"] <= one["ms"]["p95"]
        assert one["overall"]["5"]["recall"]["mean"] <= one["overall"]["20"]["recall"]["mean"]


def test_baselines_rank_every_event_and_contexts_hold_what_fits(report: Any) -> None:
    for system in BASELINES:
        one = report["systems"][system]
        assert one["overall"]["50"]["recall"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
        assert one["context"]["2400"]["mean"] == 1.0
        assert one["tokens"] > 0
    assert report["systems"]["magma"]["context"]["1200"]["mean"] > 0.9


def test_magma_finds_what_the_small_talks_hold_and_gives_the_same_bytes_twice(report: Any) -> None:
    assert report["systems"]["magma"]["overall"]["10"]["recall"]["mean"] > 0.9
    assert report["repeatable"] is True
    assert set(report["ratios"]) == {"fusion", "adjacent"}
    assert report["ratios"]["adjacent"]["recall@10"]["low"] <= report["ratios"]["adjacent"]["recall@10"]["mean"]


def test_each_ablation_walks_differently_and_says_how(report: Any) -> None:
    assert set(report["visited"]) == {system.value for system in ABLATIONS}
    for system in ("no_graph", "no_temporal", "only_causal"):
        assert report["visited"][system]["questions"] > 0
        assert report["visited"][system]["missing"] > 0
    assert report["visited"]["no_graph"]["added"] == 0


def test_the_output_says_where_it_was_made_and_what_was_fitted(report: Any) -> None:
    assert report["environment"]["cpus"] >= 1
    assert report["environment"]["python"].startswith("3.")
    assert report["environment"]["packages"]["numpy"]
    assert report["embedding"].startswith("wordllama")
    assert report["fit"].startswith("loco: each of 3 conversations")


def test_a_second_run_over_the_same_memory_measures_the_same(magma: Magma, data: Path, report: Any) -> None:
    again = magma.json("bench", "locomo", "--data", str(data), "--systems", "magma,bm25,adjacent")
    assert list(again["systems"]) == ["magma", "bm25", "adjacent"]
    for system, one in again["systems"].items():
        assert one["overall"] == report["systems"][system]["overall"]
        assert one["tokens"] == report["systems"][system]["tokens"]


def test_the_shipped_model_is_named_where_it_is_used(magma: Magma, data: Path) -> None:
    shipped = magma.json("bench", "locomo", "--data", str(data), "--systems", "magma", "--fit", "shipped")
    assert shipped["fit"].startswith("shipped: ")
    assert shipped["systems"]["magma"]["overall"]["10"]["recall"]["mean"] > 0.9


def test_an_ablation_can_be_fitted_without_what_it_lacks(magma: Magma, data: Path) -> None:
    found = magma.json("bench", "locomo", "--data", str(data), "--systems", "magma,no_temporal", "--refit")
    assert set(found["refitted"]) == {"magma", "no_temporal"}
    for fair in found["refitted"].values():
        assert 0 < fair["recall"]["low"] <= fair["recall"]["mean"] <= fair["recall"]["high"] <= 1
        assert set(fair["by_category"]) == {"1", "2", "4", "5"}
    assert found["refitted"]["magma"]["worth"] == {}
    worth = found["refitted"]["no_temporal"]["worth"]
    assert set(worth) == {"overall", "1", "2", "4", "5"}
    assert worth["overall"]["low"] <= worth["overall"]["mean"] <= worth["overall"]["high"]


def test_tune_fits_a_policy_that_can_be_read_and_says_where_it_does_not_pay(
    magma: Magma, report: Any, tmp_path: Path
) -> None:
    tenants = tmp_path / "tenants.json"
    # the conversations under the names that the measurement gave their tenants
    tenants.write_text(json.dumps([{**one, "sample_id": f"bench-wordllama-{one['sample_id']}"} for one in locomo()]))
    collection = f"{magma.settings.milvus_collection}_bench_wordllama"
    tuner = Magma({**magma.environment, "MAGMA_MILVUS_COLLECTION": collection})
    out = tmp_path / "policy.toml"
    told = tuner.json("tune", "--data", str(tenants), "--policy-out", str(out), "--trials", "2")
    drawn = render(draw_report(TuneReport.model_validate(told)))
    found = told["policy"]
    assert found["trials"] == 2
    assert [fold["questions"] for fold in found["folds"]] == [5, 3, 3]
    for fold in found["folds"]:
        for one in (fold["fitted"], fold["shipped"]):
            assert 0 <= one["low"] <= one["mean"] <= one["high"] <= 1
    assert found["pays"] is (found["gain"]["low"] > 1)
    policy = read_policy(out)
    shipped = shipped_policy("default")
    assert moves(shipped, policy) == {name: tuple(pair) for name, pair in found["moved"].items()}
    assert "held-out recall@10, fitted over shipped, of 2 policies tried" in drawn
    assert f"written to {out}" in drawn.replace("\n", "")


def test_the_table_names_the_categories_for_people(magma: Magma, data: Path) -> None:
    said = magma("bench", "locomo", "--data", str(data), "--systems", "bm25,vector").out
    assert "multi-hop" in said
    assert "evidence turns" in said


def test_longmemeval_measures_turns_and_sessions(magma: Magma, tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps(longmemeval()))
    report = magma.json("bench", "longmemeval", "--data", str(path))
    assert report["questions"] == 2
    assert report["skipped"] == {"abstention": 1}
    assert report["events"] == 8
    for level in ("systems", "sessions"):
        assert set(report[level]) == {"magma", *BASELINES}
        assert report[level]["magma"]["overall"]["5"]["recall"]["mean"] == 1.0
        assert set(report[level]["bm25"]["by_category"]) == {"single-session-user"}


def test_wrong_use_is_one_sentence(magma: Magma, data: Path, tmp_path: Path) -> None:
    unknown = magma("bench", "locomo", "--data", str(data), "--systems", "magma,oracle", status=1).err
    assert "oracle" in unknown
    assert "no_graph" in unknown
    judged = magma("bench", "locomo", "--data", str(data), "--judge", status=1).err
    assert "MAGMA_OPENAI_BASE_URL" in judged
    other = tmp_path / "other.json"
    other.write_text("[1, 2]")
    assert "snap-research/locomo" in magma("bench", "locomo", "--data", str(other), status=1).err
    magma("bench", "locomo", "--data", str(tmp_path / "absent.json"), status=2)
