"""Causal edges into the graph: acceptance and writing in one transaction that excludes the tenant's other writers.

The tenant's `Lock` node is changed first, so what was read for the decision (counts, keys, paths) still holds when the
edges are committed, and the graph stays acyclic under any number of writers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory.events import uid
from memory.graph.batches import chunks, halving
from memory.graph.causality import End, Onward, Stored, admit, firmer, inferred, key_of, screen, slack_us
from memory.graph.cause_statements import CauseStatement
from memory.graph.driver import Bolt, Transaction
from memory.graph.marks import mark_in
from memory.graph.model import Done
from memory.graph.records import decode_dates
from memory.graph.rows import causal_edge, provenance_row
from memory.graph.statements import Statement
from memory.relations import CausalEdge, CausalKind, Origin, Provenance

Pair = tuple[str, str]

#: Bounds of the search for a cycle: events looked at, and steps.
MAX_REACH = 4_096
MAX_STEPS = 64
#: Parents and waiting effects handled in one transaction.
_MAX_PAIRS = 1_000


async def write_causes(bolt: Bolt, tenant: str, edges: Sequence[CausalEdge], done: Done | None) -> list[CausalEdge]:
    """Write inferred edges as `GraphWriter.write_causes` says."""
    added: list[CausalEdge] = []
    parts = list(chunks(edges)) or [[]]
    for number, part in enumerate(parts, start=1):
        marked = done if number == len(parts) else None

        async def write(rows: Sequence[CausalEdge], marked: Done | None = marked) -> list[CausalEdge]:
            async def work(transaction: Transaction) -> list[CausalEdge]:
                taken = await add(transaction, tenant, rows)
                await mark_in(transaction, tenant, marked)
                return taken

            return await bolt.transact(work, what="write of causes")

        for written in await halving(part, write):
            added += written
    return added


async def write_explicit_causes(
    bolt: Bolt, tenant: str, effects: Sequence[tuple[str, tuple[str, ...]]], done: Done | None
) -> list[CausalEdge]:
    """Write the producers' own edges as `GraphWriter.write_explicit_causes` says."""
    added: list[CausalEdge] = []
    parts = list(chunks(effects, lambda effect: 1 + len(effect[1]), most=_MAX_PAIRS)) or [[]]
    for number, part in enumerate(parts, start=1):
        added += await _write_explicit(bolt, tenant, part, done if number == len(parts) else None)
    return added


async def _write_explicit(
    bolt: Bolt, tenant: str, effects: Sequence[tuple[str, tuple[str, ...]]], done: Done | None
) -> list[CausalEdge]:
    asked = dict.fromkeys((cause, effect) for effect, causes in effects for cause in causes if cause != effect)

    async def link(transaction: Transaction) -> tuple[list[CausalEdge], list[Pair]]:
        arrived = [uid(tenant, effect) for effect, _ in effects]
        waiting = await transaction.collected(Statement.AWAITED_FOR, uids=arrived)
        pairs = dict(asked)
        pairs.update(dict.fromkeys((ident_of(cause), ident_of(effect)) for _, cause, effect in waiting))
        stored = await _stored(transaction, tenant, pairs)
        taken = await add(
            transaction, tenant, [_explicit(pair, stored) for pair in pairs if stored.keys() >= set(pair)]
        )
        missing = [pair for pair in asked if pair[0] not in stored and pair[1] in stored]
        if missing:
            rows = [_awaited_row(tenant, pair, stored[pair[1]]) for pair in missing]
            await transaction.run(Statement.AWAITED_MERGE, rows=rows)
        if waiting:
            await transaction.run(Statement.AWAITED_REMOVE, uids=[item[0] for item in waiting])
        await mark_in(transaction, tenant, done)
        return taken, missing

    added, missing = await bolt.transact(link, what="write of explicit causes")
    if not missing:
        return added

    # The awaited causes are committed; only now look again. A cause stored before this look is linked here, one stored
    # after it finds the committed Awaited node when it is consolidated: no interleaving loses the link.
    async def look_again(transaction: Transaction) -> list[CausalEdge]:
        stored = await _stored(transaction, tenant, missing)
        found = [pair for pair in missing if stored.keys() >= set(pair)]
        if not found:
            return []
        taken = await add(transaction, tenant, [_explicit(pair, stored) for pair in found])
        uids = [_awaited_uid(tenant, pair) for pair in found]
        await transaction.run(Statement.AWAITED_REMOVE, uids=uids)
        return taken

    return added + await bolt.transact(look_again, what="write of explicit causes")


async def _stored(transaction: Transaction, tenant: str, pairs: "Sequence[Pair] | dict[Pair, None]") -> dict[str, int]:
    """Give when each stored event among `pairs` was ingested, in UTC microseconds."""
    uids = sorted({uid(tenant, ident) for pair in pairs for ident in pair})
    if not uids:
        return {}
    found = await transaction.collected(Statement.EVENTS_INGESTED, uids=uids)
    return {ident_of(stored_uid): int(ingested_us) for stored_uid, ingested_us in found}


async def lock_causes(transaction: Transaction, tenant: str) -> tuple[int, int]:
    """Exclude the tenant's other writers of causes; give the number of loose edges and their slack in microseconds."""
    [[loose, slack]] = await transaction.collected(Statement.CAUSES_LOCK, uid=_lock(tenant))
    return loose, slack


