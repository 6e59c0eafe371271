"""Moving all mentions of one spelling to where they belong: between entities, or aside while it is no sure name."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Transaction
from memory.graph.entity_statements import EntityStatement
from memory.graph.entity_totals import Edge, Totals
from memory.graph.naming import Name

_KEPT = ("born",)  # what belongs to a write and not to the edge


@dataclass(frozen=True, slots=True)
class _Kind:
    """The statements of one type of edge: those of a spelling, the removal of them, and the merge at the new place."""

    read: EntityStatement
    remove: EntityStatement
    merge: EntityStatement


_MENTIONS = _Kind(EntityStatement.MENTIONS_OF_FORM, EntityStatement.MENTIONS_REMOVE, EntityStatement.MENTIONS_MERGE)
_SPOKEN = _Kind(EntityStatement.SPOKEN_OF_FORM, EntityStatement.SPOKEN_REMOVE, EntityStatement.SPOKEN_MERGE)
_MAYBE = _Kind(EntityStatement.MAYBE_OF_FORM, EntityStatement.MAYBE_REMOVE, EntityStatement.MAYBE_MERGE)


def resolved_edge(edge: Mapping[str, Any], name: Name) -> dict[str, Any]:
    """Give a mention's properties with the certainty and the rule of its spelling's resolution.

    `said` and `found_by` keep what the mention itself was found with: a spelling may stand for another entity later.
    """
    said, found_by = edge["said"], edge.get("found_by", "")
    if name.rule == "exact":
        return {**edge, "confidence": said, "rule": found_by}
    return {**edge, "confidence": min(said, name.confidence), "rule": name.rule}


async def move(transaction: Transaction, tenant: str, before: Name, after: Name) -> int:
    """Move a spelling's mentions from `before.key` to `after.key` ("": to the name itself); gives how many."""
    moved = 0
    arrived: list[Edge] = []
    held: dict[str, Totals] = {}
    for kind in (_MENTIONS, _SPOKEN) if before.key else (_MAYBE,):
        source = uid(tenant, before.key or before.form)
        found = await transaction.collected(kind.read, uid=source, form=before.form)
        if not found:
            continue
        if not arrived and after.key:
            held = await hold_entities(transaction, tenant, {after.key: (found[0][1]["surface"], found[0][1]["type"])})
        merge = (_MENTIONS.merge if kind is _MAYBE else kind.merge) if after.key else _MAYBE.merge
        await _create(transaction, merge, uid(tenant, after.key or after.form), found, after)
        await transaction.run(kind.remove, uid=source, form=before.form)
        moved += len(found)
        arrived += [_edge(after.form, properties, at) for _, properties, at, *_ in found]
    if moved and after.key:
        await add_edges(transaction, tenant, held, {after.key: arrived})
    if moved and before.key:
        await recount(transaction, tenant, before.key)
    return moved


async def hold_entities(
    transaction: Transaction, tenant: str, entities: Mapping[str, tuple[str, str]]
) -> dict[str, Totals]:
    """Make the entities that are not there, given (surface, type) by key, and hold all; gives their totals by key."""
    rows = [
        {"uid": uid(tenant, key), "tenant": tenant, "key": key, "name": surface, "type": kind}
        for key, (surface, kind) in sorted(entities.items())
    ]
    held = await transaction.collected(EntityStatement.ENTITIES_LOCK, rows=rows) if rows else []
    return {row[0][len(tenant) + 1 :]: Totals.of_row(row[1:]) for row in held}


async def add_edges(
    transaction: Transaction, tenant: str, held: Mapping[str, Totals], added: Mapping[str, Sequence[Edge]]
) -> None:
    """Count edges that were just created on entities, `held` by this transaction; an entity without any edge goes."""
    rows = [held[key].with_edges(key, edges).row(uid(tenant, key)) for key, edges in sorted(added.items()) if edges]
    if rows:
        await transaction.run(EntityStatement.ENTITIES_UPDATE, rows=rows)
    empty = [uid(tenant, key) for key, edges in sorted(added.items()) if not edges and not held[key].events]
    if empty:
        await transaction.run(EntityStatement.ENTITIES_DROP, uids=empty)


async def recount(transaction: Transaction, tenant: str, key: str) -> None:
    """Let an entity that lost edges say again what those that are left say; without any it goes."""
    edges = await transaction.collected(EntityStatement.ENTITY_EDGES, uid=uid(tenant, key))
    if not edges:
        await transaction.run(EntityStatement.ENTITIES_DROP, uids=[uid(tenant, key)])
        return
    left = [
        Edge(form, surface, kind or "", weight or 0.0, at, event) for form, surface, kind, weight, at, event in edges
    ]
    totals = Totals().with_edges(key, left)
    await transaction.run(EntityStatement.ENTITIES_UPDATE, rows=[totals.row(uid(tenant, key))])


async def _create(
    transaction: Transaction, merge: EntityStatement, target: str, found: Sequence[Sequence[Any]], name: Name
) -> None:
    rows = []
    for number, (event, properties, *_) in enumerate(found):
        kept = {key: value for key, value in properties.items() if key not in _KEPT}
        # an edge of an older store says less
        kept = {"said": kept.get("confidence", 1.0), "found_by": kept.get("rule", ""), "form": name.form} | kept
        rows.append({"i": number, "a": event, "b": target, "form": name.form, "edge": resolved_edge(kept, name)})
    for part in chunks(rows):
        await transaction.collected(merge, rows=part, born=secrets.randbits(62))


def _edge(form: str, properties: Mapping[str, Any], occurred_us: int) -> Edge:
    return Edge(
        form,
        properties["surface"],
        properties.get("type", ""),
        properties.get("weight", 0.0),
        occurred_us,
        (properties.get("evidence") or [""])[0],
    )
