"""A Milvus that is killed and comes back: nothing acknowledged is gone, and the same handle goes on."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.ports import free_port
from deploy.local.process import Child
from deploy.local.vectors import VectorServer
from memory.errors import StoreUnavailable
from memory.settings import Settings, load_settings
from memory.vectors import Vectors
from tests.vectors.build import DIM, MODEL, row, vector

pytestmark = pytest.mark.stack


class Restartable:
    """A vector server of the test's own, on one port."""

    def __init__(self, data_dir: Path) -> None:
        self._server = VectorServer(data_dir)
        self._server.prepare()
        self._port = free_port()
        self._child = self._start()
        self.settings: Settings = load_settings(
            data_dir=data_dir, milvus_timeout_s=10.0, **self._server.settings(self._port)
        )

    def _start(self) -> Child:
        return Child(self._server.command(self._port), self._server.root.parent / "vectors.log")

    def kill(self) -> None:
        """End it without a warning."""
        os.kill(self._child.pid, signal.SIGKILL)
        self._child.wait_or_kill(time.monotonic() + 10)

    def restart(self) -> None:
        """Start it again on the same data and port."""
        self._child = self._start()

    def stop(self) -> None:
        """End it in order."""
        self._child.ask_to_stop()
        self._child.wait_or_kill(time.monotonic() + 10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Restartable]:
    """Run a server."""
    running = Restartable(tmp_path)
    try:
        yield running
    finally:
        running.stop()


async def _until_it_answers(vectors: Vectors) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                await vectors.ping()
                return
            except StoreUnavailable:
                await asyncio.sleep(0.2)


async def _opened(server: Restartable) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                async with Vectors.open(server.settings, model=MODEL, dim=DIM):
                    return
            except StoreUnavailable:
                await asyncio.sleep(0.2)


async def test_after_a_kill_the_same_handle_finds_all_that_was_acknowledged(server: Restartable) -> None:
    await _opened(server)
    async with Vectors.open(server.settings, model=MODEL, dim=DIM) as vectors:
        await vectors.upsert([row("t", f"e{n}") for n in range(300)])
        server.kill()
        with pytest.raises(StoreUnavailable):
            await vectors.upsert([row("t", "while away")])
        with pytest.raises(StoreUnavailable):
            await vectors.reader("t").nearest(vector(1), 5)
        server.restart()
        await _until_it_answers(vectors)
        reader = vectors.reader("t")
        assert await reader.count() == 300
        assert len(await reader.keywords("deploy", 500)) == 300
        await vectors.upsert([row("t", "afterwards")])
        assert set(await reader.vectors(["afterwards", "e0", "while away"])) == {"afterwards", "e0"}
