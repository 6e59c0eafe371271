"""How consolidation scales out: conversations by one worker and by four, with a model that takes 300 ms a call.

    python -m bench.consolidation --data locomo_dev.json

Each run has servers of its own. The fast path is done before the clock starts, and the workers wait with their
partitions; the clock runs from the announcement of the events until all are marked by all four stages. Printed are the
seconds, the model's calls, and whether both runs gave equal edges.
"""

import argparse
import asyncio
import hashlib
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

import orjson
from neo4j import AsyncGraphDatabase

from bench.children import all_alive, children, cpu_seconds
from bench.environment import environment
from bench.loopback_model import LoopbackModel, loopback_model
from cli.readers import Format, read_events
from cli.readers.items import encode_event
from deploy.local import LocalStack
from deploy.local.process import Child
from memory.events import AgentEvent
from memory.graph import Graph, Mark
from memory.records import Outgoing, Record, decode_ingested, session_key
from memory.settings import LlmProvider, Settings
from streams.admin import ensure_topics
from streams.ingest import open_ingest
from streams.intake import take_in
from streams.publisher import Publisher
from streams.topics import CONSOLIDATION, Topic

DELAY_S = 0.3
LIMIT_S = 3_600.0
#: Edge types whose keys must be equal in every run.
COMPARED = ("NEXT", "CAUSES", "SIMILAR", "MENTIONS", "SPOKEN_BY", "PART_OF")
_LOOK_EVERY_S = 0.5
_BATCH = 256
_EDGES = """
MATCH (n:Event)-[r]->(m) WHERE n.uid > $low AND n.uid < $high
RETURN collect([n.uid, type(r), m.uid, coalesce(r.kind, '')]) AS rows
"""


@dataclass(frozen=True)
class Run:
    """One measurement. `edges`: number by type; `digests`: of all keys of a type, equal when the edges are.

    `cpu_seconds`: of all workers together, while the clock ran; on a machine with fewer free cores than workers it
    bounds what more of them can give.
    """

    workers: int
    seconds: float
    cpu_seconds: float
    events: int
    calls: int
    edges: dict[str, int]
    digests: dict[str, str]


def conversations(data: Path, most: int | None) -> list[AgentEvent]:
    """Read the events of the first conversations of a LoCoMo file."""
    events = [item.event for item in read_events(str(data), Format.LOCOMO, None) if item.event is not None]
    tenants = list(dict.fromkeys(event.tenant for event in events))[:most]
    return [event for event in events if event.tenant in tenants]


async def make_durable(settings: Settings, events: Sequence[AgentEvent]) -> list[Outgoing]:
    """Take events through the fast path's own handlers; gives the records of `memory.ingested`, not yet published."""
    announced: list[Outgoing] = []
    async with open_ingest(settings) as ingest:
        for start in range(0, len(events), _BATCH):
            part = events[start : start + _BATCH]
            raw = [
                Record("agent.events", 0, start + at, 0, session_key(event.tenant, event.session), encode_event(event))
                for at, event in enumerate(part)
            ]
            valid = take_in(raw, settings).outgoing
            records = [
                Record("memory.events", 0, start + at, 0, one.key, one.value, one.headers)
                for at, one in enumerate(valid)
            ]
            announced += (await ingest.handle(records)).outgoing
    return announced


async def consolidated(graph: Graph, announced: Sequence[Outgoing], running: Sequence[Child]) -> None:
    """Wait until every announced event is marked by every stage."""
    left: dict[str, set[str]] = {}
    for outgoing in announced:
        value = decode_ingested(outgoing.value)
        left.setdefault(value.tenant, set()).update(value.ids)
    async with asyncio.timeout(LIMIT_S):
        while left:
            all_alive(running)
            for tenant in list(left):
                left[tenant] = await graph.reader(tenant).unfinished(sorted(left[tenant]), tuple(Mark))
                if not left[tenant]:
                    del left[tenant]
            await asyncio.sleep(_LOOK_EVERY_S)


