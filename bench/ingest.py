"""What the fast path takes: events a second, CPU an event, and how long an event is on its way to both stores.

Each run has a worker of its own for intake and ingest, warmed up by other events. An event counts as durable when its
id comes out on `memory.ingested`. CPU is that of the worker's process, user and system, as the operating system counts
it; the servers' is not in it, and neither is the producer's.

`store_bulk_events_per_s` is what the slower of the two stores takes of the same events in bulk writes alone, prepared
and embedded before the clock starts.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from uuid import uuid4

from aiokafka import AIOKafkaConsumer
from pydantic import BaseModel
from rich.table import Table

from bench.children import all_alive, children, cpu_seconds, resident_mb
from bench.environment import Environment
from cli.readers.items import encode_event
from deploy.local.process import Child
from memory.embedding import make_encoder
from memory.events import AgentEvent, EventKind, derive_id
from memory.graph import Graph
from memory.records import Outgoing, Record, decode_ingested, session_key
from memory.settings import Settings
from memory.vectors import Vectors
from streams.admin import ensure_topics
from streams.clients import make_consumer
from streams.intake import take_in
from streams.prepare import prepare
from streams.publisher import Publisher
from streams.topics import Stage, Topic

#: Size of an event's JSON, about; sessions that go on at one time; events of a session.
EVENT_BYTES = 1_000
_AT_ONCE = 32
_SESSION_EVENTS = 50
#: Records produced and acknowledged together; nodes and rows of one bulk write.
_PRODUCED = 1_000
_BULK = 500
#: How often a paced producer sends, in seconds.
_TICK_S = 0.02
_LIMIT_S = 900.0
_START = datetime(2026, 4, 1, 8, 0, tzinfo=UTC)
_WORDS = (
    "gateway replica ledger deploy rollback timeout queue retry index shard cache latency bucket token cluster schema"
    " probe alert socket thread budget invoice courier parcel customer refund order stock supplier harbour weather"
    " meeting garden dinner train ticket painting violin holiday neighbour doctor school bridge river camera"
)
_PEOPLE = ("Ana Ruiz", "Ben Okafor", "Chidi Lund", "Dora Weiss", "Emil Sato")


class IngestRun(BaseModel):
    """One run. Seconds are from the first record produced to the last event durable; see `IngestReport`."""

    seconds: float
    events_per_s: float
    cpu_ms_per_event: float
    store_bulk_events_per_s: float
    ratio: float
    p50_ms: float
    p99_ms: float
    rss_mb: float


class IngestReport(BaseModel):
    """Medians of the runs. `ratio`: events/s over what the slower store takes in bulk writes alone, in the same run;
    `p50_ms`, `p99_ms`: from produce to durable at half of the run's own rate; `bulk`: both stores' events/s by run."""

    events: int
    event_bytes: int
    seconds: float
    events_per_s: float
    cpu_ms_per_event: float
    store_bulk_events_per_s: float
    ratio: float
    p50_ms: float
    p99_ms: float
    rss_mb: float
    embedding: str
    runs: list[IngestRun]
    environment: Environment


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: events of a run, those that warm it up, runs, and seconds at half load."""

    events: int
    warm_up: int
    runs: int
    paced_s: float


def made_events(number: int, tenant: str, *, seed: int = 11) -> Iterator[AgentEvent]:
    """Make events of about `EVENT_BYTES`, of sessions that go on at the same time, with names and dates in them."""
    dice, said = random.Random(seed), _WORDS.split(" ")
    for at in range(number):
        turn, beside = divmod(at, _AT_ONCE)
        begin = f"{dice.choice(_PEOPLE)} told me on {1 + at % 28} March 2026 about {dice.choice(said)}-{at}. "
        words: list[str] = [begin]
        size = len(begin)
        while size < EVENT_BYTES - 130:
            words.append(dice.choice(said))
            size += len(words[-1]) + 1
        yield AgentEvent(
            id=f"e{at}",
            tenant=tenant,
            agent=f"agent-{beside % 8}",
            session=f"s{beside}-{turn // _SESSION_EVENTS}",
            kind=EventKind.MESSAGE,
            text=" ".join(words),
            occurred_at=_START + timedelta(seconds=at),
        )


async def measure(settings: Settings, plan: Plan) -> list[IngestRun]:
    """Measure every run, each with topics, tenants, a collection and a worker of its own."""
    found = []
    for _ in range(plan.runs):
        own = uuid4().hex[:8]
        update = {"topic_prefix": f"bench-{own}.", "milvus_collection": f"bench_{own}"}
        found.append(await _run(settings.model_copy(update=update), plan))
    return found


def make_report(plan: Plan, settings: Settings, runs: list[IngestRun], begun: Environment) -> IngestReport:
    """Give the medians."""
    middle = {name: round(median(getattr(run, name) for run in runs), 4) for name in IngestRun.model_fields}
    return IngestReport(
        events=plan.events,
        event_bytes=EVENT_BYTES,
        embedding=settings.embedding_model.value,
        runs=runs,
        environment=begun,
        **middle,
    )


def draw(report: IngestReport) -> Table:
    """Show the report to a person."""
    table = Table(title=f"{report.events} events of {report.event_bytes} bytes, {len(report.runs)} runs")
    table.add_column("measured")
    table.add_column("median", justify="right")
    table.add_column("runs", justify="right")
    for name in IngestRun.model_fields:
        each = "  ".join(f"{getattr(run, name):g}" for run in report.runs)
        table.add_row(name, f"{getattr(report, name):g}", each)
    return table


