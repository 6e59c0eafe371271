"""What near-identical events cost the consolidation stages beside ordinary ones, by rules, in one run.

    python -m bench.near_identical --events 10000

Near-identical are events of one sentence with other numbers in it: each is near to all others, and brings names that
have a word in common with all names before. Both sets are made durable first; then each stage's handler works through
them by itself, over one run's own servers, in batches as a worker makes them.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from bench.consolidation import make_durable
from bench.worker_memory import events as ordinary_events
from consolidators import open_handler
from deploy.local import LocalStack
from memory.events import AgentEvent, EventKind
from memory.records import Outgoing, Record
from memory.settings import Settings
from streams.gathering import Windows, gathering_of
from streams.topics import CONSOLIDATION, Stage, Topic

_START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
_SESSION_EVENTS = 25
#: Records that are held at a time, of which batches are made.
_HELD = 2_000


def near_identical(number: int) -> Iterator[AgentEvent]:
    """Make events that differ in their numbers only."""
    for at in range(number):
        yield AgentEvent(
            id=f"n{at}",
            tenant="near-identical",
            agent="monitor",
            session=f"s{at // _SESSION_EVENTS}",
            kind=EventKind.MESSAGE,
            text=f"Order {at} for Ana Ruiz failed because Basalt Replica {at} was slow.",
            occurred_at=_START + timedelta(seconds=20 * at),
        )


def ordinary(number: int) -> Iterator[AgentEvent]:
    """Make events of a few sentences about some people and things, of one tenant."""
    for event in ordinary_events(number):
        yield event.model_copy(update={"tenant": "ordinary"})


SETS: dict[str, Callable[[int], Iterator[AgentEvent]]] = {"ordinary": ordinary, "near_identical": near_identical}


async def measure(settings: Settings, number: int) -> dict[str, dict[str, float]]:
    """Give for each set the seconds that each stage took."""
    found: dict[str, dict[str, float]] = {}
    for name, made in SETS.items():
        announced = await make_durable(settings, list(made(number)))
        found[name] = {stage.value: await _seconds(settings, stage, announced) for stage in CONSOLIDATION}
        sys.stderr.write(f"{name}: {found[name]}\n")
    return found


async def _seconds(settings: Settings, stage: Stage, announced: Sequence[Outgoing]) -> float:
    gathering = gathering_of(stage, settings)
    assert gathering is not None  # every stage of consolidation gathers
    windows = Windows(gathering, most_records=settings.batch_max_events)
    topic = Topic.MEMORY_INGESTED.value
    left = [Record(topic, 0, at, 0, one.key, one.value) for at, one in enumerate(announced)]
    async with open_handler(stage.value, settings) as handler:
        begun_s = time.perf_counter()
        while left or windows.held:
            room = _HELD - windows.held
            windows.add(left[:room], 0.0)
            left = left[room:]
            handled = await handler.handle(windows.take(float("inf")))
            if handled.published is not None:
                await handled.published()
    return round(time.perf_counter() - begun_s, 1)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=10_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="magma-near-") as folder,
        LocalStack(Path(folder) / "data") as local,
    ):
        seconds = asyncio.run(measure(local.settings, given.events))
    stages = [stage.value for stage in CONSOLIDATION]
    ratios = {stage: round(seconds["near_identical"][stage] / seconds["ordinary"][stage], 2) for stage in stages}
    together = round(sum(seconds["near_identical"].values()) / sum(seconds["ordinary"].values()), 2)
    report = {"events": given.events, "seconds": seconds, "ratios": ratios, "ratio": together}
    sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")


if __name__ == "__main__":
    main()
