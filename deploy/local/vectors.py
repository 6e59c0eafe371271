"""The vectors: milvus-lite as a server, its writes serialised, in a process of its own.

The data live in `<data_dir>/vectors`. Good to about 20,000 events a tenant: each search costs time in proportion.
"""

import asyncio
import importlib.metadata
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from deploy.local.ports import LOOPBACK
from deploy.local.process import Command, server_environment
from deploy.local.server import host_and_port, require_listener
from deploy.local.services import Service
from memory.connections import milvus_options
from memory.errors import StoreUnavailable
from memory.settings import Settings

#: Rows not yet flushed cost 60 µs each in every search; the package's own default is 128 MB.
MEMTABLE_BYTES = 4_000_000

#: Run, never imported: it loads the engine.
SCRIPT = Path(__file__).with_name("vectors_server.py")


@dataclass(frozen=True)
class VectorServer:
    """Starts milvus-lite."""

    service: ClassVar[Service] = Service.VECTORS
    package: ClassVar[str] = "milvus_lite"

    data_dir: Path

    @property
    def root(self) -> Path:
        """The server's own folder."""
        return self.data_dir / "vectors"

    @property
    def version(self) -> str:
        """Name and version of the package."""
        return f"milvus-lite {importlib.metadata.version('milvus-lite')}"

    def prepare(self) -> None:
        """Make the folder."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def command(self, port: int) -> Command:
        """Give the command."""
        arguments = [sys.executable, "-P", str(SCRIPT), str(self.root), str(port)]
        return Command(arguments, server_environment(MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES=str(MEMTABLE_BYTES)))

    def settings(self, port: int) -> Mapping[str, Any]:
        """Give the address."""
        return {"milvus_uri": f"http://{LOOPBACK}:{port}"}


async def ping(settings: Settings, timeout_s: float) -> str:
    """Ask for the collections; gives the server's version."""
    await require_listener(Service.VECTORS, *host_and_port(settings.milvus_uri, 19530), timeout_s)
    return await asyncio.to_thread(_ask, settings, timeout_s)


def _ask(settings: Settings, timeout_s: float) -> str:
    from grpc import RpcError
    from pymilvus import MilvusClient
    from pymilvus.exceptions import MilvusException

    try:
        client = MilvusClient(**milvus_options(settings), timeout=timeout_s)
        try:
            client.list_collections(timeout=timeout_s)
            return str(client.get_server_version(timeout=timeout_s))
        finally:
            client.close()
    except (MilvusException, RpcError) as error:
        raise StoreUnavailable(f"Milvus at {settings.milvus_uri} does not answer: {error}") from error
