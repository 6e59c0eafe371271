"""What the delivery tests do with a broker and with worker processes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiokafka import TopicPartition

from deploy.local import die_with_parent
from deploy.local.ports import free_port
from memory.records import Outgoing, Record
from memory.settings import Settings
from streams.admin import ensure_topics, topic_partitions
from streams.clients import make_consumer
from streams.publisher import Publisher
from streams.scan import scan
from streams.topics import Stage, Topic
from tests.streams.ledger import Ledger

ROOT = Path(__file__).resolve().parents[2]


async def send(settings: Settings, values: Sequence[str | bytes | None], *, topic: Topic = Topic.AGENT_EVENTS) -> None:
    """Produce values; the key is what stands before the first dash, so that its values keep their order."""
    await ensure_topics(settings)
    records = []
    for value in values:
        raw = value.encode() if isinstance(value, str) else value
        records.append(Outgoing((raw or b"none").split(b"-")[-2:][0][:40], raw, (("h", b"1"), ("h", b"\xff"))))
    async with Publisher.open(settings) as publisher:
        await publisher.publish(topic.name_in(settings), records)


async def read(settings: Settings, topic: str) -> list[Record]:
    return [record async for records in scan(settings, topic) for record in records]


async def committed(settings: Settings, stage: Stage) -> int:
    """How many records of the stage's topic its group has acknowledged."""
    consumer = make_consumer(settings, group=stage.group_in(settings))
    await consumer.start()
    try:
        topic = stage.source.name_in(settings)
        places = [TopicPartition(topic, number) for number in range((await topic_partitions(settings))[topic])]
        consumer.assign(places)
        return sum([await consumer.committed(place) or 0 for place in places])
    finally:
        await consumer.stop()


async def until(condition: Callable[[], bool | Awaitable[bool]], *, within_s: float = 40.0) -> None:
    """Wait until the condition holds; fails when it does not in time."""
    ends_s = time.monotonic() + within_s
    while time.monotonic() < ends_s:
        held = condition()
        if held if isinstance(held, bool) else await held:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not within {within_s} s: {condition}")


class WorkerProcess:
    """A worker of stages over a ledger, as its own process."""

    Maker = Callable[..., "WorkerProcess"]

    def __init__(self, kafka: Settings, ledger: Ledger, stages: Sequence[str], given: Mapping[str, Any]) -> None:
        self.port = free_port()
        shared = (
            "kafka_bootstrap",
            "kafka_session_timeout_ms",
            "kafka_fetch_max_wait_ms",
            "kafka_idempotent",
            "topic_prefix",
        )
        values = {name: getattr(kafka, name) for name in shared} | {"worker_http_port": self.port, **given}
        self._errors = (ledger.folder / f"worker-{self.port}.log").open("wb")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid())),
                *(sys.executable, "-m", "tests.streams.worker_main", str(ledger.folder), *stages),
            ],
            cwd=ROOT,
            env=os.environ | {f"MAGMA_{name.upper()}": str(value) for name, value in values.items()},
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def told(self) -> str:
        """What the worker wrote to its log."""
        return Path(self._errors.name).read_text()

    def ready(self) -> dict[str, Any]:
        """What `/ready` answers; empty while it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5) as answer:
                return {"status": answer.status, **json.load(answer)}
        except urllib.error.HTTPError as error:
            with error:
                return {"status": error.code, **json.load(error)}
        except OSError:
            return {}

    def is_ready(self) -> bool:
        assert self.running, self.told()
        return self.ready().get("status") == 200

    def terminate(self) -> float:
        """Send SIGTERM and wait for the end; gives the seconds it took."""
        begun_s = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        return time.monotonic() - begun_s

    async def ended(self, within_s: float = 30.0) -> int:
        await until(lambda: not self.running, within_s=within_s)
        return self.process.returncode

    def kill(self) -> None:
        """End it as `kill -9` does."""
        if self.running:
            self.process.kill()
        self.process.wait(timeout=10)
        self._errors.close()
