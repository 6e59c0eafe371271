"""Writing twice, writing what cannot be written, and erasing."""

from typing import Any

import numpy as np
import pytest

from memory.errors import MalformedEvent, OversizeEvent, Poison
from memory.vectors import VectorRow, Vectors
from memory.vectors.rows import MAX_ENTITIES
from memory.vectors.writer import BYTES_A_CALL, _chunks
from tests.vectors.build import row, vector

pytestmark = pytest.mark.stack


async def test_writing_again_changes_nothing(vectors: Vectors, tenant: str) -> None:
    rows = [row(tenant, f"e{n}", vector=vector(1, n)) for n in range(40)]
    await vectors.upsert(rows)
    reader = vectors.reader(tenant)
    before = await reader.nearest(vector(1), 40)
    await vectors.upsert(rows[::-1])
    assert await reader.count() == 40
    assert sorted(await reader.nearest(vector(1), 40), key=lambda hit: hit.id) == sorted(before, key=lambda hit: hit.id)


async def test_of_two_rows_with_one_id_the_last_stays(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert([row(tenant, "a", session="old"), row(tenant, "a", session="new")])
    hits = await vectors.reader(tenant).nearest(vector(1), 5)
    assert [(hit.id, hit.session) for hit in hits] == [("a", "new")]


async def test_nothing_is_written_when_one_row_of_a_batch_is_poison(vectors: Vectors, tenant: str) -> None:
    with pytest.raises(Poison):
        await vectors.upsert([row(tenant, "good"), row(tenant, "bad", vector=np.ones(3, dtype=np.float32))])
    assert await vectors.reader(tenant).count() == 0


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"vector": np.full(8, np.nan, dtype=np.float32)}, MalformedEvent),
        ({"speaker": "\ud800"}, MalformedEvent),
        ({"keywords": "é" * 40_000}, OversizeEvent),
        ({"session": "😀" * 257}, OversizeEvent),
        ({"entities": ("x" * 1_025,)}, OversizeEvent),
    ],
)
async def test_a_row_the_store_would_refuse_is_poison_and_named(
    vectors: Vectors, tenant: str, changes: dict[str, Any], error: type[Poison]
) -> None:
    with pytest.raises(error, match="'e1'"):
        await vectors.upsert([row(tenant, "e1", **changes)])


async def test_the_longest_names_and_texts_are_taken(vectors: Vectors) -> None:
    longest = "𝔘" * 256
    await vectors.upsert(
        [row(longest, "e" * 64, session=longest, speaker=longest, keywords="a" * 65_535, entities=(longest,) * 300)]
    )
    hits = await vectors.reader(longest).nearest(vector(1), 5, session=longest, entities=[longest])
    assert [hit.speaker for hit in hits] == [longest]
    assert MAX_ENTITIES < 300


async def test_erasing_touches_one_tenant_and_what_was_named(vectors: Vectors, tenant: str) -> None:
    other = tenant + "-other"
    await vectors.upsert(
        [
            row(tenant, "a"),
            row(tenant, "b", session="s2"),
            row(tenant, "c", agent="a2"),
            row(tenant, "d"),
            row(other, "o", session="s2", agent="a2"),
        ]
    )
    writer, reader = vectors.writer(tenant), vectors.reader(tenant)
    await writer.delete(["a", "o", "missing"])
    assert {hit.id for hit in await reader.nearest(vector(1), 9)} == {"b", "c", "d"}
    await writer.delete_session("s2")
    await writer.delete_agent("a2")
    assert {hit.id for hit in await reader.keywords("deploy", 9)} == {"d"}
    await writer.delete_tenant()
    await writer.delete_tenant()
    assert await reader.count() == 0
    assert await vectors.reader(other).count() == 1


def test_calls_are_bounded_in_rows_and_bytes() -> None:
    small = [row("t", f"e{n}") for n in range(1_100)]
    assert [len(chunk) for chunk in _chunks(small)] == [500, 500, 100]
    large: list[VectorRow] = [row("t", f"e{n}", keywords="x" * 65_000) for n in range(200)]
    chunks = list(_chunks(large))
    assert sum(map(len, chunks)) == 200
    assert all(sum(len(one.keywords) for one in chunk) <= BYTES_A_CALL for chunk in chunks)
    assert list(_chunks([])) == []
