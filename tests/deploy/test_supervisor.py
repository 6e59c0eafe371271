"""What the supervisor does about a server that ends, step by step with a clock of the test's."""

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import LocalStack, Service, StackPlan
from deploy.local.services import read_state
from deploy.local.supervisor import GIVE_UP_AFTER, LONGEST_PAUSE_S, SOUND_AFTER_S, Supervisor

pytestmark = pytest.mark.stack


@pytest.fixture
def broker_alone(tmp_path: Path) -> Iterator[LocalStack]:
    with LocalStack(tmp_path, plan=StackPlan(external=frozenset({Service.GRAPH, Service.VECTORS}))) as stack:
        yield stack


def kill(stack: LocalStack) -> None:
    child = stack.running[Service.BROKER].child
    os.kill(child.pid, signal.SIGKILL)
    while child.exit_status() is None:
        time.sleep(0.01)


def settle(supervisor: Supervisor, stack: LocalStack, now_s: float) -> None:
    """Step at this time until the start that is under way has been seen through."""
    broker = stack.running[Service.BROKER]
    begun, deadline = broker.note, time.monotonic() + 20
    while broker.note == begun:
        assert time.monotonic() < deadline, broker.note
        supervisor.step(now_s)
        time.sleep(0.01)


def test_it_waits_longer_each_time_and_gives_up_honestly(broker_alone: LocalStack) -> None:
    supervisor, now_s = Supervisor(broker_alone), 0.0
    broker = broker_alone.running[Service.BROKER]
    kill(broker_alone)
    with socket.socket() as foreign:
        foreign.bind(("127.0.0.1", broker.port))
        supervisor.step(now_s)
        state = read_state(broker_alone.data_dir)
        assert state is not None
        assert not state.services[0].ready
        assert state.services[0].pid is None
        assert "is started again in 0.5 s" in state.services[0].note
        supervisor.step(now_s + 0.4)
        assert broker.restarts == 0
        for _ in range(GIVE_UP_AFTER - 1):
            now_s += LONGEST_PAUSE_S
            settle(supervisor, broker_alone, now_s)
    assert f"failed {GIVE_UP_AFTER} times and is not started again" in broker.note
    starts = broker.restarts
    supervisor.step(now_s + 10 * LONGEST_PAUSE_S)
    assert broker.restarts == starts
    assert not broker.status.ready


def test_failures_are_forgotten_after_a_sound_minute(broker_alone: LocalStack) -> None:
    supervisor = Supervisor(broker_alone)
    broker = broker_alone.running[Service.BROKER]
    for begin_s in (0.0, 100.0 + SOUND_AFTER_S):
        kill(broker_alone)
        supervisor.step(begin_s)
        assert "is started again in 0.5 s" in broker.note
        settle(supervisor, broker_alone, begin_s + 1)
        assert broker.ready
        supervisor.step(begin_s + 2 + SOUND_AFTER_S)
    assert broker.restarts == 2
