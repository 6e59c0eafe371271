"""An erasure may stop anywhere and others may write meanwhile: chains stay whole, nothing is lost, counts are right."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memory.check import Rule, check
from memory.erasure import Erasure, Scope
from memory.errors import StoreUnavailable
from memory.graph.erasing import GraphEraser
from tests.erasure.remembered import AFTER_US, Memory, event

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]

LATER_MS = AFTER_US // 1_000 + 5
#: Each is where an erasure is stopped: what is replaced, and at which of its calls.
BREAKS = {
    "before a tombstone": ("bury", 2),
    "between vectors and graph": ("remove", 2),
    "between a page and its sessions": ("rebuild", 1),
    "before the receipt": ("close", 1),
}
_CHAIN_RULES = {Rule.CHAIN_GAP, Rule.CHAIN_BRANCH, Rule.CHAIN_ORDER, Rule.SESSION_TOTALS}


async def chained(memory: Memory) -> int:
    """Look that every session is one sorted chain of its events; gives the number of events."""
    report = await check(memory.graph, memory.vectors, memory.tenant)
    assert [found for found in report.violations if found.rule in _CHAIN_RULES] == []
    found = memory.dump()
    events = found.nodes_of("Event")
    chains: dict[str, list[dict[str, Any]]] = {}
    for one in sorted(events, key=lambda node: str(node["chain"])):
        chains.setdefault(one["session"], []).append(one)
    links = {(a["uid"], b["uid"]) for chain in chains.values() for a, b in pairwise(chain)}
    assert {(line[0], line[2]) for line in map(json.loads, found.edges_of("NEXT"))} == links
    assert {node["session"] for node in found.nodes_of("Session")} == set(chains)
    for node in found.nodes_of("Session"):
        chain = chains[node["session"]]
        assert (node["events"], node["last_uid"], node["last_chain"]) == (
            len(chain),
            chain[-1]["uid"],
            chain[-1]["chain"],
        )
        assert (node["first_us"], node["last_us"]) == (chain[0]["occurred_us"], chain[-1]["occurred_us"])
    return len(events)


def stop_at(monkeypatch: pytest.MonkeyPatch, memory: Memory, where: str, call: int, stop: Callable[[], None]) -> None:
    """Stop the next erasures at the given call of one of their steps."""
    calls = []

    def stopping(honest: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def step(*given: Any, **named: Any) -> Any:
            calls.append(where)
            if len(calls) == call:
                stop()
            return await honest(*given, **named)

        return step

    if where == "bury":
        monkeypatch.setattr(memory.eraser, "_bury", stopping(memory.eraser._bury))
    else:
        monkeypatch.setattr(GraphEraser, where, stopping(getattr(GraphEraser, where)))


def break_off() -> None:
    raise StoreUnavailable("the broker went away")


async def shared_sessions(memory: Memory) -> None:
    """Two sessions in which two agents take turns: 16 events of each agent."""
    for session, base in (("s1", 0), ("s2", 100)):
        await memory.take(
            *[event(memory.tenant, base + n, session=session, agent=("planner", "runner")[n % 2]) for n in range(16)]
        )


@pytest.mark.parametrize("name", sorted(BREAKS))
async def test_an_agents_erasure_leaves_whole_chains_wherever_it_breaks_off(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    await shared_sessions(memory)
    monkeypatch.setattr("memory.graph.erasing_pages.PAGE", 3)
    with monkeypatch.context() as broken:
        stop_at(broken, memory, *BREAKS[name], stop=break_off)
        with pytest.raises(StoreUnavailable):
            await memory.erase(agent="runner")
    assert await chained(memory) >= 16
    receipt = await memory.erase(agent="runner")
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (16, 16, 16, True)
    assert await chained(memory) == 16
    assert {tuple(node["agents"]) for node in memory.dump().nodes_of("Session")} == {("planner",)}
    assert await memory.sound()


@pytest.mark.parametrize("name", ["before a tombstone", "between vectors and graph", "before the receipt"])
async def test_a_tenants_erasure_spares_what_came_after_it_wherever_it_breaks_off(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    await shared_sessions(memory)
    # said after the order, and by their own time in the middle and at the end of what it covers
    later = [{**event(memory.tenant, 50 + n), "occurred_at": f"2026-05-08T10:{n * 5:02d}:30+00:00"} for n in range(4)]
    await memory.take(*later, accepted_ms=LATER_MS)
    monkeypatch.setattr("memory.graph.erasing_pages.PAGE", 5)
    with monkeypatch.context() as broken:
        stop_at(broken, memory, *BREAKS[name], stop=break_off)
        with pytest.raises(StoreUnavailable):
            await memory.erase()
    assert await chained(memory) >= 4
    receipt = await memory.erase()
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (32, 32, 32, True)
    assert await chained(memory) == 4
    assert await memory.sound()


async def test_what_is_said_in_the_same_session_while_it_is_erased_is_neither_lost_nor_forgotten(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shared_sessions(memory)
    monkeypatch.setattr("memory.graph.erasing_pages.PAGE", 3)
    begun = asyncio.Event()
    honest = memory.eraser._bury

    async def telling(*given: Any) -> None:
        begun.set()
        await honest(*given)

    monkeypatch.setattr(memory.eraser, "_bury", telling)

    async def go_on(minutes: range) -> None:
        async with asyncio.timeout(60):
            await begun.wait()
        for minute in minutes:
            told = {**event(memory.tenant, 200 + minute), "occurred_at": f"2026-05-08T10:{minute:02d}:30+00:00"}
            await memory.take(told, accepted_ms=LATER_MS)

    async with asyncio.TaskGroup() as group:
        erasing = group.create_task(memory.erase())
        group.create_task(go_on(range(24)))  # one after the other: behind, among and before what goes
    receipt = erasing.result()
    assert (receipt.events, receipt.vectors, receipt.verified) == (32, 32, True)
    assert await chained(memory) == 24
    assert {node["session"] for node in memory.dump().nodes_of("Session")} == {"s1"}
    assert await memory.sound()


_CHILD = """
import asyncio, os, signal, sys
from memory.erasure import decode_erasure
from memory.graph import erasing_pages
from memory.graph.erasing import GraphEraser
from memory.settings import Settings
from streams.erasures import open_erase

async def main() -> None:
    erasing_pages.PAGE = 5
    honest, calls = GraphEraser.remove, []

    async def killed(*given, **named):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return await honest(*given, **named)

    GraphEraser.remove = killed
    order, settings = sys.stdin.buffer.readline(), sys.stdin.buffer.readline()
    async with open_erase(Settings.model_validate_json(settings)) as handler:
        await handler.erase(decode_erasure(order))

asyncio.run(main())
"""


async def test_a_process_that_is_killed_in_the_middle_leaves_an_erasure_that_another_ends(memory: Memory) -> None:
    await shared_sessions(memory)
    order = Erasure.of(Scope(tenant=memory.tenant), AFTER_US)
    secrets = {"graph_password": memory.settings.graph_password.get_secret_value()}
    told = json.dumps({**json.loads(memory.settings.model_dump_json(exclude_none=True)), **secrets})
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _CHILD,
        stdin=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        async with asyncio.timeout(150):
            await child.communicate(order.encode() + b"\n" + told.encode() + b"\n")
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert child.returncode == -signal.SIGKILL
    assert await chained(memory) == 22
    receipt = await memory.erase()
    assert (receipt.events, receipt.vectors, receipt.log_records, receipt.verified) == (32, 32, 32, True)
    assert memory.everything() == ""
