"""Proves the invariants over the stores (architecture: the chain is a function of the set; nothing lost or doubled).

Walks in pages, so memory is bounded by ids, not by what they hold. Meant for a memory that rests: during writes a
finding may be one that the next moment mends.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from memory.check_sessions import SessionOrder
from memory.graph import Graph, GraphReader
from memory.graph.batches import chunks
from memory.graph.survey import Survey, SurveyedEvent
from memory.relations import EdgeType
from memory.vectors import Vectors

#: Findings kept in a report; `CheckReport.found` counts them all.
MAX_VIOLATIONS = 1_000
#: Ids named in one finding.
MAX_IDS = 20
_MAX_CYCLES = 20


class Rule(StrEnum):
    """What must hold; a violation names the rule that does not."""

    CHAIN_GAP = "chain_gap"  # an event is not linked to the one that follows it
    CHAIN_BRANCH = "chain_branch"  # an event is linked to more than one
    CHAIN_ORDER = "chain_order"  # a link leads elsewhere than to the next event, or a place contradicts its event
    SESSION_TOTALS = "session_totals"  # a session node is missing, or its number of events or its tail is wrong
    SESSION_ORDER = "session_order"  # an agent's session is not linked to the one that follows it, or has no place
    NO_VECTOR = "no_vector"  # an event of the graph is not in the vector store
    NO_EVENT = "no_event"  # a vector's event is not in the graph
    ORPHAN_ENTITY = "orphan_entity"  # no event is linked to it
    ENTITY_COUNT = "entity_count"  # its number of edges is not what it says
    MISPLACED_MENTION = "misplaced_mention"  # a mention is not where its spelling's entity is
    ORPHAN_NAME = "orphan_name"  # a spelling that no event has
    SLOT_COUNT = "slot_count"  # its number of statements is not what it says, or it has none
    SUPERSEDES_ORDER = "supersedes_order"  # an event supersedes one that is not older
    ORPHAN_EPISODE = "orphan_episode"
    EPISODE_OVERLAP = "episode_overlap"  # an event is part of more than one
    DUPLICATE_EDGE = "duplicate_edge"  # the same edge (source, type, target, kind) twice
    CAUSAL_CYCLE = "causal_cycle"
    AWAITED_ARRIVED = "awaited_arrived"  # a cause is stored, and its effect still waits for it


@dataclass(frozen=True, slots=True)
class Violation:
    """One finding. `ids`: the events (or entity keys, sessions, episodes) that it is about, at most 20."""

    rule: Rule
    ids: tuple[str, ...]
    tenant: str


@dataclass(slots=True)
class CheckReport:
    """What was walked over and what was found. `found` counts findings beyond those that are kept."""

    sessions: int = 0
    events: int = 0
    violations: list[Violation] = field(default_factory=list)
    found: int = 0

    @property
    def ok(self) -> bool:
        """Whether every rule holds."""
        return self.found == 0


async def check(
    graph: Graph,
    vectors: Vectors,
    tenant: str | None = None,
    *,
    most: int = MAX_VIOLATIONS,
    most_ids: int | None = MAX_IDS,
) -> CheckReport:
    """Check one tenant, or all that have events in the graph. Raises the stores' errors: a store away is no finding.

    `most`: findings that are kept; `most_ids`: ids kept of each, all of them when None.
    """
    report = CheckReport()
    for name in [tenant] if tenant is not None else await graph.tenants():
        await _Check(name, report, most, most_ids).run(graph.survey(name), graph.reader(name), vectors)
    return report


class _Check:
    """The walk over one tenant."""

    def __init__(self, tenant: str, report: CheckReport, most: int, most_ids: int | None) -> None:
        self._tenant = tenant
        self._report = report
        self._most = most
        self._most_ids = most_ids
        self._ids: set[str] = set()
        self._totals: dict[str, tuple[int, str]] = {}
        self._order = SessionOrder(tenant)
        self._causes: dict[str, list[str]] = {}
        self._newer: dict[str, list[str]] = {}

    async def run(self, survey: Survey, reader: GraphReader, vectors: Vectors) -> None:
        self._reader = reader
        previous: SurveyedEvent | None = None
        async for page in survey.events():
            for event in page:
                self._event(event)
                if previous is not None:
                    self._link(previous, event)
                previous = event
        if previous is not None:
            self._link(previous, None)
        await self._sessions(survey)
        await self._stores(vectors)
        await self._nodes(survey)
        await self._facts(survey)
        for cycle in cycles(self._causes):
            self._find(Rule.CAUSAL_CYCLE, cycle)
        self._report.events += len(self._ids)
        self._report.sessions += len(self._totals)

    def _event(self, event: SurveyedEvent) -> None:
        self._ids.add(event.id)
        self._order.see(event)
        number, _ = self._totals.get(event.session, (0, ""))
        self._totals[event.session] = (number + 1, event.id)
        if not event.sound:
            self._find(Rule.CHAIN_ORDER, [event.id])
        for (_, target, _), times in Counter(event.edges).items():
            if times > 1:
                self._find(Rule.DUPLICATE_EDGE, [event.id, target])
        episodes = {target for name, target, _ in event.edges if name == EdgeType.PART_OF}
        if len(episodes) > 1:
            self._find(Rule.EPISODE_OVERLAP, [event.id, *sorted(episodes)])
        caused = [target for name, target, _ in event.edges if name == EdgeType.CAUSES]
        superseded = [target for name, target, _ in event.edges if name == EdgeType.SUPERSEDES]
        if superseded:
            self._newer[event.id] = superseded
        if caused:
            self._causes[event.id] = caused

    def _link(self, event: SurveyedEvent, following: SurveyedEvent | None) -> None:
        """An event's only link leads to the event that follows it in its session; the last one has none."""
        expected = following.id if following is not None and following.session == event.session else None
        targets = {target for name, target, _ in event.edges if name == EdgeType.NEXT}
        if expected is not None and expected not in targets:
            self._find(Rule.CHAIN_GAP, [event.id, expected])
        if len(targets) > 1:
            self._find(Rule.CHAIN_BRANCH, [event.id, *sorted(targets)])
        elif targets - {expected}:
            self._find(Rule.CHAIN_ORDER, [event.id, *targets])

    async def _sessions(self, survey: Survey) -> None:
        missing = dict(self._totals)
        async for page in survey.sessions():
            for session in page:
                if missing.pop(session.session, None) != (session.events, session.last_id):
                    self._find(Rule.SESSION_TOTALS, [session.session])
        for name in missing:
            self._find(Rule.SESSION_TOTALS, [name])
        for ids in await self._order.differences(survey):
            self._find(Rule.SESSION_ORDER, ids)

    async def _stores(self, vectors: Vectors) -> None:
        without_vector = set(self._ids)
        async for page in vectors.reader(self._tenant).ids():
            strangers = [ident for ident in page if ident not in self._ids]
            without_vector.difference_update(page)
            for ident in strangers:
                self._find(Rule.NO_EVENT, [ident])
        for ident in sorted(without_vector):
            self._find(Rule.NO_VECTOR, [ident])

    async def _nodes(self, survey: Survey) -> None:
        async for entities in survey.entities():
            for key, said, edges in entities:
                if edges == 0:
                    self._find(Rule.ORPHAN_ENTITY, [key])
                elif said != edges:
                    self._find(Rule.ENTITY_COUNT, [key])
        await self._names(survey)
        async for episodes in survey.episodes():
            for ident, edges in episodes:
                if edges == 0:
                    self._find(Rule.ORPHAN_EPISODE, [ident])
        async for awaited in survey.awaited():
            for cause, effect in awaited:
                self._find(Rule.AWAITED_ARRIVED, [cause, effect])

    async def _names(self, survey: Survey) -> None:
        """Every mention is at the entity that its spelling stands for, or aside when it stands for none."""
        places: dict[str, list[str]] = {}
        async for spellings in survey.spellings():
            for key, form in spellings:
                places.setdefault(form, []).append(key)
        async for names in survey.names():
            for name in names:
                found = places.pop(name.form, [])
                if set(found) - {name.key} or (name.aside and name.key):
                    self._find(Rule.MISPLACED_MENTION, [name.form, *sorted(set(found) - {name.key})])
                elif not found and not name.aside and not name.pinned:
                    self._find(Rule.ORPHAN_NAME, [name.form])
        for form in sorted(places):
            self._find(Rule.MISPLACED_MENTION, [form, *places[form]])

    async def _facts(self, survey: Survey) -> None:
        """What supersedes is newer in event time, so nothing supersedes itself by a way round."""
        async for slots in survey.slots():
            for slot, said, edges in slots:
                if said != edges or not edges:
                    self._find(Rule.SLOT_COUNT, [slot])
        for part in chunks(sorted(self._newer)):
            older = {target for ident in part for target in self._newer[ident]}
            events = await self._reader.events([*part, *older])
            for ident in part:
                for target in self._newer[ident]:
                    if ident in events and target in events and events[ident].order <= events[target].order:
                        self._find(Rule.SUPERSEDES_ORDER, [ident, target])

    def _find(self, rule: Rule, ids: Iterable[str]) -> None:
        self._report.found += 1
        if len(self._report.violations) < self._most:
            self._report.violations.append(Violation(rule, tuple(ids)[: self._most_ids], self._tenant))


def cycles(edges: dict[str, list[str]]) -> list[list[str]]:
    """Give cycles of a directed graph that share no edge, at most 20; nothing when it has none."""
    left = {source: set(targets) for source, targets in edges.items()}
    found: list[list[str]] = []
    while len(found) < _MAX_CYCLES:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            cycle = list(reversed(error.args[1]))[:-1]  # the sorter names it against the direction of our edges
            found.append(cycle)
            for source, target in pairwise([*cycle, cycle[0]]):
                left[source].discard(target)
        else:
            break
    return found
