"""What a consolidation worker's memory does over many events: it must not grow with what it has seen.

    python -m bench.worker_memory --events 50000 --step 10000

One worker runs all four stages by rules over its own servers; after every step that is consolidated its resident memory
is read. The first step warms models and caches up and is not counted.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from bench.consolidation import consolidated, make_durable, workers
from deploy.local import LocalStack
from memory.events import AgentEvent, EventKind
from memory.graph import Graph
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.publisher import Publisher
from streams.topics import Topic

_START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
_PEOPLE = ("Ana Ruiz", "Ben Okafor", "Chidi Lund", "Dora Weiss", "Emil Sato")
_THINGS = ("checkout", "the ledger", "Basalt 4", "the queue", "billing-api", "the replica", "Quartz", "the cache")
_SAID = (
    "{who} restarted {what} because {other} was slow.",
    "I asked {who} about {what} yesterday.",
    "{what} failed again, so {who} rolled {other} back.",
    "Does {who} know why {what} is late?",
)
_SESSION_EVENTS = 25
_PAGE_BYTES = 4_096


def events(number: int, *, seed: int = 5, tenants: int = 4) -> Iterator[AgentEvent]:
    """Make events of short sessions, several of them going on at a time."""
    dice = random.Random(seed)
    for at in range(number):
        session = at // (4 * _SESSION_EVENTS) * 4 + at % 4
        text = dice.choice(_SAID).format(
            who=dice.choice(_PEOPLE), what=dice.choice(_THINGS), other=dice.choice(_THINGS)
        )
        yield AgentEvent(
            id=f"m{at}",
            tenant=f"memory-{session % tenants}",
            agent=f"agent-{session % 7}",
            session=f"s{session}",
            kind=EventKind.MESSAGE,
            text=f"{text} ({at})",
            occurred_at=_START + timedelta(seconds=20 * at),
        )


def resident_mb(pid: int) -> float:
    """Give a process's resident memory in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return round(pages * _PAGE_BYTES / 1e6, 1)


async def measure(settings: Settings, number: int, step: int) -> list[dict[str, float]]:
    """Give the worker's memory after each step."""
    await ensure_topics(settings)
    made = events(number)
    found: list[dict[str, float]] = []
    begun_s = time.monotonic()
    async with (
        Graph.open(settings) as graph,
        Publisher.open(settings) as publisher,
        workers(settings, 1, settings.data_dir) as children,
    ):
        for done in range(step, number + 1, step):
            announced = await make_durable(settings, [next(made) for _ in range(step)])
            await publisher.publish(Topic.MEMORY_INGESTED.name_in(settings), announced)
            await consolidated(graph, announced, children)
            rss_mb = await asyncio.to_thread(resident_mb, children[0].pid)
            found.append({"events": done, "rss_mb": rss_mb, "seconds": round(time.monotonic() - begun_s, 1)})
            sys.stderr.write(f"{done} events: {rss_mb} MB\n")
    return found


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--step", type=int, default=10_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="magma-memory-") as folder,
        LocalStack(Path(folder) / "data") as local,
    ):
        found = asyncio.run(measure(local.settings, given.events, given.step))
    growth_mb = round(found[-1]["rss_mb"] - found[0]["rss_mb"], 1)
    sys.stdout.write(orjson.dumps({"steps": found, "growth_mb": growth_mb}).decode() + "\n")


if __name__ == "__main__":
    main()