async def edges_of(settings: Settings, tenants: Sequence[str]) -> tuple[dict[str, int], dict[str, str]]:
    """Count the edges of each type, and give a digest of their keys."""
    found: list[tuple[str, str]] = []
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    async with AsyncGraphDatabase.driver(settings.graph_uri, auth=auth) as driver:
        for tenant in tenants:
            answer = await driver.execute_query(_EDGES, low=f"{tenant}|", high=f"{tenant}}}")
            found += [(kind, "\t".join((a, b, detail))) for a, kind, b, detail in answer.records[0]["rows"]]
    counts: dict[str, int] = {}
    digests: dict[str, str] = {}
    for kind, keys in groupby(sorted(found), key=lambda one: one[0]):
        lines = [key for _, key in keys]
        counts[kind] = len(lines)
        digests[kind] = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    return counts, digests


async def run_with(
    events: Sequence[AgentEvent], number: int, local: Settings, model: LoopbackModel, concurrency: int
) -> Run:
    """Measure one number of workers over empty stores."""
    settings = local.model_copy(
        update={
            "llm_provider": LlmProvider.OPENAI,
            "llm_model": "loopback",
            "llm_concurrency": concurrency,
            "openai_base_url": model.url,
            "kafka_session_timeout_ms": 6_000,
            "topic_partitions": 4,
        }
    )
    await ensure_topics(settings)
    announced = await make_durable(settings, events)
    tenants = list(dict.fromkeys(event.tenant for event in events))
    calls = model.calls
    async with (
        Graph.open(settings) as graph,
        Publisher.open(settings) as publisher,
        children(settings, [CONSOLIDATION] * number, settings.data_dir) as running,
    ):
        begun_s, begun_cpu_s = time.monotonic(), cpu_seconds(running)
        await publisher.publish(Topic.MEMORY_INGESTED.name_in(settings), announced)
        await consolidated(graph, announced, running)
        seconds, cpu_s = time.monotonic() - begun_s, cpu_seconds(running) - begun_cpu_s
    edges, digests = await edges_of(settings, tenants)
    return Run(number, round(seconds, 2), round(cpu_s, 2), len(events), model.calls - calls, edges, digests)


async def _all(
    events: Sequence[AgentEvent], numbers: Sequence[int], delay_s: float, concurrency: int, folder: Path
) -> list[Run]:
    runs: list[Run] = []
    async with loopback_model(delay_s) as model:
        for at, number in enumerate(numbers):
            local = LocalStack(folder / f"run-{at}")
            local.__enter__()  # on this thread: its servers end with it
            try:
                runs.append(await run_with(events, number, local.settings, model, concurrency))
            finally:
                local.__exit__(None, None, None)
            sys.stderr.write(f"{number} workers: {runs[-1].seconds:.1f} s, {runs[-1].calls} calls\n")
    return runs


def differing(one: Run, other: Run) -> list[str]:
    """Give the edge types whose edges are not the same in both runs."""
    return [kind for kind in COMPARED if one.digests.get(kind) != other.digests.get(kind)]


def main() -> int:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--conversations", type=int)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--delay-ms", type=int, default=int(DELAY_S * 1_000))
    parser.add_argument("--llm-concurrency", type=int, default=1, help="calls that one worker has open at a time")
    given = parser.parse_args()
    events = conversations(given.data, given.conversations)
    with tempfile.TemporaryDirectory(prefix="magma-scale-") as folder:
        runs = asyncio.run(_all(events, given.workers, given.delay_ms / 1_000, given.llm_concurrency, Path(folder)))
    first, last = runs[0], runs[-1]
    report = {
        "environment": environment().model_dump(),
        "delay_ms": given.delay_ms,
        "llm_concurrency": given.llm_concurrency,
        "runs": [asdict(run) for run in runs],
        "ratio": round(last.seconds / first.seconds, 3),
        "calls_per_event": round(last.calls / last.events, 3),
        "differing": differing(first, last),
    }
    sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
