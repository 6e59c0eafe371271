"""`magma bench ingest` as a person types it: few events, through a worker of its own over the real servers."""

from typing import Any

import pytest

from bench.environment import environment
from bench.ingest import EVENT_BYTES, IngestRun, Plan, made_events, make_report
from cli.readers.items import encode_event
from memory.settings import Settings, load_settings
from tests.cli.conftest import magma_on

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def report(stack: Settings) -> Any:
    given = ("--events", "60", "--runs", "1", "--half-load-s", "0.5", "--data-dir", str(stack.data_dir))
    return magma_on(stack).json("bench", "ingest", *given)


def test_everything_that_was_sent_became_durable_and_was_measured(report: Any) -> None:
    assert (report["events"], len(report["runs"])) == (60, 1)
    for run in report["runs"]:
        assert run["events_per_s"] == pytest.approx(60 / run["seconds"], rel=0.01)
        assert run["ratio"] == pytest.approx(run["events_per_s"] / run["store_bulk_events_per_s"], abs=0.01)
        assert run["cpu_ms_per_event"] > 0
        assert 0 < run["p50_ms"] <= run["p99_ms"]
        assert run["rss_mb"] > 50


def test_the_output_says_where_and_with_which_encoder_it_was_measured(report: Any, stack: Settings) -> None:
    assert report["environment"]["python"].startswith("3.")
    assert report["embedding"] == stack.embedding_model.value
    assert report["event_bytes"] == EVENT_BYTES


def test_what_is_reported_are_the_medians_of_the_runs() -> None:
    runs = [IngestRun(**dict.fromkeys(IngestRun.model_fields, value)) for value in (9.0, 1.0, 2.0)]
    report = make_report(Plan(10, 2, 3, 1.0), load_settings(), runs, environment())
    assert {getattr(report, name) for name in IngestRun.model_fields} == {2.0}


def test_the_events_are_as_large_as_the_output_says() -> None:
    sizes = [len(encode_event(event)) for event in made_events(200, "t")]
    assert 0.9 * EVENT_BYTES <= sum(sizes) / len(sizes) <= 1.1 * EVENT_BYTES
