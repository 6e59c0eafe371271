"""The promise, broken on purpose in CI: short scenarios, and the proof that the harness can fail."""

import pytest

from tests.chaos.edges import run_edges
from tests.chaos.harness import Outcome, Scenario, run_scenario
from tests.chaos.worker import Mutation

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]


def test_nothing_is_lost_doubled_or_misordered_under_kills_and_restarts() -> None:
    outcome = run_scenario(Scenario(seed=101, events=4_000, sessions=60, kills=4))
    assert outcome.verdict.holds, outcome
    assert outcome.kills >= 4
    assert outcome.restarts == 4


def test_killing_consolidators_loses_doubles_and_hides_no_edge() -> None:
    ends = ("before-publish:3", "before-ack:2", "before-write:4")
    verdict = run_edges(Scenario(seed=104, events=400, sessions=24, tenants=2, ends=ends, batch_max_events=64))
    assert verdict.holds, verdict
    assert verdict.kills >= len(ends)
    assert verdict.edges > 400


@pytest.mark.kafka
def test_the_promise_holds_on_real_kafka_whose_broker_restarts_too() -> None:
    outcome = run_scenario(Scenario(seed=102, events=4_000, sessions=60, kills=3, broker_restarts=2), real_kafka=True)
    assert outcome.verdict.holds, outcome
    assert outcome.restarts == 6


def broken(mutation: Mutation) -> Outcome:
    """Run a short scenario against a pipeline that was made wrong; its workers die in the middle of many batches."""
    return run_scenario(
        Scenario(
            seed=103,
            events=1_500,
            sessions=20,
            store_restarts=0,
            still_s=12,
            mutation=mutation,
            ends=("before-write:6", "before-ack:4", "before-write:8"),
            batch_max_events=32,
        )
    )


def test_the_harness_sees_loss_when_records_are_acknowledged_before_they_are_written() -> None:
    assert broken(Mutation.ACK_BEFORE_WRITE).verdict.lost > 0


def test_the_harness_sees_doubles_when_redelivered_events_get_new_ids() -> None:
    assert broken(Mutation.NO_DEDUPE).verdict.doubled > 0


def test_the_harness_sees_disorder_when_events_are_linked_as_they_arrive() -> None:
    assert broken(Mutation.ARRIVAL_ORDER).verdict.misordered > 0
