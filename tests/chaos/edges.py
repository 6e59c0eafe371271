"""Consolidation under kills: its edges beside those of a run that nobody disturbed, and what `memory.changes` told.

    python -m tests.chaos.edges --seeds 3 --events 2000

Which events are similar depends on what was stored when an event was consolidated, so for SIMILAR the two runs differ
by what arrived when, kills or not: there the invariants are proved, one edge a pair and every event finished.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson
from neo4j import AsyncGraphDatabase, GraphDatabase

from deploy.local import LocalStack
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.topics import Topic
from tests.chaos.harness import Scenario, Workers, producing, show_logs
from tests.chaos.history import History, make_history
from tests.chaos.verify import everything

#: Edges that are a function of the set of events.
EQUAL = ("NEXT", "NEXT_SESSION", "CAUSES", "MENTIONS", "SPOKEN_BY", "PART_OF", "STATES", "SUPERSEDES")
TOLD = ("CAUSES", "SIMILAR", "MENTIONS", "SPOKEN_BY", "PART_OF", "STATES", "SUPERSEDES")
#: Edges that may be taken back: what was told of them and stands no more must have been told as withdrawn.
WITHDRAWN = ("CAUSES", "SUPERSEDES")
_EDGES = """
MATCH (n:Event {tenant: $tenant})-[r]->(m) RETURN collect([type(r), n.id, m.uid, coalesce(r.kind, '')]) AS rows
"""
_SESSIONS = """
MATCH (n:Stint {tenant: $tenant})-[r:NEXT_SESSION]->(m)
RETURN collect([type(r), n.session, m.tenant + '|' + m.session, n.agent]) AS rows
"""
_LEFT = """
MATCH (n:Event) WHERE n.c_semantic AND n.c_entities AND n.c_causal AND n.c_episodes RETURN count(n) AS done
"""

Edge = tuple[str, str, str, str]


@dataclass(frozen=True)
class EdgeVerdict:
    """Counts of what is wrong; all zero when consolidation survives. `kills`: workers that died on the way.

    `stale`: edges that were told, do not stand, and were never told as withdrawn. `withdrawn`: how many were.
    `samples`: the first edges that are lost or too many.
    """

    seed: int
    kills: int
    edges: int
    lost: int
    surplus: int
    doubled: int
    untold: int
    stale: int
    withdrawn: int
    samples: tuple[Edge, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not any((self.lost, self.surplus, self.doubled, self.untold, self.stale))


@dataclass(frozen=True)
class _Seen:
    edges: Counter[Edge]
    told: set[Edge]
    withdrawn: set[Edge]
    kills: int


def run_edges(scenario: Scenario) -> EdgeVerdict:
    """Run the scenario with kills, and the same history without, each in servers of its own."""
    history = make_history(
        scenario.seed, events=scenario.events, sessions=scenario.sessions, tenants=scenario.tenants, poison=0.0
    )
    scenario = replace(scenario, consolidate=True)
    shaken = _run(scenario, history)
    calm = _run(replace(scenario, kills=0, ends=()), history)
    here = Counter({edge: count for edge, count in shaken.edges.items() if edge[0] in EQUAL})
    there = Counter({edge: count for edge, count in calm.edges.items() if edge[0] in EQUAL})
    stand = {(kind, source, target) for kind, source, target, _ in shaken.edges if kind in TOLD}
    return EdgeVerdict(
        seed=scenario.seed,
        kills=shaken.kills,
        edges=sum(shaken.edges.values()),
        lost=sum((there - here).values()),
        surplus=sum((here - there).values()),
        doubled=sum(count - 1 for count in shaken.edges.values()),
        untold=len(stand - {edge[:3] for edge in shaken.told}),
        stale=len({edge for edge in shaken.told if edge[0] in WITHDRAWN} - shaken.edges.keys() - shaken.withdrawn),
        withdrawn=len(shaken.withdrawn),
        samples=tuple(sorted([*(there - here), *(here - there)])[:20]),
    )


def _run(scenario: Scenario, history: History) -> _Seen:
    deadline_s = time.monotonic() + scenario.limit_s
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-edges-")))
        local = stack.enter_context(LocalStack(root / "data"))
        settings = local.settings.model_copy(update={"topic_prefix": f"edges{scenario.seed}."})
        asyncio.run(ensure_topics(settings))
        ledger = root / "ledger"
        ledger.touch()
        workers = Workers(settings, ledger, root, scenario)
        stack.callback(workers.stop)
        try:
            with producing(settings, history):
                while not workers.all_ends_met or _consolidated(settings) < history.good:
                    if time.monotonic() > deadline_s:
                        raise AssertionError(f"{_consolidated(settings)} of {history.good} events are consolidated")
                    workers.tend()
                    time.sleep(0.5)
        except AssertionError:
            show_logs(root)
            raise
        statuses = workers.stop()
        if any(statuses):
            raise AssertionError(f"workers left with {statuses} after SIGTERM")
        tenants = sorted({tenant for tenant, _ in history.chains})
        return asyncio.run(_seen(settings, tenants, workers.kills))


def _consolidated(settings: Settings) -> int:
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    with GraphDatabase.driver(settings.graph_uri, auth=auth) as driver:
        found = driver.execute_query(_LEFT, database_=settings.graph_database)
    return int(found.records[0]["done"])


async def _seen(settings: Settings, tenants: list[str], kills: int) -> _Seen:
    edges: Counter[Edge] = Counter()
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    async with AsyncGraphDatabase.driver(settings.graph_uri, auth=auth) as driver:
        for tenant in tenants:
            for query in (_EDGES, _SESSIONS):
                found = await driver.execute_query(query, tenant=tenant, database_=settings.graph_database)
                edges.update((kind, a, b.partition("|")[2], detail) for kind, a, b, detail in found.records[0]["rows"])
    told: set[Edge] = set()
    withdrawn: set[Edge] = set()
    async for _, value, _ in everything(settings, Topic.MEMORY_CHANGES.name_in(settings)):
        for edge in orjson.loads(value or b"{}")["edges"]:
            key = (edge["type"], edge["source"], edge["target"], edge.get("kind") or "")
            (withdrawn if edge.get("withdrawn") else told).add(key)
    return _Seen(edges, told, withdrawn, kills)


def main() -> int:
    """Run seeds one after the other; fail when one does not hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=6)
    given = parser.parse_args()
    held = True
    for seed in range(given.first, given.first + given.seeds):
        verdict = run_edges(Scenario(seed=seed, events=given.events, sessions=40, tenants=3, kills=given.kills))
        sys.stdout.write(orjson.dumps(asdict(verdict)).decode() + "\n")
        held = held and verdict.holds
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
