"""A real server with real stores and two tenants, for those who attack it."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import uvicorn

from memory import erasure
from memory.settings import Settings
from query_api.auth.caller import Scope
from query_api.service import make_app
from streams.door import open_door
from tests.query.small_memory import Said, small_memory
from tests.security.faces import make_key

SESSION = "talk/1"


@dataclass(frozen=True)
class Tenant:
    """A tenant of the service under attack. `secret` stands in its events and entities and nowhere else."""

    name: str
    key: str
    secret: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Served:
    """The service, at `port` of this machine; `ours` attacks, `theirs` is attacked.

    `orders`: whose memory was ordered to be erased, order by order. They are noted and not carried out.
    """

    port: int
    ours: Tenant
    theirs: Tenant
    settings: Settings
    orders: list[str]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> httpx.Client:
        """Give a client with our key."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.ours.key}"}, timeout=60)

    def alive(self) -> bool:
        """Say whether it answers, and our own memory is there."""
        with self.client() as client:
            answer = client.get(f"/v1/events/{self.ours.ids[0]}")
            return answer.status_code == 200 and self.ours.secret in answer.text


async def _remember(settings: Settings, keys: Path, name: str) -> Tenant:
    secret = f"zq{uuid4().hex[:14]}"
    said = [
        Said(f"e{number}", f"2026-05-08T10:0{number}:00+00:00", f"Person {secret}", f"The {secret} is safe.", SESSION)
        for number in range(4)
    ]
    async with small_memory(settings, name) as memory:
        nodes = await memory.write(*said)
        await memory.name(nodes)
        ids = tuple(node.id for node in nodes)
    return Tenant(name, make_key(keys, name, list(Scope))[1], secret, ids)


@contextmanager
def served(stack: Settings, folder: Path) -> Iterator[Served]:
    """Fill a memory with two tenants and serve it from a thread."""
    keys = folder / "keys.json"
    settings = stack.model_copy(
        update={
            "milvus_collection": f"test_{uuid4().hex[:12]}",
            "topic_prefix": f"test-{uuid4().hex[:12]}.",
            "api_keys_file": keys,
            "rate_per_s": 100_000.0,
            "rate_burst": 1_000_000,
        }
    )
    ours = asyncio.run(_remember(settings, keys, f"ours-{uuid4().hex[:8]}"))
    theirs = asyncio.run(_remember(settings, keys, f"theirs-{uuid4().hex[:8]}"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    orders: list[str] = []

    async def order(scope: erasure.Scope) -> erasure.Erasure:
        orders.append(scope.tenant)
        return erasure.Erasure.of(scope, 1)

    config = uvicorn.Config(
        make_app(settings, order=order, door=partial(open_door, settings)),
        host="127.0.0.1",
        port=port,
        http="h11",
        h11_max_incomplete_event_size=settings.http_headers_max_bytes,
        log_level="error",
        lifespan="on",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="served")
    thread.start()
    found = Served(port, ours, theirs, settings, orders)
    try:
        until_s = time.monotonic() + 60
        while not (server.started and _answers(found)):
            assert thread.is_alive()
            assert time.monotonic() < until_s, "the service did not become ready"
            time.sleep(0.05)
        yield found
    finally:
        server.should_exit = True
        thread.join(30)


def _answers(found: Served) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return found.alive()
    return False
