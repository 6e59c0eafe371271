"""Mends what `memory.check` finds, then proves it by another check.

What derives from something else is made again from it: chains and totals from a session's events, vectors from the
event nodes, counts from edges. What contradicts goes: later doubles of an edge, vectors without an event, orphans, and
of a causal cycle the inferred link of least confidence. What a producer said is never removed; a cycle that producers
alone made stays in the report.

Idempotent. Like the check it is meant for a memory that rests: a writer between its two stores looks broken to it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memory.check import CheckReport, Rule, Violation, check
from memory.embedding import Encoder
from memory.events import EventNode
from memory.graph import Graph
from memory.graph.batches import chunks
from memory.text import document_keywords, document_text
from memory.vectors import Vectors, vector_row

#: Findings that one round takes on; what is beyond comes in the next.
_MOST = 100_000
#: Rounds: a mend may show what it hid (a doubled mention gone, the entity's count is off), never more than a few deep.
_ROUNDS = 10
_EMBEDDED_AT_ONCE = 256

#: Which rules speak of a session's chain; their ids are events'.
_CHAIN = (Rule.CHAIN_GAP, Rule.CHAIN_BRANCH, Rule.CHAIN_ORDER)


@dataclass(frozen=True, slots=True)
class Repaired:
    """One finding that was mended: as the violation named it, but for a causal cycle the removed (cause, effect)."""

    rule: Rule
    ids: tuple[str, ...]
    tenant: str


@dataclass(slots=True)
class RepairReport:
    """What was mended, and what the check afterwards says."""

    repaired: list[Repaired] = field(default_factory=list)
    check: CheckReport = field(default_factory=CheckReport)

    @property
    def ok(self) -> bool:
        """Whether every rule holds now."""
        return self.check.ok


async def repair(graph: Graph, vectors: Vectors, encoder: Encoder, tenant: str | None = None) -> RepairReport:
    """Mend one tenant's memory, or all that have events in the graph; raises the stores' and the encoder's errors.

    `encoder` must be the collection's. An event is given a vector from what its node holds.
    """
    report = RepairReport()
    for _ in range(_ROUNDS):
        found = await check(graph, vectors, tenant, most=_MOST, most_ids=None)
        by_tenant: dict[str, list[Violation]] = {}
        for violation in found.violations:
            by_tenant.setdefault(violation.tenant, []).append(violation)
        mended = [
            one
            for name, violations in by_tenant.items()
            for one in await _Repair(name, graph, vectors, encoder).run(violations)
        ]
        report.repaired += mended
        if not mended:
            break
    report.check = await check(graph, vectors, tenant)
    return report


class _Repair:
    """One round over one tenant."""

    def __init__(self, tenant: str, graph: Graph, vectors: Vectors, encoder: Encoder) -> None:
        self._tenant = tenant
        self._reader = graph.reader(tenant)
        self._writer = graph.writer()
        self._mender = graph.mender(tenant)
        self._vectors = vectors
        self._encoder = encoder

    async def run(self, violations: Iterable[Violation]) -> list[Repaired]:
        """Mend in an order in which no mend spoils another; gives what was taken on."""
        ids: dict[Rule, list[tuple[str, ...]]] = {rule: [] for rule in Rule}
        for violation in violations:
            ids[violation.rule].append(violation.ids)
        mended = [
            Repaired(rule, named, self._tenant) for rule in Rule if rule != Rule.CAUSAL_CYCLE for named in ids[rule]
        ]
        await self._mender.drop_later_edges((named[0], named[1]) for named in ids[Rule.DUPLICATE_EDGE])
        hidden = await self._strangers(_flat(ids[Rule.NO_EVENT]))
        chain = {ident for rule in _CHAIN for ident in _flat(ids[rule])} | hidden
        sessions = await self._mender.put_in_place(chain)
        await self._rebuild(sessions.union(_flat(ids[Rule.SESSION_TOTALS])), ids[Rule.SESSION_ORDER])
        await self._embed(list(_flat(ids[Rule.NO_VECTOR])))
        for named in ids[Rule.EPISODE_OVERLAP]:
            await self._mender.keep_one_episode(named[0])
        await self._mender.drop_entities(_flat(ids[Rule.ORPHAN_ENTITY]))
        await self._mender.count_entities(_flat(ids[Rule.ENTITY_COUNT]))
        lost = [*ids[Rule.MISPLACED_MENTION], *ids[Rule.ORPHAN_NAME]]
        await self._writer.relearn_names(self._tenant, {form: keys for form, *keys in lost})
        await self._mender.drop_supersessions((named[0], named[1]) for named in ids[Rule.SUPERSEDES_ORDER])
        await self._writer.relearn_facts(self._tenant, sorted(set(_flat(ids[Rule.SLOT_COUNT]))))
        await self._mender.drop_episodes(_flat(ids[Rule.ORPHAN_EPISODE]))
        await self._link([named[0] for named in ids[Rule.AWAITED_ARRIVED]])
        for cycle in ids[Rule.CAUSAL_CYCLE]:
            link = await self._mender.break_cycle(cycle)
            if link is not None:
                mended.append(Repaired(Rule.CAUSAL_CYCLE, link, self._tenant))
        return mended

    async def _rebuild(self, sessions: Iterable[str], order: Iterable[tuple[str, ...]]) -> None:
        """Make sessions again from their events, then their order for each agent; `order`: as the check names it."""
        agents: dict[str, set[str]] = {session: set() for session in sessions}
        concerned: set[str] = set()
        for agent, *named in order:
            concerned.add(agent)
            for session in named:
                agents.setdefault(session, set()).add(agent)
        for session in sorted(agents):
            concerned |= await self._mender.rebuild_apart(session, agents[session])
        for agent in sorted(concerned):
            await self._mender.rebuild_agent(agent)

    async def _strangers(self, idents: Iterable[str]) -> set[str]:
        """Erase vectors whose event is not in the graph; gives those whose event is, where no walk passes it."""
        hidden: set[str] = set()
        for part in chunks(list(idents)):
            stored = await self._reader.event_ids_among(part)
            hidden |= stored
            await self._vectors.writer(self._tenant).delete([ident for ident in part if ident not in stored])
        return hidden

    async def _embed(self, idents: list[str]) -> None:
        for start in range(0, len(idents), _EMBEDDED_AT_ONCE):
            part = await self._reader.events(idents[start : start + _EMBEDDED_AT_ONCE])
            nodes: list[EventNode] = list(part.values())
            if not nodes:
                continue
            found = await self._encoder.encode([document_text(node) for node in nodes])
            await self._vectors.upsert(
                [vector_row(node, document_keywords(node), vector) for node, vector in zip(nodes, found, strict=True)]
            )

    async def _link(self, causes: list[str]) -> None:
        """Let the arrived causes find who waits for them, as their own consolidation would have."""
        if causes:
            await self._writer.write_explicit_causes(self._tenant, [(cause, ()) for cause in sorted(set(causes))])


def _flat(named: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for ids in named:
        yield from ids