async def add(transaction: Transaction, tenant: str, edges: Sequence[CausalEdge]) -> list[CausalEdge]:
    """Decide about edges and create those taken; an edge that is stored takes the firmer of two origins."""
    if not edges:
        return []
    stored_loose, stored_slack_us = await lock_causes(transaction, tenant)
    ends = await ends_of(transaction, tenant, edges)
    effects = sorted({uid(tenant, edge.effect) for edge in edges})
    known = [causal_edge(row) for row in await transaction.collected(CauseStatement.CAUSES_KNOWN, uids=effects)]
    stored = {key_of(edge): Stored(edge.provenance.origin, edge.provenance.confidence) for edge in known}
    taken_over = firmer(edges, stored)
    await retell(transaction, tenant, taken_over)
    await count(transaction, tenant, [edge for edge in taken_over if not inferred(edge)], ends, by=-1)
    candidates = screen(edges, ends, stored.keys()).taken
    loose, slack = slack_us(candidates, ends)
    onward = Onward()
    if loose or stored_loose:
        until_us = max((ends[edge.cause].order[0] for edge in candidates), default=0) + slack + stored_slack_us
        onward = await _onward(transaction, tenant, {edge.effect for edge in candidates}, until_us)
    taken = admit(candidates, ends, onward, stored_loose=bool(stored_loose)).taken
    if not taken:
        return taken_over
    for chunk in chunks(_rows(tenant, taken)):
        await transaction.run(Statement.CAUSES_CREATE, rows=chunk)
    await count(transaction, tenant, [edge for edge in taken if inferred(edge)], ends, by=1)
    loose, slack = slack_us(taken, ends)
    if loose:
        await transaction.run(Statement.CAUSES_LOOSE, uid=_lock(tenant), loose=loose, slack_us=slack)
    return [*taken_over, *taken]


async def retell(transaction: Transaction, tenant: str, edges: Sequence[CausalEdge]) -> None:
    """Give stored edges the provenance that these have; the tenant's lock is held."""
    for part in chunks(_rows(tenant, edges)):
        await transaction.run(CauseStatement.CAUSES_RETELL, rows=part)


def _rows(tenant: str, edges: Sequence[CausalEdge]) -> list[dict[str, Any]]:
    return [
        {
            "a": uid(tenant, edge.cause),
            "b": uid(tenant, edge.effect),
            "edge": {"kind": edge.kind.value, **provenance_row(edge.provenance)},
        }
        for edge in edges
    ]


async def ends_of(transaction: Transaction, tenant: str, edges: Sequence[CausalEdge]) -> dict[str, End]:
    """Give the stored events among the ends of edges, with the counts of their inferred edges."""
    uids = sorted({uid(tenant, ident) for edge in edges for ident in (edge.cause, edge.effect)})
    ends: dict[str, End] = {}
    for found, occurred_us, sequence, dates, out, into in await transaction.collected(Statement.CAUSES_ENDS, uids=uids):
        ident = ident_of(found)
        spans = tuple((span.start_us, span.end_us) for span in decode_dates(dates))
        ends[ident] = End((occurred_us, sequence, ident), spans, out or 0, into or 0)
    return ends


async def _onward(transaction: Transaction, tenant: str, roots: set[str], until_us: int) -> Onward:
    """Load the causal edges that lead from `roots` to events no later than `until_us`, step by step.

    A path back to a cause cannot pass a later event: loose edges together lead back no further than their slack.
    """
    edges: dict[str, set[str]] = {}
    seen, frontier = set(roots), sorted(roots)
    for _ in range(MAX_STEPS):
        if not frontier:
            return Onward(edges)
        uids = [uid(tenant, ident) for ident in frontier]
        fresh: set[str] = set()
        for source, target in await transaction.collected(Statement.CAUSES_ONWARD, uids=uids, until_us=until_us):
            edges.setdefault(ident_of(source), set()).add(ident_of(target))
            fresh.add(ident_of(target))
        frontier = sorted(fresh - seen)
        seen |= fresh
        if len(seen) > MAX_REACH:
            break
    return Onward(edges, complete=False)


async def count(
    transaction: Transaction, tenant: str, edges: Sequence[CausalEdge], ends: dict[str, End], *, by: int
) -> None:
    """Count edges that became inferred ones (`by` 1) or ceased to be (-1), in the graph and in `ends`."""
    for edge in edges:
        cause = ends[edge.cause]
        ends[edge.cause] = replace(cause, causes_out=max(0, cause.causes_out + by))
        effect = ends[edge.effect]
        ends[edge.effect] = replace(effect, causes_in=max(0, effect.causes_in + by))
    rows: list[dict[str, Any]] = [
        {"uid": uid(tenant, ident), "causes_out": ends[ident].causes_out, "causes_in": ends[ident].causes_in}
        for ident in sorted({ident for edge in edges for ident in (edge.cause, edge.effect)})
    ]
    if rows:
        await transaction.run(Statement.CAUSES_DEGREES, rows=rows)


def _explicit(pair: Pair, ingested_us: Mapping[str, int]) -> CausalEdge:
    known_us = max(ingested_us[end] for end in pair)
    provenance = Provenance(Origin.PRODUCER, 1.0, known_us, rule="producer's parent", evidence=(pair[1],))
    return CausalEdge(pair[0], pair[1], CausalKind.LEADS_TO, provenance)


def _awaited_row(tenant: str, pair: Pair, since_us: int) -> dict[str, Any]:
    cause, effect = pair
    return {
        "uid": _awaited_uid(tenant, pair),
        "cause_uid": uid(tenant, cause),
        "effect_uid": uid(tenant, effect),
        "since_us": since_us,
    }


def _awaited_uid(tenant: str, pair: Pair) -> str:
    cause, effect = pair
    return f"{tenant}|{effect}|{cause}"


def _lock(tenant: str) -> str:
    return f"{tenant}|causes"


def ident_of(stored_uid: str) -> str:
    """Give the id of an event's key in the graph."""
    return stored_uid.partition("|")[2]
