"""Graph and Milvus over TLS: a proxy that speaks it stands before the real servers."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import numpy as np
import pytest

from deploy.local import graph as local_graph
from deploy.local import vectors as local_vectors
from memory.errors import MagmaError, StoreUnavailable
from memory.graph import Graph
from memory.settings import Settings
from memory.vectors import VectorRow, Vectors
from tests.security.authority import Authority, Identity

pytestmark = pytest.mark.stack


@asynccontextmanager
async def encrypted(target: str, identity: Identity, *, alpn: str | None = None) -> AsyncIterator[int]:
    """Speak TLS on a port of this machine and pass on what is said to the target."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.cert_file, identity.key_file)
    if alpn is not None:
        context.set_alpn_protocols([alpn])
    address = urlsplit(target)

    writers: set[asyncio.StreamWriter] = set()
    ended = asyncio.Event()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(address.hostname, address.port)
        both = {writer, inner_writer}
        writers.update(both)
        ended.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(pipe(reader, inner_writer))
            group.create_task(pipe(inner_reader, writer))
        writers.difference_update(both)
        if not writers:
            ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in tuple(writers):
            writer.close()
        if writers:
            async with asyncio.timeout(20):
                await ended.wait()


async def test_the_graph_is_reached_over_tls_and_a_stranger_in_its_place_is_not(
    stack: Settings, tmp_path: Path
) -> None:
    ours, stranger = Authority(tmp_path / "ours"), Authority(tmp_path / "stranger", "stranger")
    async with encrypted(stack.graph_uri, ours.identity("graph")) as port:
        secured = stack.model_copy(
            update={"graph_uri": f"bolt://127.0.0.1:{port}", "graph_tls_ca_file": ours.ca_file, "graph_timeout_s": 20.0}
        )
        async with Graph.open(secured) as graph:
            assert await graph.ping()
        assert await local_graph.ping(secured, 20.0)
        in_clear = secured.model_copy(update={"graph_tls_ca_file": None})
        not_theirs = secured.model_copy(update={"graph_tls_ca_file": stranger.ca_file})
        for refused in (in_clear, not_theirs):
            with pytest.raises(MagmaError):
                async with Graph.open(refused):
                    pass
    async with encrypted(stack.graph_uri, ours.identity("elsewhere", address="127.0.0.9")) as port:
        misnamed = secured.model_copy(update={"graph_uri": f"bolt://127.0.0.1:{port}"})
        with pytest.raises(MagmaError):
            async with Graph.open(misnamed):
                pass


async def test_milvus_is_reached_over_tls_by_both_clients_and_a_stranger_in_its_place_is_not(
    stack: Settings, tmp_path: Path
) -> None:
    ours, stranger = Authority(tmp_path / "ours"), Authority(tmp_path / "stranger", "stranger")
    async with encrypted(stack.milvus_uri, ours.identity("milvus"), alpn="h2") as port:
        secured = stack.model_copy(
            update={
                "milvus_uri": f"https://127.0.0.1:{port}",
                "milvus_tls_ca_file": ours.ca_file,
                "milvus_collection": f"test_{uuid4().hex[:12]}",
                "milvus_timeout_s": 20.0,
            }
        )
        row = VectorRow("t", "1", "s", "a", "a", 1, "word", (), np.asarray([1, 0, 0, 0], np.float32))
        async with Vectors.open(secured, model="m", dim=4) as vectors:
            await vectors.upsert([row])
            found = await vectors.reader("t").vectors(["1"])
            assert set(found) == {"1"}
        assert await local_vectors.ping(secured, 20.0)
    # an address of its own: within a process the client shares connections by address
    async with encrypted(stack.milvus_uri, stranger.identity("milvus"), alpn="h2") as port:
        not_theirs = secured.model_copy(update={"milvus_uri": f"https://127.0.0.1:{port}", "milvus_timeout_s": 2.0})
        with pytest.raises(StoreUnavailable):
            async with Vectors.open(not_theirs, model="m", dim=4):
                pass
