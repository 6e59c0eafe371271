"""What a worker's memory does over many events: it must not grow with what it has seen.

    python -m bench.worker_memory --events 50000 --step 5000

Each stage, from intake to episodes, has a worker of its own, all by rules over one run's own servers; after every step
that is consolidated the resident memory of each is read. The first fifth warms models, allocators and caches up and is
not counted: growth is from there to the end.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import orjson

from bench.children import all_alive, children, resident_mb
from cli.produce import produce
from cli.readers import ReadItem
from cli.readers.items import encode_event
from deploy.local import LocalStack
from deploy.local.process import Child
from memory.events import AgentEvent, EventKind
from memory.graph import Graph, Mark
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.topics import CONSOLIDATION, Stage

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
_LOOK_EVERY_S = 2.0
LIMIT_S = 3_600.0
STAGES = (Stage.INTAKE, Stage.INGEST, *CONSOLIDATION)


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run was after `seconds`, and the resident memory of each stage's worker then."""

    events: int
    seconds: float
    rss_mb: dict[str, float]


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


async def measure(settings: Settings, number: int, step: int) -> list[Step]:
    """Give the memory of each stage's worker after each step."""
    await ensure_topics(settings)
    made = events(number)
    found: list[Step] = []
    begun_s = time.monotonic()
    async with (
        Graph.open(settings) as graph,
        children(settings, [[stage] for stage in STAGES], settings.data_dir) as running,
    ):
        for done in range(step, number + 1, step):
            items = [ReadItem(at, encode_event(event), event) for at, event in enumerate(islice(made, step))]
            produced = await produce(settings, items)
            await _consolidated(graph, {tenant: set(ids) for tenant, ids in produced.ids.items()}, running)
            sizes_mb = [await asyncio.to_thread(resident_mb, child) for child in running]
            rss_mb = dict(zip((stage.value for stage in STAGES), sizes_mb, strict=True))
            found.append(Step(done, round(time.monotonic() - begun_s, 1), rss_mb))
            told = ", ".join(f"{stage} {size_mb:.0f}" for stage, size_mb in rss_mb.items())
            sys.stderr.write(f"{done} events, {found[-1].seconds:.0f} s: {told} MB\n")
    return found


def growth_mb(steps: Sequence[Step]) -> dict[str, float]:
    """Give for each stage by how many megabytes its memory grew after the first fifth of the run."""
    warm = steps[max(0, len(steps) // 5 - 1)]
    return {stage: round(size_mb - warm.rss_mb[stage], 1) for stage, size_mb in steps[-1].rss_mb.items()}


async def _consolidated(graph: Graph, left: dict[str, set[str]], running: Sequence[Child]) -> None:
    """Wait until every event is stored and marked by every stage."""
    async with asyncio.timeout(LIMIT_S):
        while left:
            all_alive(running)
            for tenant, ids in list(left.items()):
                left[tenant] = await graph.reader(tenant).unfinished(sorted(ids), tuple(Mark))
                if not left[tenant]:
                    del left[tenant]
            await asyncio.sleep(_LOOK_EVERY_S)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--step", type=int, default=5_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="magma-memory-") as folder,
        LocalStack(Path(folder) / "data") as local,
    ):
        steps = asyncio.run(measure(local.settings, given.events, given.step))
    report = {"steps": [asdict(step) for step in steps], "growth_mb": growth_mb(steps)}
    sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")


if __name__ == "__main__":
    main()
