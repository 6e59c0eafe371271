"""Breaks a running pipeline on purpose and counts what is in the stores afterwards. Seeded: a seed is a scenario.

python -m tests.chaos.harness --seeds 10 --events 20000
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from aiokafka import AIOKafkaProducer
from rich.console import Console
from rich.table import Table

from deploy.local import LocalStack, Service, StackPlan
from deploy.local.process import Child, Command
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.topics import Topic
from tests.chaos.history import History, make_history
from tests.chaos.verify import Verdict, vector_ids, verify
from tests.chaos.worker import Mutation, Point
from tests.kafka.cluster import KafkaCluster

#: Seconds from the start, and what then happens.
Trouble = tuple[float, Callable[[], None]]

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2


@dataclass(frozen=True)
class Scenario:
    """What is done to the pipeline."""

    seed: int
    events: int = 20_000
    sessions: int = 200
    tenants: int = 5
    kills: int = 8
    store_restarts: int = 2
    broker_restarts: int = 0
    mutation: Mutation | None = None
    #: Where the workers die, as `POINT:BATCH`, the last first; drawn by the seed when left out.
    ends: tuple[str, ...] = ()
    batch_max_events: int = 512
    #: Whether the workers consolidate too, and die while they do.
    consolidate: bool = False
    limit_s: float = 900.0
    #: Nothing new in the stores for so long, with workers alive: what is missing then is lost.
    still_s: float = 90.0


@dataclass
class Outcome:
    """What happened and what was found."""

    seed: int
    events: int
    poison: int
    kills: int = 0
    restarts: int = 0
    redeliveries: int = 0
    seconds: float = 0.0
    verdict: Verdict = field(default_factory=lambda: Verdict(0, 0, 0, 0, 0))


class Workers:
    """The workers of one scenario: two at any time, each new one with its own end when there are ends left."""

    def __init__(self, settings: Settings, ledger: Path, logs: Path, scenario: Scenario) -> None:
        self._settings, self._ledger, self._logs, self._scenario = settings, ledger, logs, scenario
        self._dice = random.Random(scenario.seed)
        points, dice = list(Point), self._dice
        drawn = [f"{dice.choice(points).value}:{dice.randrange(1, 6)}" for _ in range(scenario.kills)]
        self._ends = list(scenario.ends) or drawn
        self._alive: dict[Child, float] = {}
        self._number = 0
        self.kills = 0

    @property
    def all_ends_met(self) -> bool:
        """Whether everyone who was to die has died."""
        return not self._ends and all(dies_by == float("inf") for dies_by in self._alive.values())

    def tend(self) -> None:
        """Replace the dead; a worker that was to die and has not within 25 s is killed from outside."""
        for worker, dies_by in list(self._alive.items()):
            if worker.exit_status() is None and time.monotonic() > dies_by:
                os.kill(worker.pid, signal.SIGKILL)
                worker.wait_or_kill(time.monotonic() + 10)
            status = worker.exit_status()
            if status is None:
                continue
            if status != -signal.SIGKILL:
                raise AssertionError(f"a worker stopped by itself with status {status}: {worker.last_words()}")
            self.kills += 1
            del self._alive[worker]
        while len(self._alive) < WORKERS:
            self._start(self._ends.pop() if self._ends else None)

    def _start(self, end: str | None) -> None:
        settings, scenario = self._settings, self._scenario
        names = [str(settings.data_dir), settings.topic_prefix, settings.milvus_collection, str(self._ledger)]
        options = (["--die", end] if end else []) + (["--mutate", scenario.mutation.value] if scenario.mutation else [])
        options += ["--all"] if scenario.consolidate else []
        self._number += 1
        command = [sys.executable, "-m", "tests.chaos.worker", *names, *options]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "MAGMA_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
            "MAGMA_KAFKA_SESSION_TIMEOUT_MS": "6000",  # the dead are missed soon, on any broker
            "MAGMA_BATCH_MAX_EVENTS": str(scenario.batch_max_events),
        }
        worker = Child(Command(command, environment), self._logs / f"worker-{self._number}.log")
        self._alive[worker] = time.monotonic() + 25 if end else float("inf")

    @property
    def mutated(self) -> bool:
        """Whether the workers break the promise on purpose."""
        return self._scenario.mutation is not None

    def stop(self) -> list[int | None]:
        """Ask all to stop; gives their exit statuses."""
        for worker in self._alive:
            worker.ask_to_stop()
        deadline = time.monotonic() + 20
        for worker in self._alive:
            worker.wait_or_kill(deadline)
        statuses = [worker.exit_status() for worker in self._alive]
        self._alive.clear()
        return statuses


def run_scenario(scenario: Scenario, *, real_kafka: bool = False) -> Outcome:
    """Run one scenario in servers of its own and give what was found."""
    started = time.monotonic()
    history = make_history(scenario.seed, events=scenario.events, sessions=scenario.sessions, tenants=scenario.tenants)
    outcome = Outcome(scenario.seed, history.good, len(history.poison))
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        kafka = stack.enter_context(KafkaCluster(root / "kafka")) if real_kafka else None
        plan = StackPlan(external=frozenset({Service.BROKER}) if kafka else frozenset())
        local = stack.enter_context(LocalStack(root / "data", plan=plan))
        settings = local.settings.model_copy(
            update={
                "topic_prefix": f"chaos{scenario.seed}.",
                "milvus_collection": f"chaos_{scenario.seed}",
                "kafka_bootstrap": kafka.bootstrap if kafka else local.settings.kafka_bootstrap,
            }
        )
        asyncio.run(ensure_topics(settings))
        ledger = root / "ledger"
        ledger.touch()
        workers = Workers(settings, ledger, root, scenario)
        stack.callback(workers.stop)
        trouble = _plan_trouble(scenario, local, kafka)
        with producing(settings, history):
            try:
                _until_still(settings, history, workers, trouble, outcome, scenario.still_s, started + scenario.limit_s)
            except AssertionError:
                show_logs(root)
                raise
        statuses = workers.stop()
        if any(statuses):
            raise AssertionError(f"workers left with {statuses} after SIGTERM")
        outcome.kills = workers.kills
        handled = ledger.read_text().splitlines()
        outcome.redeliveries = len(handled) - len(set(handled))
        outcome.verdict = asyncio.run(verify(settings, history))
        if not outcome.verdict.holds and scenario.mutation is None:
            show_logs(root)
    outcome.seconds = time.monotonic() - started
    return outcome


@contextmanager
def producing(settings: Settings, history: History) -> Iterator[None]:
    """Produce the history from a thread of its own while the body breaks things."""
    failed: list[BaseException] = []

    def produce() -> None:
        try:
            asyncio.run(_produce(settings, history))
        except BaseException as error:  # noqa: BLE001  raised again on the main thread
            failed.append(error)

    thread = threading.Thread(target=produce, name="producer")
    thread.start()
    try:
        yield
    finally:
        thread.join(120)
        if failed:
            raise failed[0]


async def _produce(settings: Settings, history: History) -> None:
    """Send in bursts, so that workers meet both a backlog and a trickle."""
    topic = Topic.AGENT_EVENTS.name_in(settings)
    producer = AIOKafkaProducer(
        bootstrap_servers=settings.kafka_bootstrap, acks="all", linger_ms=5, request_timeout_ms=60_000
    )
    await producer.start()
    try:
        for begin in range(0, len(history.sent), 500):
            burst = history.sent[begin : begin + 500]
            sends = [await producer.send(topic, record.value, key=record.key) for record in burst]
            await asyncio.gather(*sends)
            await asyncio.sleep(0.2)
    finally:
        await producer.stop()


def _plan_trouble(scenario: Scenario, local: LocalStack, kafka: KafkaCluster | None) -> list[Trouble]:
    """Give when (seconds from the start) which server is killed with -9 and started again, soonest last."""
    dice = random.Random(scenario.seed + 1)

    def store(service: Service) -> None:
        running = local.running[service]
        os.kill(running.child.pid, signal.SIGKILL)
        running.child.wait_or_kill(time.monotonic() + 10)
        time.sleep(dice.uniform(0.2, 2.0))
        local.relaunch(service)
        local.answer(service)

    plan: list[Trouble] = []
    for _ in range(scenario.store_restarts):
        plan += [(dice.uniform(5, 30), partial(store, service)) for service in (Service.GRAPH, Service.VECTORS)]
    if kafka:
        for _ in range(scenario.broker_restarts):
            how = dice.choice((signal.SIGKILL, signal.SIGTERM))
            plan.append((dice.uniform(5, 30), partial(kafka.restart, kafka.nodes[0], how)))
    return sorted(plan, key=lambda item: -item[0])


def _until_still(
    settings: Settings,
    history: History,
    workers: Workers,
    trouble: list[Trouble],
    outcome: Outcome,
    still_s: float,
    deadline: float,
) -> None:
    """Tend the workers and cause trouble until all is there, or nothing moves any more."""
    began, count, moved = time.monotonic(), -1, time.monotonic()
    tenants = sorted({tenant for tenant, _ in history.chains})
    while time.monotonic() < deadline:
        workers.tend()
        if trouble and time.monotonic() - began > trouble[-1][0]:
            trouble.pop()[1]()
            outcome.restarts += 1
            moved = time.monotonic()
        if trouble or not workers.all_ends_met:
            time.sleep(0.3)
            moved = time.monotonic()
            continue
        found = sum(len(vector_ids(settings, tenant)) for tenant in tenants)
        if found != count:
            count, moved = found, time.monotonic()
        # The last acknowledgements and letters. What a killed worker wrote and did not announce comes again once its
        # group has missed it, and no vector moves by that: so only a promise that holds ends the wait early.
        if (
            found >= history.good
            and time.monotonic() - moved > 12
            and (workers.mutated or asyncio.run(verify(settings, history)).holds)
        ):
            return
        if time.monotonic() - moved > still_s:
            return
        time.sleep(2.0)
    raise AssertionError(f"not finished in time: {count} of {history.good} events are there")


def show_logs(root: Path) -> None:
    for log in sorted(root.glob("worker-*.log")):
        lines = log.read_text(errors="replace").splitlines()
        sys.stderr.write(f"--- {log.name}\n" + "\n".join(lines[-80:]) + "\n")


def table(outcomes: list[Outcome]) -> Table:
    """Give the harness's table."""
    shown = Table(title="chaos")
    counts = ("seed", "events", "poison", "kills", "restarts", "redeliveries", "seconds")
    wrongs = ("lost", "doubled", "misordered", "letters_wrong", "announced_wrong")
    for name in (*counts, *wrongs):
        shown.add_column(name, justify="right")
    for outcome in outcomes:
        row = asdict(outcome)
        shown.add_row(*(f"{row[name]:.0f}" for name in counts), *(str(row["verdict"][name]) for name in wrongs))
    return shown


def main() -> int:
    """Run seeds one after the other, print the table, fail when one does not hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--kafka", action="store_true", help="real Apache Kafka, with its broker restarted too")
    parser.add_argument("--mutate", type=Mutation)
    given = parser.parse_args()
    outcomes = []
    for seed in range(given.first, given.first + given.seeds):
        scenario = Scenario(
            seed=seed,
            events=given.events,
            kills=given.kills,
            broker_restarts=2 if given.kafka else 0,
            mutation=given.mutate,
        )
        outcomes.append(run_scenario(scenario, real_kafka=given.kafka))
        Console(width=160).print(table(outcomes))
    return 0 if all(outcome.verdict.holds for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
