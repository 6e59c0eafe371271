"""Reading the vector store. A reader is bound to its tenant: there is no way to ask for another's events."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np

from memory.vectors.connection import Connection
from memory.vectors.expression import Field, Where, expression, id_expression
from memory.vectors.rows import Hit, Vector

#: Most hits of one search: Milvus' own bound.
MAX_K = 16_384
#: Ids asked for in one read by key, and rows of one page.
_IDS_A_CALL = 1_000
_PAGE_ROWS = 4_000
_HIT_FIELDS = [Field.SESSION, Field.OCCURRED_US, Field.SPEAKER, Field.ENTITIES]


class VectorReader:
    """Searches one tenant's events.

    Every search takes the same filters: `session`, `agent`, [`start_us`, `end_us`) in microseconds since 1970 UTC, and
    `entities` (normal forms, at least one of which the event has). `with_vectors`: each hit brings its vector, cheaper
    than asking for it afterwards; `bare`: hits are id and score alone, cheapest of all. `fresh`: see what was written
    just now, at the cost of about 200 ms on a Milvus server; without it the newest seconds may be missing there.
    All raise `StoreUnavailable` and `StoreRefused`.
    """

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self.tenant = tenant

    async def nearest(
        self,
        vector: Vector,
        k: int,
        *,
        session: str | None = None,
        agent: str | None = None,
        start_us: int | None = None,
        end_us: int | None = None,
        entities: Sequence[str] = (),
        with_vectors: bool = False,
        bare: bool = False,
        fresh: bool = False,
    ) -> list[Hit]:
        """Give the `k` events nearest by cosine, best first."""
        where = Where(session, agent, start_us, end_us, tuple(entities))
        return (await self._search([vector], Field.VECTOR, k, where, fresh, _fields(with_vectors, bare)))[0]

    async def nearest_many(
        self,
        vectors: Sequence[Vector],
        k: int,
        *,
        session: str | None = None,
        agent: str | None = None,
        start_us: int | None = None,
        end_us: int | None = None,
        entities: Sequence[str] = (),
        with_vectors: bool = False,
        bare: bool = False,
        fresh: bool = False,
    ) -> list[list[Hit]]:
        """Give the `k` nearest events of each vector, in one call."""
        if not len(vectors):
            return []
        where = Where(session, agent, start_us, end_us, tuple(entities))
        return await self._search(list(vectors), Field.VECTOR, k, where, fresh, _fields(with_vectors, bare))

    async def keywords(
        self,
        terms: str,
        k: int,
        *,
        session: str | None = None,
        agent: str | None = None,
        start_us: int | None = None,
        end_us: int | None = None,
        entities: Sequence[str] = (),
        with_vectors: bool = False,
        bare: bool = False,
        fresh: bool = False,
    ) -> list[Hit]:
        """Give the `k` best events by BM25 for analysed terms (`memory.text.question_keywords`), best first.

        No terms find nothing, and an event without any of the terms is not found.
        """
        if not terms.strip():
            return []
        where = Where(session, agent, start_us, end_us, tuple(entities))
        return (await self._search([terms], Field.SPARSE, k, where, fresh, _fields(with_vectors, bare)))[0]

    async def vectors(self, ids: Sequence[str], *, fresh: bool = False) -> dict[str, Vector]:
        """Give the stored vectors of those ids that are this tenant's and stored."""
        found: dict[str, Vector] = {}
        unique = list(dict.fromkeys(ids))
        for start in range(0, len(unique), _IDS_A_CALL):
            rows = await self._query(
                id_expression(unique[start : start + _IDS_A_CALL]), [Field.ID, Field.TENANT, Field.VECTOR], fresh
            )
            for row in rows:
                # a read by key names no tenant, so what comes back is held against it
                if row[Field.TENANT] == self.tenant:
                    found[row[Field.ID]] = np.asarray(row[Field.VECTOR], dtype=np.float32)
        return found

    async def present(self, ids: Sequence[str]) -> set[str]:
        """Give those of `ids` that are this tenant's and stored, what was written just now included."""
        found: set[str] = set()
        for start in range(0, len(ids), _IDS_A_CALL):
            rows = await self._query(id_expression(ids[start : start + _IDS_A_CALL]), [Field.ID, Field.TENANT], True)
            found |= {row[Field.ID] for row in rows if row[Field.TENANT] == self.tenant}
        return found

    async def ids(self) -> AsyncIterator[list[str]]:
        """Give all ids of the tenant, page by page in the order of ids, complete as of the start."""
        connection = self._connection
        iterator = await connection.in_thread(
            "list",
            connection.blocking.query_iterator,
            connection.collection,
            batch_size=_PAGE_ROWS,
            filter=expression(self.tenant, Where()),
            output_fields=[Field.ID],
            consistency_level="Strong",
            timeout=connection.timeout_s,
        )
        try:
            while page := await connection.in_thread("list", iterator.next):
                yield [row[Field.ID] for row in page]
        finally:
            await connection.in_thread("list", iterator.close)

    async def count(self) -> int:
        """Give the number of the tenant's events, including what was written just now."""
        rows = await self._query(expression(self.tenant, Where()), ["count(*)"], fresh=True)
        return int(rows[0]["count(*)"])

    async def _query(self, filter_: str, fields: list[str], fresh: bool) -> list[dict[str, Any]]:
        connection = self._connection
        rows = await connection.read(
            "read",
            lambda client: client.query(
                connection.collection,
                filter=filter_,
                output_fields=fields,
                consistency_level=_consistency(fresh),
                timeout=connection.timeout_s,
            ),
        )
        return list(rows)

    async def _search(
        self, data: list[Any], field: Field, k: int, where: Where, fresh: bool, output: list[Field]
    ) -> list[list[Hit]]:
        if k <= 0:
            return [[] for _ in data]
        connection = self._connection
        k = min(k, MAX_K)
        dense = field is Field.VECTOR
        # `ef` is how far HNSW looks; the local server's FLAT looks at everything
        params = {} if connection.local or not dense else {"ef": max(64, 2 * k)}
        found = await connection.read(
            "search",
            lambda client: client.search(
                connection.collection,
                data=data,
                anns_field=field,
                filter=expression(self.tenant, where),
                limit=k,
                output_fields=output,
                search_params={"metric_type": "COSINE" if dense else "BM25", "params": params},
                consistency_level=_consistency(fresh),
                timeout=connection.timeout_s,
            ),
        )
        if output == [Field.ID]:
            return [
                [Hit(id_, _score(far, dense)) for id_, far in zip(rows.ids, rows.distances, strict=True)]
                for rows in found
            ]
        return [[_hit(row, dense) for row in rows] for rows in found]


def _score(distance: float, dense: bool) -> float:
    # the local server gives BM25 with the sign of a distance
    return float(distance) if dense else abs(float(distance))


def _hit(row: Any, dense: bool) -> Hit:
    entity = row["entity"]
    return Hit(
        id=row["id"],
        score=_score(row["distance"], dense),
        session=entity.get(Field.SESSION, ""),
        occurred_us=entity.get(Field.OCCURRED_US, 0),
        speaker=entity.get(Field.SPEAKER, ""),
        entities=tuple(entity.get(Field.ENTITIES) or ()),
        vector=None if (vector := entity.get(Field.VECTOR)) is None else np.asarray(vector, dtype=np.float32),
    )


def _fields(with_vectors: bool, bare: bool) -> list[Field]:
    fields = [Field.ID] if bare else list(_HIT_FIELDS)
    return [*fields, Field.VECTOR] if with_vectors else fields


def _consistency(fresh: bool) -> str:
    return "Strong" if fresh else "Bounded"
