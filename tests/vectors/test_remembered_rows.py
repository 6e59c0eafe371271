"""What the local server remembers of flushed rows: the answers stay those of rows that it reads anew."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memory.vectors import Hit, VectorReader, Vectors
from tests.vectors.build import row, vector

pytestmark = pytest.mark.stack

Answers = list[list[tuple[str, float]]]


async def test_flushed_rows_are_found_as_unflushed_ones_and_change_with_every_write(
    vectors: Vectors, tenant: str
) -> None:
    rows = [
        row(
            tenant,
            f"e{n:02}",
            session=f"s{n % 3}",
            occurred_us=n,
            keywords=f"deploy payment {'servic' * (n % 2)} run{n}",
            entities=("payments",) if n % 4 else ("checkout",),
            vector=vector(1, n / 7),
        )
        for n in range(30)
    ]
    await vectors.upsert(rows)
    reader = vectors.reader(tenant)
    unflushed = await answers(reader)
    await flush(vectors)
    assert_same(await answers(reader), unflushed)
    assert_same(await answers(reader), unflushed)  # and as it was remembered

    await vectors.writer(tenant).delete(["e00", "e05"])
    pending = await answers(reader)
    assert not {"e00", "e05"} & ids(pending)
    await flush(vectors)
    assert not {"e00", "e05"} & ids(await answers(reader))

    await vectors.upsert([row(tenant, "e01", session="s9", keywords="moved", vector=vector(0, 0, 1))])
    await vectors.upsert([row(tenant, "e05", keywords="again", vector=vector(0, 0, 1))])
    await flush(vectors)
    nearest = await reader.nearest(vector(0, 0, 1), 2, bare=True)
    assert {hit.id for hit in nearest} == {"e01", "e05"}
    assert [hit.id for hit in await reader.keywords("moved", 5, bare=True)] == ["e01"]
    assert [hit.id for hit in await reader.keywords("run1", 5, bare=True)] == []
    assert [hit.id for hit in await reader.nearest(vector(1), 30, session="s9")] == ["e01"]
    assert len(await reader.nearest(vector(1), 40, bare=True)) == 29


async def answers(reader: VectorReader) -> Answers:
    """Ask with every kind of filter, for ids alone and for what stands beside them."""
    asked: list[Sequence[Hit]] = [
        await reader.nearest(vector(1), 10, bare=True),
        await reader.nearest(vector(1), 40),
        await reader.nearest(vector(1), 10, session="s1"),
        await reader.nearest(vector(1), 10, start_us=5, end_us=20, bare=True),
        await reader.nearest(vector(1), 40, entities=("checkout",), bare=True),
        await reader.nearest(vector(1), 40, session="s2", entities=("checkout", "other")),
        await reader.keywords("servic run7", 40, bare=True),
    ]
    # The engine weighs words among the rows that a filter admits before a flush, and among all rows after it.
    filtered = await reader.keywords("servic run9", 40, session="s0", entities=("payments",))
    return [*([(hit.id, hit.score) for hit in hits] for hits in asked), [(hit.id, 1.0) for hit in filtered]]


def ids(found: Answers) -> set[str]:
    """Give every id that was found."""
    return {id_ for hits in found for id_, _ in hits}


def assert_same(found: Answers, expected: Answers) -> None:
    """Compare: scores to their last digits, and which of equal ones comes first is the server's own affair."""
    assert all(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert np.allclose([score for _, score in got], [score for _, score in wanted], atol=1e-6)
        last = wanted[-1][1]
        assert {id_ for id_, score in got if abs(score - last) > 1e-6} == {
            id_ for id_, score in wanted if abs(score - last) > 1e-6
        }


async def flush(vectors: Vectors) -> None:
    """Make a segment of what waits."""
    connection = vectors._connection
    await asyncio.to_thread(connection.blocking.flush, connection.collection, timeout=30)
