"""The server is killed in the middle of writes: after its restart, writing everything again gives the same memory."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from deploy.local.graph import GraphServer
from deploy.local.ports import free_port
from deploy.local.process import Child
from memory.errors import Retryable
from memory.graph import Graph
from memory.relations import EdgeType
from memory.settings import Settings, load_settings
from tests.graph.build import chain_of, event, sorted_chain

pytestmark = pytest.mark.chaos


async def opened(settings: Settings, seconds: float = 60) -> None:
    """Wait until the server answers a query."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            async with Graph.open(settings) as graph:
                await graph.ensure_schema()
                return
        except Exception:  # not ready yet in one of several ways; the deadline ends the wait
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)


async def test_a_killed_server_loses_no_committed_batch_and_replay_gives_the_same_chain(tmp_path: Path) -> None:
    server = GraphServer(tmp_path)
    server.prepare()
    port = free_port()
    settings = load_settings(data_dir=tmp_path, **server.settings(port), graph_timeout_s=3.0)
    child = Child(server.command(port), tmp_path / "graph.log")
    nodes = [event("t", n, at=(n * 7919) % 1000, session=f"s{n % 5}") for n in range(600)]
    batches = [nodes[at : at + 20] for at in range(0, 600, 20)]
    committed: list[str] = []
    try:
        await opened(settings)
        killed = child.pid

        async def write_until_killed() -> None:
            async with Graph.open(settings) as graph:
                for number, batch in enumerate(batches):
                    if number == 12:
                        asyncio.get_running_loop().call_later(0.005, os.kill, killed, signal.SIGKILL)
                    await graph.writer().write_events(batch)
                    committed.extend(node.id for node in batch)

        with pytest.raises(Retryable):
            await write_until_killed()
        child.wait_or_kill(time.monotonic() + 5)
        child = Child(server.command(port), tmp_path / "graph.log")
        await opened(settings)
        async with Graph.open(settings) as graph:
            reader = graph.reader("t")
            assert set(committed) <= set(await reader.event_ids(limit=1_000)), "a committed batch is gone"
            for batch in batches:
                await graph.writer().write_events(batch)
            assert await chain_of(reader, [node.id for node in nodes]) == sorted_chain(nodes)
            assert (await reader.counts()).edges == {EdgeType.NEXT: 595}
            assert sum(session.events for session in await reader.sessions(limit=10)) == 600
    finally:
        child.ask_to_stop()
        child.wait_or_kill(time.monotonic() + 10)
