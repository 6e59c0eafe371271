"""Delivery needs the broker and nothing else of the stack: one for each module, for its log is in memory."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from deploy.local import LocalStack, Service, StackPlan
from memory.settings import Settings, load_settings
from tests.streams.helpers import WorkerProcess
from tests.streams.ledger import Ledger

#: The local broker lets members join after half of it; a real Kafka allows no less than 6 s.
SESSION_TIMEOUT_MS = 3_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    data_dir = tmp_path_factory.mktemp("broker")
    given = StackPlan.beside(load_settings(data_dir=data_dir))
    plan = StackPlan(external=given.external | {Service.GRAPH, Service.VECTORS})
    with LocalStack(data_dir, plan=plan) as local:
        quick = {} if Service.BROKER in given.external else {"kafka_session_timeout_ms": SESSION_TIMEOUT_MS}
        yield local.settings.model_copy(update=quick)


@pytest.fixture
def kafka(broker: Settings) -> Settings:
    """Settings with topics and groups of the test's own."""
    return broker.model_copy(update={"topic_prefix": f"t{uuid4().hex[:10]}."})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


@pytest.fixture
def workers(kafka: Settings, ledger: Ledger) -> Iterator[WorkerProcess.Maker]:
    """Start worker processes over the ledger; what still runs at the end is killed."""
    started: list[WorkerProcess] = []

    def start(*stages: str, **settings: object) -> WorkerProcess:
        worker = WorkerProcess(kafka, ledger, stages or ("intake",), settings)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()
