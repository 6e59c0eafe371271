"""Learning spellings: what is new of them is decided under one lock a tenant, and mentions move to where they belong.

The decision reads what it depends on (`memory.graph.name_reads`), never all spellings; it is a function of the set of
spellings (`memory.identity`), so any order and any number of writers end in the same entities.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.driver import Bolt, Transaction
from memory.graph.entity_moves import move
from memory.graph.entity_statements import EntityStatement
from memory.graph.model import NameChange
from memory.graph.name_reads import MANY, glance_at_names, read_names, read_touched
from memory.graph.naming import Name, learned
from memory.identity import Known, Resolution, blocks_of, pinned_to, resolve
from memory.relations import EntityType, Mention, Origin

#: New spellings that are decided about in one transaction.
MAX_NEWS = 400
#: Types whose words are no parts of a name: only their spacing may differ.
_WHOLE = frozenset({EntityType.IDENTIFIER, EntityType.VERSION, EntityType.PATH, EntityType.SERVICE})


@dataclass(frozen=True, slots=True)
class Why:
    """Who changes names, and why: it goes into the history. `at_us`: UTC microseconds."""

    origin: Origin
    at_us: int
    author: str = ""
    reason: str = ""
    confidence: float | None = None
    prompt_version: str = ""


async def learn_names(bolt: Bolt, tenant: str, mentions: Sequence[Mention]) -> list[NameChange]:
    """Learn names as `GraphWriter.learn_names` says."""
    by_form: dict[str, list[Mention]] = {}
    for mention in mentions:
        by_form.setdefault(mention.key, []).append(mention)
    news = sorted(learned(await glance_at_names(bolt, tenant, sorted(by_form)), mentions))
    changes: list[NameChange] = []
    for start in range(0, len(news), MAX_NEWS):
        part = [mention for form in news[start : start + MAX_NEWS] for mention in by_form[form]]

        async def work(transaction: Transaction, part: Sequence[Mention] = part) -> list[NameChange]:
            serial = await hold_tenant(transaction, tenant)
            known = await read_names(transaction, tenant, sorted({mention.key for mention in part}))
            taught = learned(known, part)
            why = Why(Origin.RULE, max(mention.provenance.created_us for mention in part))
            return await settle(transaction, tenant, taught, why, serial)

        changes += await bolt.transact(work, what="learning of names")
    return changes


async def hold_tenant(transaction: Transaction, tenant: str) -> int:
    """Exclude every other decision about the tenant's names; gives a number that only rises."""
    return int(await transaction.value(EntityStatement.NAMES_LOCK, uid=f"{tenant}|names"))


async def settle(
    transaction: Transaction,
    tenant: str,
    news: Mapping[str, Name],
    why: Why,
    serial: int,
    *,
    gone: Mapping[str, Name] | None = None,
) -> list[NameChange]:
    """Decide again about everything that the new names touch, and move the mentions that belong elsewhere now.

    `gone`: names that are forgotten; what they touched is decided again without them.
    """
    if not news and not gone:
        return []
    touched = await read_touched(transaction, tenant, {**news, **(gone or {})}, gone=frozenset(gone or ()))
    stored, blocks = touched.stored, touched.blocks
    names = {form: name for form, name in {**stored, **news}.items() if form not in (gone or {})}
    found = await _resolved([name.known for name in names.values()])
    now = {
        form: replace(names[form], key=found[form].key, rule=found[form].rule, confidence=found[form].confidence)
        for form in touched.changing
    }
    changed = [now[form] for form in sorted(now) if now[form] != stored.get(form)]
    for part in chunks(changed):
        await transaction.run(EntityStatement.NAMES_PUT, rows=[name.row(tenant) for name in part])
    await _put_blocks(transaction, tenant, news.values(), blocks)
    changes: list[NameChange] = []
    for name in changed:
        before = stored.get(name.form)
        if before is None or before.key != name.key:
            moved = await move(transaction, tenant, before, name) if before is not None else 0
            aliased = name.key not in {"", name.form} or (before is not None and before.key not in {"", name.form})
            if aliased:
                changes.append(_change(name, before, why, moved))
    for told in chunks(changes):
        rows = [history_row(tenant, change, serial) for change in told]
        await transaction.run(EntityStatement.CHANGES_PUT, rows=rows)
    return changes


async def _resolved(names: Sequence[Known]) -> Mapping[str, Resolution]:
    if len(names) > MANY:
        return await asyncio.to_thread(resolve, names)
    return resolve(names)


async def _put_blocks(
    transaction: Transaction, tenant: str, news: Iterable[Name], blocks: Mapping[str, list[str]]
) -> None:
    """Put the new names where those that may touch them look."""
    changed: dict[str, list[str]] = {}
    for name in news:
        known = name.known
        if not known.sure and " " in known.form:
            continue  # a phrase in lower case: only the same spelling can show that it is a name
        own = blocks_of(known.form, parts=known.type not in _WHOLE)
        for block in (*own, *((pinned_to(known.bound),) if known.bound else ())):
            forms = changed.get(block) or list(blocks.get(block, ()))
            if known.form not in forms:
                changed[block] = [*forms, known.form]
    rows = [{"uid": uid(tenant, block), "forms": sorted(changed[block])} for block in sorted(changed)]
    for part in chunks(rows):
        await transaction.run(EntityStatement.BLOCKS_PUT, rows=part)


def _change(name: Name, before: Name | None, why: Why, moved: int) -> NameChange:
    return NameChange(
        form=name.form,
        before=before.key if before is not None else "",
        after=name.key,
        rule=name.rule,
        origin=why.origin,
        confidence=name.confidence if why.confidence is None else why.confidence,
        at_us=why.at_us,
        moved=moved,
        author=why.author,
        reason=why.reason,
    )


def history_row(tenant: str, change: NameChange, serial: int) -> dict[str, object]:
    """Give the node that keeps a change as history; `serial` orders the history and is the same for one decision."""
    return {
        "uid": uid(tenant, f"{serial:016x}|{change.form}"),
        "change": {
            "tenant": tenant,
            "form": change.form,
            "before": change.before,
            "after": change.after,
            "rule": change.rule,
            "origin": change.origin.value,
            "confidence": change.confidence,
            "at_us": change.at_us,
            "moved": change.moved,
            "author": change.author,
            "reason": change.reason,
            "proposed": change.proposed,
            "prompt_version": change.prompt_version,
        },
    }
