"""After an erasure and the stores' own compaction, no byte of it is in any file of the local stack."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cli.main import magma
from consolidators import open_handler
from deploy.local import LocalStack, Service, compact_files
from deploy.local.lock import LockHeld
from memory.embedding import make_encoder
from memory.erasure import Receipt
from memory.events import derive_id
from memory.graph import Graph
from memory.graph.extractions import _packed
from memory.settings import Settings
from memory.vectors import Vectors
from streams.admin import ensure_topics
from streams.erasures import open_erase
from streams.ingest import open_ingest
from streams.publisher import Publisher
from streams.topics import CONSOLIDATION, Topic
from tests.dump import Dump
from tests.erasure.test_erasing import Memory, a_letter, event

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

MARKER = "Xylophone4711"
GONE, KEPT = "tenant-gone", "tenant-kept"
#: What stays by design: who was forgotten, and when.
ORDERS = GONE


def files_with(root: Path, markers: tuple[bytes, ...]) -> Iterator[str]:
    """Name the files below `root` that contain one of the markers, in whatever case."""
    for file in sorted(root.rglob("*")):
        if file.is_file():
            held = file.read_bytes().lower()
            if any(marker.lower() in held for marker in markers):
                yield str(file.relative_to(root))


def marked() -> list[dict[str, object]]:
    """Give events that carry the marker wherever an event can carry a word."""
    said = [
        {
            **event(GONE, n, session=f"{MARKER} {n % 3}", agent=f"{MARKER}-agent"),
            "id": f"{MARKER}-{n}",
            "parent": f"{MARKER}-{n - 1}",
            "source": f"{MARKER}-source",
            "speaker": f"Anna {MARKER}",
            "entities": [f"{MARKER} GmbH"],
            "attributes": {MARKER: {"deep": [f"a {MARKER}"]}},
            "text": f"Because {MARKER} failed, Anna {MARKER} restarted {MARKER}-service in Berlin. ",
        }
        for n in range(24)
    ]
    said += [
        {**said[0], "id": f"{MARKER}-{n}", "kind": "state_change", "text": f"{MARKER} set to {n}"} for n in (30, 31)
    ]
    said.append({**said[0], "id": f"{MARKER}-long", "text": f"The {MARKER} is long. " * 2_000})
    return said


async def fill_and_erase(settings: Settings, data_dir: Path) -> tuple[Dump, Receipt, tuple[bytes, ...]]:
    """Remember two tenants and forget one; gives the other as it is, the receipt, and what must not be found."""
    await ensure_topics(settings)
    encoder = make_encoder(settings)
    async with AsyncExitStack() as stack:
        opened = stack.enter_async_context
        memory = Memory(
            settings,
            GONE,
            await opened(open_ingest(settings)),
            await opened(open_erase(settings)),
            await opened(Publisher.open(settings)),
            await opened(Graph.open(settings)),
            await opened(Vectors.open(settings, model=encoder.name, dim=encoder.dim)),
        )
        memory.consolidators = tuple([await opened(open_handler(stage.value, settings)) for stage in CONSOLIDATION])
        await memory.take(*[event(KEPT, n) for n in range(1, 20)])
        await memory.take(*marked())
        letter = a_letter(b'{"tenant": "' + GONE.encode() + b'", "text": "' + MARKER.encode() + b'"}', 1)
        await memory.publisher.publish_to(Topic.AGENT_EVENTS.dead_letters_in(settings), [(0, letter)])
        packed = await keep_a_reading(memory.graph)
        assert {"graph", "vectors"} <= {name.split("/")[0] for name in files_with(data_dir, (MARKER.encode(),))}
        assert list(files_with(data_dir, (packed,)))
        kept = memory.dump(KEPT)
        return kept, await memory.erase(), (MARKER.encode(), packed)


async def keep_a_reading(graph: Graph) -> bytes:
    """Keep what a model is said to have read, as it is kept: packed, so that no search for the marker would find it."""
    reading = f"{MARKER} is a service ".encode() * 9
    ident = derive_id(GONE, f"{MARKER}-source", f"{MARKER}-1")
    assert await graph.extractions(GONE).keep({MARKER: reading}, [ident], now_us=1)
    return _packed(reading).encode()


async def look_at_what_is_left(settings: Settings, kept: Dump) -> None:
    """Read, find and write on what was compacted."""
    encoder = make_encoder(settings)
    async with (
        Graph.open(settings) as graph,
        Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
        open_ingest(settings) as ingest,
        open_erase(settings) as eraser,
        Publisher.open(settings) as publisher,
    ):
        memory = Memory(settings, KEPT, ingest, eraser, publisher, graph, vectors)
        assert memory.dump() == kept
        assert memory.dump(GONE) == Dump((), (), ())
        found = await vectors.reader(KEPT).keywords("restart disk", 5, fresh=True)
        assert found
        assert await memory.sound(KEPT)
        await memory.take(event(KEPT, 1), event(KEPT, 77), log=False)  # one is known: the constraint is there again
        assert len(memory.dump(KEPT).nodes_of("Event")) == 20


def end_hard(local: LocalStack, service: Service) -> None:
    """Kill a server of this stack, so that its log of transactions stays."""
    (status,) = [one for one in local.services if one.name is service]
    assert status.pid is not None
    os.kill(status.pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while any(one.name is service and one.pid for one in local.services):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_no_file_of_the_stack_holds_what_was_erased(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LocalStack(tmp_path) as local:
        kept, receipt, markers = asyncio.run(fill_and_erase(local.settings, tmp_path))
        assert (receipt.events, receipt.vectors, receipt.verified) == (27, 27, True)
        with pytest.raises(LockHeld, match="magma down"):
            compact_files(tmp_path)
        end_hard(local, Service.GRAPH)
    assert any(name.endswith(".wal") for name in files_with(tmp_path, markers))  # not yet
    report = compact_files(tmp_path)
    assert [store.name for store in report.stores] == [Service.GRAPH, Service.VECTORS]
    assert list(files_with(tmp_path, markers)) == []
    assert list(files_with(tmp_path, (ORDERS.encode(),)))  # the order itself is remembered
    assert magma(["compact", "--data-dir", str(tmp_path)]) == 0
    assert "graph: " in capsys.readouterr().out
    with LocalStack(tmp_path) as local:
        asyncio.run(look_at_what_is_left(local.settings, kept))


def test_a_directory_without_stores_has_nothing_to_compact(tmp_path: Path) -> None:
    assert compact_files(tmp_path / "none").stores == ()
    assert not (tmp_path / "none").exists()
