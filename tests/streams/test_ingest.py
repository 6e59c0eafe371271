"""The fast path against the real stores: durable in both, written once, found again by a replay."""

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import orjson
import pytest

from memory.embedding import make_encoder
from memory.errors import StoreUnavailable
from memory.events import derive_id
from memory.graph import Graph
from memory.records import Record, decode_ingested
from memory.settings import Settings
from memory.vectors import Vectors
from streams.ingest import IngestHandler, open_ingest
from streams.intake import open_intake
from streams.prepare import prepare
from streams.replay import replay
from streams.runtime import serve_stages
from streams.topics import Stage, Topic
from tests.streams.helpers import read, send, until

pytestmark = pytest.mark.stack


def event(tenant: str, number: int, *, text: str = "", session: str = "s1") -> dict[str, object]:
    return {
        "id": f"e{number}",
        "tenant": tenant,
        "agent": "planner",
        "session": session,
        "kind": "message",
        "text": text or f"Step {number}: payments-service was restarted by Alice",
        "occurred_at": f"2026-05-08T10:{number % 60:02d}:00+00:00",
        "sequence": number,
    }


def record(value: dict[str, object], offset: int) -> Record:
    key = f"{value['tenant']}|{value['session']}".encode()
    return Record("memory.events", 0, offset, 1_700_000_000_000, key, orjson.dumps(value))


@pytest.fixture
async def handler(settings: Settings) -> AsyncIterator[IngestHandler]:
    async with open_ingest(settings) as opened:
        yield opened


async def stored(settings: Settings, tenant: str, ids: list[str]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The texts in the graph and the vectors, by id."""
    encoder = make_encoder(settings)
    async with (
        Graph.open(settings) as graph,
        Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
    ):
        nodes = await graph.reader(tenant).events(ids)
        rows = await vectors.reader(tenant).vectors(ids)
    return {ident: node.text for ident, node in nodes.items()}, rows


async def test_a_batch_is_in_both_stores_and_its_ids_are_given_out_by_session(
    settings: Settings, handler: IngestHandler, tenant: str
) -> None:
    values = [event(tenant, number, session=f"s{number % 2}") for number in range(40)]
    handled = await handler.handle([record(value, offset) for offset, value in enumerate(values)])
    ids = [derive_id(tenant, None, f"e{number}") for number in range(40)]
    texts, vectors = await stored(settings, tenant, ids)
    assert set(texts) == set(vectors) == set(ids)
    assert handled.rejected == ()
    out = {one.key: decode_ingested(one.value) for one in handled.outgoing}
    assert set(out) == {f"{tenant}|s0".encode(), f"{tenant}|s1".encode()}
    assert out[f"{tenant}|s0".encode()].ids == tuple(ids[::2])


async def test_a_batch_that_comes_again_changes_nothing_and_gives_its_ids_out_again(
    settings: Settings, handler: IngestHandler, tenant: str
) -> None:
    records = [record(event(tenant, number), number) for number in range(10)]
    first = await handler.handle(records)
    again = await handler.handle([*records, *records])
    assert again.outgoing == first.outgoing
    assert again.rejected == ()
    async with Graph.open(settings) as graph:
        counts = await graph.reader(tenant).counts()
    assert (counts.events, counts.sessions) == (10, 1)


async def test_a_crash_between_the_stores_is_mended_when_the_batch_comes_again(
    settings: Settings, handler: IngestHandler, tenant: str
) -> None:
    records = [record(event(tenant, number), number) for number in range(6)]
    async with Graph.open(settings) as graph:
        await graph.writer().write_events(prepare(records).nodes)
    handled = await handler.handle(records)
    ids = [derive_id(tenant, None, f"e{number}") for number in range(6)]
    texts, vectors = await stored(settings, tenant, ids)
    assert set(texts) == set(vectors) == set(ids)
    assert [decode_ingested(one.value).ids for one in handled.outgoing] == [tuple(ids)]


async def test_an_id_used_twice_stays_the_first_events_in_both_stores(
    settings: Settings, handler: IngestHandler, tenant: str
) -> None:
    first = record(event(tenant, 1), 1)
    await handler.handle([first])
    ident = derive_id(tenant, None, "e1")
    texts, vectors = await stored(settings, tenant, [ident])
    late = record(event(tenant, 1, text="an entirely different thing about cats"), 2)
    handled = await handler.handle([late, record(event(tenant, 2), 3)])
    (rejected,) = handled.rejected
    assert (rejected.record, rejected.error.code) == (late, "conflicting_event")
    texts_after, vectors_after = await stored(settings, tenant, [ident])
    assert texts_after == texts
    assert np.allclose(vectors_after[ident], vectors[ident])
    assert [decode_ingested(one.value).ids for one in handled.outgoing] == [(derive_id(tenant, None, "e2"),)]


async def test_a_store_that_is_away_is_a_retryable_error(settings: Settings, tenant: str) -> None:
    async with open_ingest(settings) as opened:
        opened._vectors = _Away()  # type: ignore[assignment]
        with pytest.raises(ExceptionGroup) as raised:
            await opened.handle([record(event(tenant, 1), 1)])
    assert raised.group_contains(StoreUnavailable)


class _Away:
    async def upsert(self, rows: object) -> None:
        raise StoreUnavailable("Milvus is away")


async def test_events_go_through_both_stages_and_a_replay_gives_the_same_memory(
    settings: Settings, tenant: str
) -> None:
    values = [event(tenant, number, session=f"s{number % 5}") for number in range(120)]
    bad = [{"tenant": tenant}, {**values[0], "id": "x", "text": "y" * 2_000_000}]
    await send(settings, [orjson.dumps(value) for value in [*values, *bad]])
    ids = [derive_id(tenant, None, f"e{number}") for number in range(120)]
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        served = group.create_task(serve_stages(settings, {Stage.INTAKE: open_intake, Stage.INGEST: open_ingest}, stop))
        await until(lambda: _given_out(settings, set(ids)), within_s=60)
        stop.set()
    assert served.result() == 0
    texts, vectors = await stored(settings, tenant, ids)
    assert set(texts) == set(vectors) == set(ids)
    letters = await read(settings, Topic.AGENT_EVENTS.dead_letters_in(settings))
    assert sorted(dict(letter.headers)["x-error-code"] for letter in letters) == [b"malformed_event", b"oversize_event"]

    elsewhere = settings.model_copy(update={"milvus_collection": f"{settings.milvus_collection}_again"})
    report = await replay(elsewhere, open_ingest, tenant=tenant)
    assert (report.records, report.letters) == (120, ())
    texts_again, vectors_again = await stored(elsewhere, tenant, ids)
    assert texts_again == texts
    for ident, vector in vectors.items():
        assert np.allclose(vectors_again[ident], vector, atol=1e-5)


async def _given_out(settings: Settings, ids: set[str]) -> bool:
    records = await read(settings, Topic.MEMORY_INGESTED.name_in(settings))
    return ids <= {ident for one in records for ident in decode_ingested(one.value).ids}
