"""What the delivery rule costs: the guarded path beside Faust's own `take()`, over one broker, in one run.

    python -m bench.delivery --records 40000 --rounds 3

Both do the same work with the stores left out: read a batch, decode each record's JSON, acknowledge. Seconds are from
the first record to the last, CPU is the worker process's own, both counted inside it.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from uuid import uuid4

import faust
import orjson
from rich.console import Console
from rich.table import Table

from deploy.local import LocalStack, Service, StackPlan
from deploy.local.process import Child, Command
from memory.records import Handled, Outgoing, Record
from memory.settings import Settings, load_settings
from streams.admin import ensure_topics
from streams.publisher import Publisher
from streams.runtime import run_stages
from streams.topics import Stage, Topic

RECORD_BYTES = 1_000
BATCH = 512
LIMIT_S = 120.0


class Meter:
    """Counts records; at the last one writes what it took and asks the process to stop."""

    def __init__(self, total: int, result: Path) -> None:
        self._total, self._result = total, result
        self._left = total
        self._begun_s = self._begun_cpu_s = 0.0

    def batch(self, values: Sequence[bytes | None]) -> None:
        """Do the work on a batch, and account for it."""
        if self._left == self._total:
            self._begun_s, self._begun_cpu_s = time.perf_counter(), time.process_time()
        for value in values:
            orjson.loads(value or b"null")
        self._left -= len(values)
        if self._left <= 0:
            took = {
                "seconds": time.perf_counter() - self._begun_s,
                "cpu_seconds": time.process_time() - self._begun_cpu_s,
            }
            self._result.write_bytes(orjson.dumps(took))
            os.kill(os.getpid(), signal.SIGTERM)


class MeterHandler:
    """The guarded path's handler: nothing but the meter."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Count the batch."""
        self._meter.batch([record.value for record in records])
        return Handled()


def guarded(settings: Settings, meter: Meter) -> int:
    """Run the product's worker over the topic."""

    @asynccontextmanager
    async def opened(_: Settings) -> AsyncIterator[MeterHandler]:
        yield MeterHandler(meter)

    return run_stages(settings, {Stage.INGEST: opened})


def plain(settings: Settings, meter: Meter) -> int:
    """Run Faust as its documentation shows it: an agent over `stream.take`."""
    app = faust.App(
        f"plain-{uuid4().hex[:8]}",
        broker=f"aiokafka://{settings.kafka_bootstrap}",
        broker_session_timeout=6,
        broker_heartbeat_interval=1,
        broker_request_timeout=30,
        consumer_auto_offset_reset="earliest",
        topic_disable_leader=True,
        topic_allow_declare=False,
        value_serializer="raw",
        loop_kind="uvloop",
        datadir=str(settings.data_dir / "faust"),
    )
    topic = app.topic(Topic.MEMORY_EVENTS.name_in(settings), value_type=bytes, value_serializer="raw")

    @app.agent(topic)  # type: ignore[untyped-decorator]  # Faust has no types for it
    async def take(stream: "faust.StreamT[bytes]") -> None:
        async for values in stream.take(BATCH, within=0.1):
            meter.batch(values)

    sys.argv = ["bench", "worker", "--without-web", "-l", "error"]
    app.main()
    return 0


WAYS = {"guarded": guarded, "take": plain}


def measure(settings: Settings, way: str, records: int, folder: Path) -> dict[str, float]:
    """Run one way in a process of its own and give what it took."""
    result = folder / f"{way}-{uuid4().hex[:8]}.json"
    command = [sys.executable, "-m", "bench.delivery", "--way", way, "--records", str(records), "--result", str(result)]
    prefix = f"MAGMA_TOPIC_PREFIX={settings.topic_prefix}".split("=", 1)
    environment = {**os.environ, prefix[0]: prefix[1], "MAGMA_DATA_DIR": str(settings.data_dir)}
    child = Child(Command(command, environment), folder / f"{result.stem}.log")
    child_deadline = time.monotonic() + LIMIT_S
    while not result.exists() and child.exit_status() is None and time.monotonic() < child_deadline:
        time.sleep(0.05)
    child.ask_to_stop()
    child.wait_or_kill(time.monotonic() + 15)
    if not result.exists():
        raise SystemExit(f"{way} did not finish: {child.last_words()}")
    took: dict[str, float] = orjson.loads(result.read_bytes())
    return took


async def fill(settings: Settings, records: int) -> None:
    """Put records of `RECORD_BYTES` on the topic, spread over its partitions."""
    await ensure_topics(settings)
    filler = "x" * (RECORD_BYTES - 40)
    made = [
        Outgoing(f"k{number % 64}".encode(), orjson.dumps({"n": number, "text": filler})) for number in range(records)
    ]
    async with Publisher.open(settings) as publisher:
        for begin in range(0, records, 2_000):
            await publisher.publish(Topic.MEMORY_EVENTS.name_in(settings), made[begin : begin + 2_000])


def main() -> None:
    """Measure both ways in turn, print a table and one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--result", type=Path)
    given = parser.parse_args()
    if given.way:
        WAYS[given.way](load_settings(), Meter(given.records, given.result))
        return
    took: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        plan = StackPlan(external=frozenset({Service.GRAPH, Service.VECTORS}))
        with LocalStack(Path(folder) / "data", plan=plan) as local:
            for _ in range(given.rounds):
                settings = local.settings.model_copy(update={"topic_prefix": f"b{uuid4().hex[:8]}."})
                asyncio.run(fill(settings, given.records))
                for way in WAYS:
                    took[way].append(measure(settings, way, given.records, Path(folder)))
    rate = {way: median(given.records / run["seconds"] for run in runs) for way, runs in took.items()}
    cpu_us = {way: median(run["cpu_seconds"] / given.records * 1e6 for run in runs) for way, runs in took.items()}
    ratios = {
        "wall": median(b["seconds"] / a["seconds"] for a, b in zip(took["guarded"], took["take"], strict=True)),
        "cpu": median(b["cpu_seconds"] / a["cpu_seconds"] for a, b in zip(took["guarded"], took["take"], strict=True)),
    }
    table = Table(title=f"{given.records} records of 1 KB, {given.rounds} rounds, medians")
    for column in ("way", "records/s", "CPU us a record"):
        table.add_column(column, justify="right")
    for way in WAYS:
        table.add_row(way, f"{rate[way]:,.0f}", f"{cpu_us[way]:.1f}")
    Console(stderr=True, width=100).print(table)
    report = {"records": given.records, "records_per_s": rate, "cpu_us_per_record": cpu_us, "guarded_over_take": ratios}
    sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")


if __name__ == "__main__":
    main()
