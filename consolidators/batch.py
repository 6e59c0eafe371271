"""What every consolidation stage does around its own work: decode, group by tenant, isolate, publish."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar

from memory.errors import BudgetSpent, Poison
from memory.graph import Graph, Mark, SessionLink
from memory.graph.queries import MAX_WINDOW
from memory.records import (
    Changed,
    Handled,
    Ingested,
    Outgoing,
    Postponed,
    Record,
    Rejected,
    decode_ingested,
    session_key,
)
from memory.relations import EdgeType, Origin

T = TypeVar("T")

#: Tenants of one batch that are worked on at a time.
_TENANTS_AT_ONCE = 4
#: Edges in one published value: it stays far below a record's bound.
_EDGES_A_VALUE = 500
#: Events whose neighbours are read at a time.
_WINDOWS_A_QUERY = 250
#: A tenant whose budget is spent is asked about again after so long at the latest: the budget may have been raised.
_ASK_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Work:
    """The new events of one tenant: ids by session, each id once, in the order of the log."""

    tenant: str
    sessions: Mapping[str, tuple[str, ...]]

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all sessions."""
        return tuple(dict.fromkeys(ident for ids in self.sessions.values() for ident in ids))

    def without(self, sessions: Mapping[str, Any]) -> "Work":
        """Give the work that is left without some sessions."""
        return Work(self.tenant, {name: ids for name, ids in self.sessions.items() if name not in sessions})

    def parts(self, most: int) -> "Iterator[Work]":
        """Cut the work into parts of at most `most` events, in order.

        Only a session that is larger is cut: whoever is given a session's events with others cuts them as one who is
        given them alone, so that all stages, on all workers, read the same windows.
        """
        part: dict[str, tuple[str, ...]] = {}
        size = 0
        for session, ids in self.sessions.items():
            for start in range(0, len(ids), most):
                chunk = ids[start : start + most]
                if part and (size + len(chunk) > most or session in part):
                    yield Work(self.tenant, part)
                    part, size = {}, 0
                part[session] = chunk
                size += len(chunk)
        if part:
            yield Work(self.tenant, part)


@dataclass(frozen=True, slots=True)
class Change:
    """One edge that a stage added, for `memory.changes`: the session and event it was found for, and the edge."""

    session: str
    event: str
    edge: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage did for a tenant; sessions in `poisoned` got nothing and go to the dead-letter topic."""

    changes: tuple[Change, ...] = ()
    poisoned: Mapping[str, Poison] = field(default_factory=dict)


class Consolidator(Protocol):
    """The work of one stage: reads and writes of one tenant, durable and marked when it returns, idempotent."""

    mark: Mark

    async def consolidate(self, work: Work) -> Outcome:
        """Consolidate; raises `Retryable` and `Misconfigured` as the stores and the provider do."""
        ...


@dataclass(slots=True)
class _Done:
    """What became of a tenant's work so far."""

    changes: list[Change] = field(default_factory=list)
    poisoned: dict[str, Poison] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    resumes_at: datetime | None = None