async def _run(settings: Settings, plan: Plan) -> IngestRun:
    await ensure_topics(settings)
    bulk = await _bulk(settings, plan.events)
    async with (
        Publisher.open(settings) as publisher,
        _arrivals(settings) as arrivals,
        children(settings, [(Stage.INTAKE, Stage.INGEST)], settings.data_dir) as running,
    ):
        sending = _Sending(settings, publisher, arrivals, running)
        await sending.all(list(made_events(plan.warm_up, _tenant(), seed=1)))
        events = list(made_events(plan.events, _tenant()))
        begun_cpu_s = cpu_seconds(running)
        seconds, _ = await sending.all(events)
        cpu_s = cpu_seconds(running) - begun_cpu_s
        rate = plan.events / seconds
        half = list(made_events(max(20, int(rate / 2 * plan.paced_s)), _tenant(), seed=2))
        _, waits_ms = await sending.all(half, rate_per_s=rate / 2)
        rss_mb = max([await asyncio.to_thread(resident_mb, child) for child in running])
    waits_ms.sort()
    return IngestRun(
        seconds=round(seconds, 3),
        events_per_s=round(rate, 1),
        cpu_ms_per_event=round(cpu_s / plan.events * 1_000, 4),
        store_bulk_events_per_s=round(bulk, 1),
        ratio=round(rate / bulk, 3),
        p50_ms=round(waits_ms[len(waits_ms) // 2], 1),
        p99_ms=round(waits_ms[int(len(waits_ms) * 0.99)], 1),
        rss_mb=rss_mb,
    )


def _tenant() -> str:
    return f"bench-ingest-{uuid4().hex[:8]}"


@asynccontextmanager
async def _arrivals(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = make_consumer(settings, group=None, fetch_max_wait_ms=20)
    consumer.subscribe([Topic.MEMORY_INGESTED.name_in(settings)])
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


@dataclass
class _Sending:
    """Produces events and waits until they come out durable."""

    settings: Settings
    publisher: Publisher
    arrivals: AIOKafkaConsumer
    running: Sequence[Child]

    async def all(self, events: Sequence[AgentEvent], *, rate_per_s: float | None = None) -> tuple[float, list[float]]:
        """Send events, as fast as it goes or at a rate; give the seconds to the last, and each one's milliseconds."""
        ids = [derive_id(event.tenant, event.source, event.id or "") for event in events]
        records = [Outgoing(session_key(event.tenant, event.session), encode_event(event)) for event in events]
        sent_s: dict[str, float] = {}
        begun_s = time.perf_counter()
        async with asyncio.timeout(_LIMIT_S), asyncio.TaskGroup() as group:
            producing = self._produce(ids, records, sent_s, rate_per_s)
            group.create_task(producing)
            waiting = group.create_task(self._durable(set(ids)))
        durable_s = waiting.result()
        waits_ms = [(durable_s[ident] - sent_s[ident]) * 1_000 for ident in ids]
        return max(durable_s.values()) - begun_s, waits_ms

    async def _produce(
        self, ids: Sequence[str], records: Sequence[Outgoing], sent_s: dict[str, float], rate_per_s: float | None
    ) -> None:
        topic = Topic.AGENT_EVENTS.name_in(self.settings)
        size = _PRODUCED if rate_per_s is None else max(1, round(rate_per_s * _TICK_S))
        begun_s = time.perf_counter()
        for start in range(0, len(ids), size):
            if rate_per_s is not None:
                await asyncio.sleep(max(0.0, begun_s + start / rate_per_s - time.perf_counter()))
            sent_s |= dict.fromkeys(ids[start : start + size], time.perf_counter())
            await self.publisher.publish(topic, records[start : start + size])

    async def _durable(self, left: set[str]) -> dict[str, float]:
        durable_s: dict[str, float] = {}
        while left:
            all_alive(self.running)
            for records in (await self.arrivals.getmany(timeout_ms=200)).values():
                now_s = time.perf_counter()
                for record in records:
                    for ident in decode_ingested(record.value).ids:
                        if ident in left:
                            left.discard(ident)
                            durable_s[ident] = now_s
        return durable_s


async def _bulk(settings: Settings, number: int) -> float:
    """Give the events a second that the slower store takes in bulk writes alone."""
    raw = [
        Record("agent.events", 0, at, 0, session_key(event.tenant, event.session), encode_event(event))
        for at, event in enumerate(made_events(number, _tenant(), seed=3))
    ]
    valid = take_in(raw, settings).outgoing
    batch = prepare(
        [Record("memory.events", 0, at, 0, one.key, one.value, one.headers) for at, one in enumerate(valid)]
    )
    encoder = make_encoder(settings)
    try:
        rows = batch.rows(await encoder.encode(batch.texts))
    finally:
        await encoder.close()
    async with (
        Graph.open(settings) as graph,
        Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
    ):
        await graph.ensure_schema()
        writer = graph.writer()
        begun_s = time.perf_counter()
        for start in range(0, number, _BULK):
            await writer.write_events(batch.nodes[start : start + _BULK])
        graph_s = time.perf_counter() - begun_s
        begun_s = time.perf_counter()
        for start in range(0, number, _BULK):
            await vectors.upsert(rows[start : start + _BULK])
        vectors_s = time.perf_counter() - begun_s
    return number / max(graph_s, vectors_s)
