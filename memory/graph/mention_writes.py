"""Mentions into the graph, each at the entity that its spelling stands for; writing them twice changes nothing."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memory.errors import StoreConflict
from memory.events import uid
from memory.graph.batches import chunks, halving
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_moves import add_edges, hold_entities, resolved_edge
from memory.graph.entity_statements import EntityStatement
from memory.graph.entity_totals import Edge
from memory.graph.marks import mark_in
from memory.graph.model import Done
from memory.graph.name_reads import read_names
from memory.graph.name_writes import learn_names
from memory.graph.naming import Name, learned, weight_of
from memory.graph.rows import provenance_row
from memory.relations import Mention

#: A name is learned before it is written; when it goes in between (an erasure), it is learned again, so often.
_ATTEMPTS = 5


async def write_mentions(bolt: Bolt, tenant: str, mentions: Sequence[Mention], done: Done | None) -> list[Mention]:
    """Write mentions as `GraphWriter.write_mentions` says."""
    best: dict[tuple[str, str, bool], Mention] = {}
    for mention in mentions:
        key = (mention.key, mention.event, mention.spoken)
        known = best.get(key)
        if known is None or _rank(mention) > _rank(known):
            best[key] = mention
    added: list[Mention] = []
    parts = list(chunks(sorted(best.values(), key=lambda mention: mention.key))) or [[]]
    for number, part in enumerate(parts, start=1):
        marked = done if number == len(parts) else None

        async def write(part: Sequence[Mention], marked: Done | None = marked) -> list[Mention]:
            return await _write(bolt, tenant, part, marked)

        for written in await halving(part, write):
            added += written
    return added


def _rank(mention: Mention) -> tuple[bool, float, str]:
    return not mention.doubtful, mention.provenance.confidence, mention.surface


async def _write(bolt: Bolt, tenant: str, part: Sequence[Mention], marked: Done | None) -> list[Mention]:
    async def work(transaction: Transaction) -> list[Mention] | None:
        names = await read_names(transaction, tenant, [mention.key for mention in part], hold=True)
        if learned(names, part):
            return None
        created = await _mention(transaction, tenant, part, names)
        await mark_in(transaction, tenant, marked)
        return created

    for _ in range(_ATTEMPTS):
        written = await bolt.transact(work, what="write of mentions")
        if written is not None:
            return written
        await learn_names(bolt, tenant, part)
    raise StoreConflict(f"names of tenant {tenant} were removed as often as they were written")


async def _mention(
    transaction: Transaction, tenant: str, mentions: Sequence[Mention], names: dict[str, Name]
) -> list[Mention]:
    """Hold the entities, add the edges that are not there, then count what was added on the entities."""
    if not mentions:
        return []
    placed = [replace(mention, key=names[mention.key].key, form=mention.key) for mention in mentions]
    held = await hold_entities(
        transaction,
        tenant,
        {mention.key: (mention.surface, mention.entity_type) for mention in reversed(placed) if mention.key},
    )
    added: dict[str, list[Edge]] = {mention.key: [] for mention in placed if mention.key}
    written: list[int] = []
    for statement, chosen in (
        (EntityStatement.MENTIONS_MERGE, [m for m in enumerate(placed) if m[1].key and not m[1].spoken]),
        (EntityStatement.SPOKEN_MERGE, [m for m in enumerate(placed) if m[1].spoken]),
        (EntityStatement.MAYBE_MERGE, [m for m in enumerate(placed) if not m[1].key]),
    ):
        rows = [_row(tenant, i, mention, names[mention.form]) for i, mention in chosen]
        created = await transaction.collected(statement, rows=rows, born=secrets.randbits(62)) if rows else []
        for i, occurred_us, event in created:
            mention = placed[i]
            if mention.key:
                edge = Edge(mention.form, mention.surface, mention.entity_type, weight_of(mention), occurred_us, event)
                added[mention.key].append(edge)
                written.append(i)
    await add_edges(transaction, tenant, held, added)
    return [_given(placed[i], names[placed[i].form]) for i in sorted(set(written))]


def _row(tenant: str, number: int, mention: Mention, name: Name) -> dict[str, Any]:
    found = provenance_row(mention.provenance)
    edge = {
        **found,
        "surface": mention.surface,
        "type": mention.entity_type,
        "weight": 0.0 if mention.doubtful else weight_of(mention),
        "said": found["confidence"],
        "found_by": found.get("rule", ""),
        "form": mention.form,
    }
    if mention.doubtful:
        edge["doubtful"] = True
    return {
        "i": number,
        "a": uid(tenant, mention.event),
        "b": uid(tenant, mention.key or mention.form),
        "form": mention.form,
        "edge": resolved_edge(edge, name),
    }


def _given(mention: Mention, name: Name) -> Mention:
    """Give a mention as it is stored: with the certainty and the rule of its spelling's resolution."""
    if name.rule == "exact":
        return mention
    confidence = min(mention.provenance.confidence, name.confidence)
    return replace(mention, provenance=replace(mention.provenance, rule=name.rule, confidence=confidence))
