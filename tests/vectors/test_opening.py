"""Opening: once or by many at a time, with the wrong model, without a server, after a server's restart."""

import asyncio
import logging
import time

import pytest
from pymilvus import MilvusClient

from memory.errors import EmbeddingMismatch, StoreRefused, StoreUnavailable
from memory.settings import Settings
from memory.vectors import Vectors
from memory.vectors.schema import DIM_PROPERTY, MODEL_PROPERTY, stored_embedding
from tests.vectors.build import DIM, MODEL, row, vector


@pytest.mark.stack
async def test_a_collection_opened_again_has_what_was_written(settings: Settings, tenant: str) -> None:
    async with Vectors.open(settings, model=MODEL, dim=DIM) as first:
        await first.upsert([row(tenant, "a")])
    async with Vectors.open(settings, model=MODEL, dim=DIM) as second:
        assert await second.reader(tenant).count() == 1
        assert await second.ping()


@pytest.mark.stack
async def test_many_may_open_a_new_collection_at_one_time(settings: Settings, tenant: str) -> None:
    async def open_and_write(number: int) -> None:
        async with Vectors.open(settings, model=MODEL, dim=DIM) as opened:
            await opened.upsert([row(tenant, f"e{number}")])

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(open_and_write(number))
    async with Vectors.open(settings, model=MODEL, dim=DIM) as opened:
        assert await opened.reader(tenant).count() == 4
        assert len(await opened.reader(tenant).keywords("deploy", 9)) == 4


@pytest.mark.stack
@pytest.mark.parametrize(("model", "dim"), [("another-model", DIM), (MODEL, DIM * 2)])
async def test_another_model_refuses_to_start_and_says_which_and_what_to_do(
    settings: Settings, model: str, dim: int
) -> None:
    async with Vectors.open(settings, model=MODEL, dim=DIM):
        pass
    with pytest.raises(EmbeddingMismatch) as refused:
        async with Vectors.open(settings, model=model, dim=dim):
            pass
    sentence = str(refused.value)
    assert all(word in sentence for word in (MODEL, str(DIM), model, str(dim), "magma replay"))


@pytest.mark.stack
async def test_a_collection_of_someone_else_is_left_alone(settings: Settings) -> None:
    client = MilvusClient(uri=settings.milvus_uri, timeout=10)
    try:
        await asyncio.to_thread(client.create_collection, settings.milvus_collection, dimension=DIM, timeout=10)
    finally:
        client.close()
    with pytest.raises(StoreRefused, match="no field"):
        async with Vectors.open(settings, model=MODEL, dim=DIM):
            pass


async def test_a_server_that_is_not_there_is_unavailable_soon_and_quietly(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = settings.model_copy(update={"milvus_uri": "http://127.0.0.1:1", "milvus_timeout_s": 2.0})
    started = time.monotonic()
    with caplog.at_level(logging.WARNING), pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1"):
        async with Vectors.open(nowhere, model=MODEL, dim=DIM):
            pass
    assert time.monotonic() - started < 15
    assert not [record for record in caplog.records if record.name.startswith("pymilvus")]


def test_the_model_is_read_from_either_place_a_server_keeps_it() -> None:
    assert stored_embedding({"properties": {MODEL_PROPERTY: "m", DIM_PROPERTY: "8"}}) == ("m", 8)
    described = f'{{"{MODEL_PROPERTY}": "m", "{DIM_PROPERTY}": "8"}}'
    assert stored_embedding({"properties": {}, "description": described}) == ("m", 8)
    assert stored_embedding({"properties": {}, "description": "a collection of mine"}) == ("", 0)
    assert stored_embedding({}) == ("", 0)


@pytest.mark.stack
async def test_a_released_collection_is_loaded_again_by_the_first_read(settings: Settings, tenant: str) -> None:
    async with Vectors.open(settings, model=MODEL, dim=DIM) as opened:
        await opened.upsert([row(tenant, "a")])
        client = MilvusClient(uri=settings.milvus_uri, timeout=10)
        try:
            await asyncio.to_thread(client.release_collection, settings.milvus_collection, timeout=10)
        finally:
            client.close()
        assert [hit.id for hit in await opened.reader(tenant).nearest(vector(1), 1)] == ["a"]
