"""What searches find, in which order, and how filters narrow them."""

from typing import Any

import numpy as np
import pytest

from memory.vectors import Vectors
from tests.vectors.build import row, vector

pytestmark = pytest.mark.stack


async def test_the_nearest_by_cosine_come_first_with_what_ranks_them(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert(
        [
            row(tenant, "near", vector=vector(1, 0.1), session="s9", speaker="Grace", occurred_us=77),
            row(tenant, "far", vector=vector(0, 1)),
            row(tenant, "middle", vector=vector(1, 1)),
        ]
    )
    hits = await vectors.reader(tenant).nearest(vector(1), 2)
    assert [hit.id for hit in hits] == ["near", "middle"]
    assert hits[0].score == pytest.approx(1 / np.sqrt(1.01), abs=1e-4)
    assert (hits[0].session, hits[0].speaker, hits[0].occurred_us, hits[0].vector) == ("s9", "Grace", 77, None)


async def test_keyword_hits_are_better_the_higher_their_score(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert(
        [
            row(tenant, "both", keywords="deploy fail"),
            row(tenant, "one", keywords="deploy done well and long"),
            row(tenant, "none", keywords="lunch"),
        ]
    )
    hits = await vectors.reader(tenant).keywords("deploy fail", 10)
    assert [hit.id for hit in hits] == ["both", "one"]
    assert hits[0].score > hits[1].score > 0


async def test_no_keywords_find_nothing_and_no_hits_wanted_ask_nothing(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert([row(tenant, "a")])
    reader = vectors.reader(tenant)
    assert await reader.keywords("  ", 5) == []
    assert await reader.nearest(vector(1), 0) == []
    assert await reader.nearest_many([], 5) == []


async def test_many_searches_in_one_call_are_the_same_as_one_by_one(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert([row(tenant, f"e{n}", vector=vector(1, n)) for n in range(5)])
    reader = vectors.reader(tenant)
    asked = [vector(1), vector(0, 1), vector(1, 2)]
    together = await reader.nearest_many(asked, 3)
    assert [[hit.id for hit in hits] for hits in together] == [
        [hit.id for hit in await reader.nearest(one, 3)] for one in asked
    ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"session": "s2"}, {"b"}),
        ({"agent": "a2"}, {"c"}),
        ({"start_us": 20}, {"b", "c"}),
        ({"end_us": 20}, {"a"}),
        ({"start_us": 10, "end_us": 30}, {"a", "b"}),
        ({"entities": ["ada", "nobody"]}, {"a", "c"}),
        ({"entities": ["ada"], "agent": "a2"}, {"c"}),
        ({"session": "none such"}, set()),
    ],
)
async def test_filters_narrow_both_searches_alike(
    vectors: Vectors, tenant: str, filters: dict[str, Any], found: set[str]
) -> None:
    await vectors.upsert(
        [
            row(tenant, "a", occurred_us=10, entities=("ada",)),
            row(tenant, "b", occurred_us=20, session="s2", entities=()),
            row(tenant, "c", occurred_us=30, agent="a2", entities=("bob", "ada")),
        ]
    )
    reader = vectors.reader(tenant)
    assert {hit.id for hit in await reader.nearest(vector(1), 9, **filters)} == found
    assert {hit.id for hit in await reader.keywords("deploy", 9, **filters)} == found
    assert {hit.id for hit in await reader.nearest(vector(1), 9, fresh=True, **filters)} == found


async def test_hits_bring_their_vectors_when_asked_to(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert([row(tenant, "a", vector=vector(3, 4))])
    reader = vectors.reader(tenant)
    for hit in (
        *await reader.nearest(vector(1), 1, with_vectors=True),
        *await reader.keywords("deploy", 1, with_vectors=True),
    ):
        assert hit.vector is not None
        np.testing.assert_allclose(hit.vector, vector(3, 4), atol=1e-6)


async def test_vectors_are_read_back_by_id(vectors: Vectors, tenant: str) -> None:
    await vectors.upsert([row(tenant, "a", vector=vector(1, 2)), row(tenant, "b", vector=vector(2, 1))])
    found = await vectors.reader(tenant).vectors(["b", "missing", "a", "b"])
    assert set(found) == {"a", "b"}
    assert found["a"].dtype == np.float32
    np.testing.assert_allclose(found["a"], vector(1, 2), atol=1e-6)
    assert await vectors.reader(tenant).vectors([]) == {}


async def test_all_ids_come_page_by_page_in_order(
    vectors: Vectors, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.vectors.reader._PAGE_ROWS", 10)
    await vectors.upsert([row(tenant, f"e{n:03}") for n in range(25)] + [row(tenant + "x", "foreign")])
    reader = vectors.reader(tenant)
    pages = [page async for page in reader.ids()]
    assert [ident for page in pages for ident in page] == [f"e{n:03}" for n in range(25)]
    assert max(map(len, pages)) <= 10
    assert await reader.count() == 25
    assert [page async for page in vectors.reader("no such tenant").ids()] == []