class StageHandler:
    """A `Handler` over `memory.ingested`.

    `most_events`: events of a tenant that are consolidated in one go; each go is durable by itself, so a stage that
    asks a model pays for little twice when a batch has to be repeated. `at_once`: goes of a tenant that are under way
    together, never two over one session: while one waits for the model, another reads and writes.
    """

    def __init__(self, consolidator: Consolidator, graph: Graph, *, most_events: int, at_once: int = 1) -> None:
        self._consolidator = consolidator
        self._graph = graph
        self._most_events = most_events
        self._at_once = at_once

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Consolidate the records' events.

        A record that cannot be read, or whose session is poison, is rejected; those of a tenant whose budget is spent
        are postponed, other tenants' are not. Edges that a worker wrote and did not live to publish are published.
        """
        rejected: list[Rejected] = []
        read: list[tuple[Record, Ingested]] = []
        for record in records:
            try:
                value = decode_ingested(record.value)
            except Poison as error:
                rejected.append(Rejected(record, error))
            else:
                if value.is_for(self._consolidator.mark):
                    read.append((record, value))
        works = group([value for _, value in read])
        done = dict(zip((work.tenant for work in works), await self._all(works), strict=True))
        outgoing: list[Outgoing] = []
        postponed: list[Postponed] = []
        for tenant, result in done.items():
            outgoing.extend(published(tenant, self._consolidator.mark, result.changes))
        for record, value in read:
            result = done[value.tenant]
            if value.session in result.poisoned:
                rejected.append(Rejected(record, result.poisoned[value.session]))
            elif result.resumes_at is not None and not result.finished.issuperset(value.ids):
                postponed.append(Postponed(record, result.resumes_at))

        async def told() -> None:
            for work in works:
                await self._graph.outbox(work.tenant, self._consolidator.mark).close(work.sessions)

        return Handled(tuple(outgoing), tuple(rejected), tuple(postponed), told)

    async def _all(self, works: Sequence[Work]) -> list[_Done]:
        return await together([partial(self._tenant, work) for work in works], _TENANTS_AT_ONCE)

    async def _tenant(self, work: Work) -> _Done:
        owed = await self._graph.outbox(work.tenant, self._consolidator.mark).open(work.sessions)
        done = _Done()
        await together(
            [partial(self._chain, parts, done) for parts in chained(work.parts(self._most_events))], self._at_once
        )
        if owed:
            told = done.changes
            sessions = {name: ids for name, ids in work.sessions.items() if not owed.isdisjoint(ids)}
            done.changes = [
                *await self._withdrawn(work, told),
                *told,
                *await self._standing(work.tenant, owed, sessions, told),
            ]
        return done

    async def _chain(self, parts: Sequence[Work], done: _Done) -> None:
        for part in parts:
            left = part.without(done.poisoned)
            if not left.sessions:
                continue
            if done.resumes_at is not None:  # the tenant's budget is spent
                return
            try:
                outcome = await self._consolidator.consolidate(left)
            except BudgetSpent as error:
                done.resumes_at = min(error.resumes_at, datetime.now(UTC) + _ASK_AGAIN)
                return
            done.changes += outcome.changes
            done.poisoned |= outcome.poisoned
            done.finished.update(left.without(outcome.poisoned).ids)

    async def _withdrawn(self, work: Work, told: Sequence[Change]) -> list[Change]:
        """Give the edges that these events removed, without those told anyway."""
        gone = await self._graph.outbox(work.tenant, self._consolidator.mark).withdrawn(work.sessions)
        known = {_key(change.edge) for change in told if change.edge.get("withdrawn")}
        return [Change(session, event, edge) for session, event, edge in gone if _key(edge) not in known]

    async def _standing(
        self, tenant: str, owed: set[str], sessions: Mapping[str, Sequence[str]], told: Sequence[Change]
    ) -> list[Change]:
        """Give the edges that these events and their neighbours in the chain have now, without those told anyway."""
        reader, ids = self._graph.reader(tenant), sorted(owed)
        around = set(owed)
        for start in range(0, len(ids), _WINDOWS_A_QUERY):
            windows = await reader.window(ids[start : start + _WINDOWS_A_QUERY], MAX_WINDOW, MAX_WINDOW)
            around.update(ident for window in windows.values() for ident in (*window.before, *window.after))
        outbox = self._graph.outbox(tenant, self._consolidator.mark)
        stood = [Change(session, event, edge) for session, event, edge in await outbox.standing(sorted(around))]
        if self._consolidator.mark is Mark.EPISODES:
            stood += session_changes(sessions, await outbox.links(ids))
        known = {_key(change.edge) for change in told}
        return [change for change in stood if _key(change.edge) not in known]


async def together(jobs: Sequence[Callable[[], Awaitable[T]]], most: int) -> list[T]:
    """Run jobs, at most so many at a time; gives their results in order. The first that fails cancels the others."""
    room = asyncio.Semaphore(most)

    async def one(job: Callable[[], Awaitable[T]]) -> T:
        async with room:
            return await job()

    try:
        async with asyncio.TaskGroup() as group_:
            tasks = [group_.create_task(one(job)) for job in jobs]
    except BaseExceptionGroup as failures:
        # the driver of the handler tells errors apart by their class: give it the first, with the rest as context
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]


def chained(parts: Iterable[Work]) -> list[list[Work]]:
    """Give parts in lists that share no session: a session that was cut is worked on in order."""
    chains: list[list[Work]] = []
    for part in parts:
        if chains and not chains[-1][-1].sessions.keys().isdisjoint(part.sessions):
            chains[-1].append(part)
        else:
            chains.append([part])
    return chains


def _key(edge: Mapping[str, Any]) -> tuple[str, ...]:
    kind = edge.get("kind") or edge.get("agent", "")
    return (str(edge["type"]), str(edge["source"]), str(edge["target"]), str(kind))


def session_changes(sessions: Mapping[str, Sequence[str]], links: Sequence[SessionLink]) -> tuple[Change, ...]:
    """Give links between sessions of an agent as changes of one of these sessions, which have ids of events.

    A link that closed over a session which moved away is told with the first of them.
    """
    named = {session: ids[0] for session, ids in sessions.items() if ids}
    changes = []
    for link in links:
        session = next(one for one in (link.target, link.source, *named) if one in named)
        edge = {
            "type": EdgeType.NEXT_SESSION,
            "source": link.source,
            "target": link.target,
            "agent": link.agent,
            "gap_us": link.gap_us,
            "origin": Origin.RULE,
            "confidence": 1.0,
            "rule": "event time",
        }
        changes.append(Change(session, named[session], edge))
    return tuple(changes)


def group(values: Sequence[Ingested]) -> list[Work]:
    """Group ids by tenant and session, each id once."""
    tenants: dict[str, dict[str, dict[str, None]]] = {}
    for value in values:
        tenants.setdefault(value.tenant, {}).setdefault(value.session, {}).update(dict.fromkeys(value.ids))
    return [Work(tenant, {name: tuple(ids) for name, ids in sessions.items()}) for tenant, sessions in tenants.items()]


#: What `memory.changes` says of an edge: keys, and where it comes from. Nothing that quotes an event (rationale,
#: surface, title, a fact's values): no erasure reaches what is published, and what is true now the stores tell.
_TOLD = frozenset(
    {"type", "source", "target", "kind", "before", "moved", "withdrawn", "entity_type", "cosine", "evidence"}
    | {"origin", "confidence", "rule", "model", "prompt_version", "created_us", "agent", "gap_us"}
)


def published(tenant: str, mark: Mark, changes: Sequence[Change]) -> list[Outgoing]:
    """Give the records of `memory.changes` for a tenant's changes, by session."""
    by_session: dict[str, list[Change]] = {}
    for change in changes:
        by_session.setdefault(change.session, []).append(change)
    outgoing = []
    for session, found in by_session.items():
        for start in range(0, len(found), _EDGES_A_VALUE):
            part = found[start : start + _EDGES_A_VALUE]
            value = Changed(
                tenant=tenant,
                session=session,
                stage=mark.value,
                ids=tuple(dict.fromkeys(change.event for change in part)),
                edges=tuple({name: told for name, told in change.edge.items() if name in _TOLD} for change in part),
            )
            outgoing.append(Outgoing(session_key(tenant, session), value.encode()))
    return outgoing
