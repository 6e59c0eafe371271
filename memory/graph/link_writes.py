"""Semantic and entity edges into the graph, keyed: writing them twice changes nothing."""

import secrets
from collections.abc import Sequence
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks, halving
from memory.graph.driver import Bolt, Transaction
from memory.graph.marks import mark_in
from memory.graph.model import Done
from memory.graph.rows import provenance_row
from memory.graph.statements import Statement
from memory.relations import Mention, SimilarEdge

#: Spellings kept on an entity, the first ones.
MAX_ALIASES = 32


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


async def write_mentions(bolt: Bolt, tenant: str, mentions: Sequence[Mention], done: Done | None) -> list[Mention]:
    """Write mentions as `GraphWriter.write_mentions` says."""
    best: dict[tuple[str, str, bool], Mention] = {}
    for mention in mentions:
        key = (mention.key, mention.event, mention.spoken)
        known = best.get(key)
        if known is None or mention.provenance.confidence > known.provenance.confidence:
            best[key] = mention
    added: list[Mention] = []
    parts = list(chunks(sorted(best.values(), key=lambda mention: mention.key))) or [[]]
    for number, part in enumerate(parts, start=1):
        marked = done if number == len(parts) else None

        async def write(part: Sequence[Mention], marked: Done | None = marked) -> list[Mention]:
            async def work(transaction: Transaction) -> list[Mention]:
                created = await _mention(transaction, tenant, part)
                await mark_in(transaction, tenant, marked)
                return created

            return await bolt.transact(work, what="write of mentions")

        for written in await halving(part, write):
            added += written
    return added


async def _mention(transaction: Transaction, tenant: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Hold the entities, add the edges that are not there, then count what was added on the entities."""
    if not mentions:
        return []
    entities: dict[str, dict[str, Any]] = {}
    for mention in mentions:
        row = {"tenant": tenant, "key": mention.key, "name": mention.surface, "type": mention.entity_type}
        entities.setdefault(uid(tenant, mention.key), row)
    locked = await transaction.collected(
        Statement.ENTITIES_LOCK, rows=[{"uid": key, **entities[key]} for key in sorted(entities)]
    )
    created: list[tuple[int, int]] = []
    for statement, spoken in ((Statement.MENTIONS_MERGE, False), (Statement.SPOKEN_MERGE, True)):
        rows = [
            {
                "i": i,
                "a": uid(tenant, mention.event),
                "b": uid(tenant, mention.key),
                "edge": {"surface": mention.surface, **provenance_row(mention.provenance)},
            }
            for i, mention in enumerate(mentions)
            if mention.spoken is spoken
        ]
        created += [(i, occurred_us) for i, occurred_us in await _merge(transaction, statement, rows)]
    by_entity: dict[str, list[tuple[Mention, int]]] = {}
    for i, occurred_us in dict(created).items():
        by_entity.setdefault(uid(tenant, mentions[i].key), []).append((mentions[i], occurred_us))
    await _count(transaction, locked, by_entity)
    return [mentions[i] for i in sorted(dict(created))]


async def _count(
    transaction: Transaction, locked: Sequence[Sequence[Any]], by_entity: dict[str, list[tuple[Mention, int]]]
) -> None:
    updates: list[dict[str, Any]] = []
    orphans: list[str] = []
    for entity_uid, entity_type, aliases, events, first_us, last_us in locked:
        added = by_entity.get(entity_uid, [])
        if not added:
            if not events:  # none of its events is stored (any more)
                orphans.append(entity_uid)
            continue
        times = [occurred_us for _, occurred_us in added]
        spellings = dict.fromkeys([*aliases, *(mention.surface for mention, _ in added)])
        entity = {
            "events": events + len(added),
            "aliases": list(spellings)[:MAX_ALIASES],
            "type": entity_type or next((mention.entity_type for mention, _ in added if mention.entity_type), ""),
            "first_us": min(times) if first_us is None else min(first_us, *times),
            "last_us": max(times) if last_us is None else max(last_us, *times),
        }
        updates.append({"uid": entity_uid, "entity": entity})
    if updates:
        await transaction.run(Statement.ENTITIES_UPDATE, rows=updates)
    if orphans:
        await transaction.run(Statement.ENTITIES_DROP, uids=orphans)


async def _merge(transaction: Transaction, statement: Statement, rows: Sequence[dict[str, Any]]) -> list[Any]:
    """Merge edges under a number that is this attempt's own; give what the statement collects of those it created."""
    if not rows:
        return []
    return await transaction.collected(statement, rows=rows, born=secrets.randbits(62))
