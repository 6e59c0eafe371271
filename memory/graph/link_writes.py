"""Semantic edges into the graph, keyed: writing them twice changes nothing."""

import secrets
from collections.abc import Sequence
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks, halving
from memory.graph.driver import Bolt, Transaction
from memory.graph.marks import mark_in
from memory.graph.model import Done
from memory.graph.statements import Statement
from memory.relations import SimilarEdge


async def write_similar(bolt: Bolt, tenant: str, edges: Sequence[SimilarEdge], done: Done | None) -> list[SimilarEdge]:
    """Write edges as `GraphWriter.write_similar` says."""
    best: dict[tuple[str, str], SimilarEdge] = {}
    for edge in edges:
        low, high = sorted((edge.low, edge.high))
        if low != high:
            best.setdefault((low, high), SimilarEdge(low, high, edge.cosine))
    added: list[SimilarEdge] = []
    parts = list(chunks([best[pair] for pair in sorted(best)])) or [[]]
    for number, part in enumerate(parts, start=1):
        marked = done if number == len(parts) else None

        async def write(part: Sequence[SimilarEdge], marked: Done | None = marked) -> list[SimilarEdge]:
            async def work(transaction: Transaction) -> list[SimilarEdge]:
                rows = [
                    {"i": i, "a": uid(tenant, edge.low), "b": uid(tenant, edge.high), "cosine": float(edge.cosine)}
                    for i, edge in enumerate(part)
                ]
                created = await _merge(transaction, Statement.SIMILAR_MERGE, rows)
                await mark_in(transaction, tenant, marked)
                return [part[i] for i in sorted(set(created))]

            return await bolt.transact(work, what="write of similar events")

        for written in await halving(part, write):
            added += written
    return added


async def _merge(transaction: Transaction, statement: Statement, rows: Sequence[dict[str, Any]]) -> list[Any]:
    """Merge edges under a number that is this attempt's own; give what the statement collects of those it created."""
    if not rows:
        return []
    return await transaction.collected(statement, rows=rows, born=secrets.randbits(62))
