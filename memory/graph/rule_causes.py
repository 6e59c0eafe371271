"""Causes that rules give, kept equal to what the rules give now: what a late event has undone is withdrawn.

A rule reads an event and the few before it in its chain. When an event arrives late, or the rules change, the events
whose scene it stands in are read again; here the edges that were found at them are compared with those found now.
Only edges of `Origin.RULE` are withdrawn or told anew: what a producer or a model said stays.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from memory.events import uid
from memory.graph.batches import chunks
from memory.graph.causality import Key, key_of
from memory.graph.cause_statements import CauseStatement
from memory.graph.cause_writes import add, count, ends_of, lock_causes, retell
from memory.graph.driver import Bolt, Transaction
from memory.graph.marks import mark_in
from memory.graph.model import Done, Mark
from memory.graph.rows import causal_edge
from memory.graph.untold import Withdrawn, note_withdrawn
from memory.relations import CausalEdge, EdgeType, Origin, Provenance

#: Events looked at in one transaction.
_MAX_NEAR = 1_000


@dataclass(frozen=True, slots=True)
class RuleReading:
    """What rules found when they read some events of one session again.

    `sites`: the events that were read; an edge is found at the last event of its evidence. `near`: ids of the events
    that an edge found at a site can lead to. `edges`: all that was found at the sites. `new`: the event for whose sake
    they were read, at which withdrawals are told.
    """

    sites: frozenset[str]
    near: tuple[str, ...]
    edges: tuple[CausalEdge, ...]
    new: str = ""


@dataclass(slots=True)
class RuleChanges:
    """Edges that were added, and those that the rules do not give any more and that are gone."""

    added: list[CausalEdge] = field(default_factory=list)
    withdrawn: list[CausalEdge] = field(default_factory=list)


async def write_rule_causes(bolt: Bolt, tenant: str, readings: Sequence[RuleReading], done: Done | None) -> RuleChanges:
    """Write what rules found as `GraphWriter.write_rule_causes` says."""
    changes = RuleChanges()
    parts = list(chunks(readings, lambda reading: len(reading.near), most=_MAX_NEAR)) or [[]]
    for number, part in enumerate(parts, start=1):
        marked = done if number == len(parts) else None

        async def work(
            transaction: Transaction, part: Sequence[RuleReading] = part, marked: Done | None = marked
        ) -> RuleChanges:
            found = await _replace(transaction, tenant, part)
            await mark_in(transaction, tenant, marked)
            return found

        written = await bolt.transact(work, what="write of rules' causes")
        changes.added += written.added
        changes.withdrawn += written.withdrawn
    return changes


async def _replace(transaction: Transaction, tenant: str, readings: Sequence[RuleReading]) -> RuleChanges:
    near = sorted({ident for reading in readings for ident in reading.near})
    if not near:
        return RuleChanges()
    await lock_causes(transaction, tenant)
    sites = frozenset(ident for reading in readings for ident in reading.sites)
    given = {key_of(edge): edge for reading in readings for edge in reading.edges}
    stored = await _ruled(transaction, tenant, near, sites)
    gone = [edge for key, edge in stored.items() if key not in given]
    retold = [given[key] for key, edge in stored.items() if key in given and _differs(edge, given[key])]
    await _withdraw(transaction, tenant, gone)
    reader_of = {site: reading.new for reading in readings if reading.new for site in reading.sites}
    untold = [
        Withdrawn(by, EdgeType.CAUSES, edge.cause, edge.effect, edge.kind.value)
        for edge in gone
        if (by := reader_of.get(edge.provenance.evidence[-1], ""))
    ]
    await note_withdrawn(transaction, tenant, Mark.CAUSAL, untold)
    await retell(transaction, tenant, retold)
    added = await add(transaction, tenant, [edge for key, edge in given.items() if key not in stored])
    return RuleChanges(added, gone)


async def _ruled(
    transaction: Transaction, tenant: str, near: Sequence[str], sites: Collection[str]
) -> dict[Key, CausalEdge]:
    """Give the stored edges of rules that were found at the sites."""
    uids = [uid(tenant, ident) for ident in near]
    found: dict[Key, CausalEdge] = {}
    for row in await transaction.collected(CauseStatement.CAUSES_KNOWN, uids=uids):
        edge = causal_edge(row)
        evidence = edge.provenance.evidence
        if edge.provenance.origin is Origin.RULE and evidence and evidence[-1] in sites:
            found[key_of(edge)] = edge
    return found


def _differs(stored: CausalEdge, given: CausalEdge) -> bool:
    """Say whether the rules give other reasons for an edge than are stored with it."""
    return _reasons(stored.provenance) != _reasons(given.provenance)


def _reasons(provenance: Provenance) -> tuple[object, ...]:
    return (
        provenance.confidence,
        provenance.rule,
        provenance.prompt_version,
        provenance.rationale,
        provenance.evidence,
    )


async def _withdraw(transaction: Transaction, tenant: str, edges: Sequence[CausalEdge]) -> None:
    if not edges:
        return
    rows = [
        {
            "a": uid(tenant, edge.cause),
            "b": uid(tenant, edge.effect),
            "kind": edge.kind.value,
            "origin": Origin.RULE.value,
        }
        for edge in edges
    ]
    for part in chunks(rows):
        await transaction.run(CauseStatement.CAUSES_WITHDRAW, rows=part)
    await count(transaction, tenant, edges, await ends_of(transaction, tenant, edges), by=-1)
