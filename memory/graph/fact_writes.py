"""Facts into the graph, and the supersessions that follow: a function of the set of facts, whatever their order.

A slot remembers its last statements, so that a new one costs the same however many there are; only one that is older
than all of those reads the whole slot.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memory.events import uid
from memory.facts import Fact, Said, Supersession, superseding
from memory.graph.batches import chunks, halving
from memory.graph.chain import time_key
from memory.graph.driver import Bolt, Transaction
from memory.graph.fact_statements import FactStatement
from memory.graph.model import Mark
from memory.graph.rows import provenance_row
from memory.graph.untold import Withdrawn, note_withdrawn
from memory.relations import EdgeType, Origin, Provenance

#: Statements that a slot remembers beside its edges.
MAX_RECENT = 64

Pair = tuple[str, str]


@dataclass(slots=True)
class _Slot:
    """A slot that is held: how many statements it has, the last of them, and those that this transaction added."""

    subject: str
    attribute: str
    said: int
    recent: list[Said]
    added: list[Said]

    @property
    def kind(self) -> str:
        return f"{self.subject}|{self.attribute}"


async def write_facts(bolt: Bolt, tenant: str, facts: Sequence[Fact]) -> list[Supersession]:
    """Write facts as `GraphWriter.write_facts` says."""
    first: dict[Pair, Fact] = {}
    for fact in facts:
        first.setdefault((fact.slot, fact.event), fact)
    changed: list[Supersession] = []
    for part in chunks([first[key] for key in sorted(first)]):

        async def write(rows: Sequence[Fact]) -> list[Supersession]:
            async def work(transaction: Transaction) -> list[Supersession]:
                return await _write(transaction, tenant, rows)

            return await bolt.transact(work, what="write of facts")

        for written in await halving(part, write):
            changed += written
    return changed


async def relearn_facts(bolt: Bolt, tenant: str, slots: Sequence[str]) -> list[Supersession]:
    """Decide about whole slots again as `GraphWriter.relearn_facts` says."""
    changed: list[Supersession] = []
    for name in sorted(set(slots)):

        async def work(transaction: Transaction, name: str = name) -> list[Supersession]:
            return await relearn_slot_in(transaction, tenant, name)

        changed += await bolt.transact(work, what="learning of facts again")
    return changed


async def relearn_slot_in(transaction: Transaction, tenant: str, name: str) -> list[Supersession]:
    """Decide about a whole slot again within a transaction; a slot without statements goes."""
    subject, _, attribute = name.rpartition("|")
    held = await _hold(transaction, tenant, {name: (subject, attribute)})
    slot = held[name]
    now = await _all(transaction, tenant, name)
    if not now:
        await transaction.run(FactStatement.SLOTS_DROP, uids=[uid(tenant, name)])
        return []
    uids = [uid(tenant, said.event) for said in now]
    stored = await transaction.collected(FactStatement.SUPERSEDES_OF, uids=uids, kind=name)
    found = await _link(transaction, tenant, slot, {(a, b) for a, b in stored}, superseding(now))
    await _remember(transaction, tenant, {name: (len(now), now)})
    return found


async def _write(transaction: Transaction, tenant: str, facts: Sequence[Fact]) -> list[Supersession]:
    slots = await _hold(transaction, tenant, {fact.slot: (fact.subject, fact.attribute) for fact in facts})
    rows = [
        {
            "i": number,
            "a": uid(tenant, fact.event),
            "b": uid(tenant, fact.slot),
            "edge": {"value": fact.value, "sign": fact.sign, **provenance_row(fact.provenance)},
        }
        for number, fact in enumerate(facts)
    ]
    created = await transaction.collected(FactStatement.STATES_MERGE, rows=rows, born=secrets.randbits(62))
    for number, occurred_us, sequence, event in created:
        fact = facts[number]
        slots[fact.slot].added.append(Said(_place(occurred_us, sequence), event, fact.sign))
    changed: list[Supersession] = []
    remembered: dict[str, tuple[int, list[Said]]] = {}
    for name, slot in sorted(slots.items()):
        if not slot.added:
            continue
        total = slot.said + len(slot.added)
        before = slot.recent
        if slot.said > len(before) and min(slot.added, key=_order).place <= before[0].place:
            new = {said.event for said in slot.added}
            before = [said for said in await _all(transaction, tenant, name) if said.event not in new]
        now = sorted([*before, *slot.added], key=_order)
        found = await _link(transaction, tenant, slot, superseding(before), superseding(now))
        gone = [
            Withdrawn(slot.added[0].event, EdgeType.SUPERSEDES, one.newer, one.older, slot.kind)
            for one in found
            if one.withdrawn
        ]
        await note_withdrawn(transaction, tenant, Mark.ENTITIES, gone)
        changed += found
        remembered[name] = (total, now)
    await _remember(transaction, tenant, remembered)
    empty = [uid(tenant, name) for name, slot in sorted(slots.items()) if not slot.said and not slot.added]
    if empty:
        await transaction.run(FactStatement.SLOTS_DROP, uids=empty)
    return changed


async def _hold(transaction: Transaction, tenant: str, slots: Mapping[str, tuple[str, str]]) -> dict[str, _Slot]:
    rows = [
        {"uid": uid(tenant, name), "tenant": tenant, "subject": subject, "attribute": attribute}
        for name, (subject, attribute) in sorted(slots.items())
    ]
    held = await transaction.collected(FactStatement.SLOTS_HOLD, rows=rows)
    found = {}
    for stored, said, recent in held:
        name = stored[len(tenant) + 1 :]
        found[name] = _Slot(*slots[name], said, [Said(*one) for one in orjson.loads(recent)], [])
    return found


async def _all(transaction: Transaction, tenant: str, slot: str) -> list[Said]:
    rows = await transaction.collected(FactStatement.STATES_INTO, uid=uid(tenant, slot))
    return sorted((Said(_place(us, sequence), event, sign) for us, sequence, event, sign in rows), key=_order)


async def _link(
    transaction: Transaction, tenant: str, slot: _Slot, before: set[Pair], now: set[Pair]
) -> list[Supersession]:
    """Make the edges of a slot those of `now`; gives what was added and withdrawn, in a stable order."""
    if before == now:
        return []
    gone = [
        {"a": uid(tenant, newer), "b": uid(tenant, older), "kind": slot.kind} for newer, older in sorted(before - now)
    ]
    for part in chunks(gone):
        await transaction.run(FactStatement.SUPERSEDES_REMOVE, rows=part)
    said = await _values(transaction, tenant, slot.kind, {event for pair in before ^ now for event in pair})
    told = [
        _supersession(slot, pair, said, withdrawn=pair in before)
        for pair in sorted(before ^ now)
        if said.keys() >= set(pair)
    ]
    rows = [_edge_row(tenant, slot.kind, number, one) for number, one in enumerate(told) if not one.withdrawn]
    for part in chunks(rows):
        await transaction.collected(FactStatement.SUPERSEDES_MERGE, rows=part, born=secrets.randbits(62))
    return told


async def _values(
    transaction: Transaction, tenant: str, slot: str, events: Iterable[str]
) -> dict[str, tuple[Mapping[str, Any], int]]:
    rows = [{"uid": uid(tenant, event), "slot": uid(tenant, slot)} for event in sorted(events)]
    found: dict[str, tuple[Mapping[str, Any], int]] = {}
    for part in chunks(rows):
        for event, properties, ingested_us in await transaction.collected(FactStatement.STATES_OF, rows=part):
            found[event] = (properties, ingested_us)
    return found


async def _remember(transaction: Transaction, tenant: str, slots: Mapping[str, tuple[int, list[Said]]]) -> None:
    rows = [
        {
            "uid": uid(tenant, name),
            "said": total,
            "recent": orjson.dumps([[one.place, one.event, one.sign] for one in said[-MAX_RECENT:]]).decode(),
        }
        for name, (total, said) in sorted(slots.items())
    ]
    if rows:
        await transaction.run(FactStatement.SLOTS_SET, rows=rows)


def _supersession(
    slot: _Slot, pair: Pair, said: Mapping[str, tuple[Mapping[str, Any], int]], *, withdrawn: bool
) -> Supersession:
    (new, new_us), (old, old_us) = said[pair[0]], said[pair[1]]
    surer, weaker = sorted((new, old), key=lambda one: -float(one["confidence"]))
    provenance = Provenance(
        origin=Origin(weaker["origin"]),
        confidence=float(weaker["confidence"]),
        created_us=max(new_us, old_us),
        rule=weaker.get("rule", "") or surer.get("rule", ""),
        model=weaker.get("model", ""),
        prompt_version=weaker.get("prompt_version", ""),
        evidence=pair,
    )
    return Supersession(
        pair[0], pair[1], slot.subject, slot.attribute, old["value"], new["value"], provenance, withdrawn
    )


def _edge_row(tenant: str, kind: str, number: int, one: Supersession) -> dict[str, Any]:
    edge = {"subject": one.subject, "attribute": one.attribute, "old": one.old, "new": one.new}
    return {
        "i": number,
        "a": uid(tenant, one.newer),
        "b": uid(tenant, one.older),
        "kind": kind,
        "edge": {**edge, **provenance_row(one.provenance)},
    }


def _place(occurred_us: int, sequence: int) -> str:
    return f"{time_key(occurred_us)}{sequence + 1:016x}"


def _order(said: Said) -> tuple[str, str]:
    return said.place, said.event
