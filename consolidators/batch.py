"""What every consolidation stage does around its own work: decode, group by tenant, isolate, publish."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memory.errors import Poison
from memory.graph import Mark
from memory.records import Changed, Handled, Ingested, Outgoing, Record, Rejected, decode_ingested, session_key

#: Tenants of one batch that are worked on at a time.
_TENANTS_AT_ONCE = 4
#: Edges in one published value: it stays far below a record's bound.
_EDGES_A_VALUE = 500


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


class StageHandler:
    """A `Handler` over `memory.ingested`."""

    def __init__(self, consolidator: Consolidator) -> None:
        self._consolidator = consolidator

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Consolidate the records' events; a record that cannot be read, or whose session is poison, is rejected."""
        rejected: list[Rejected] = []
        read: list[tuple[Record, Ingested]] = []
        for record in records:
            try:
                read.append((record, decode_ingested(record.value)))
            except Poison as error:
                rejected.append(Rejected(record, error))
        works = group([value for _, value in read])
        outcomes = await self._all(works)
        outgoing: list[Outgoing] = []
        for work, outcome in zip(works, outcomes, strict=True):
            outgoing.extend(published(work.tenant, self._consolidator.mark, outcome.changes))
            rejected.extend(
                Rejected(record, outcome.poisoned[value.session])
                for record, value in read
                if value.tenant == work.tenant and value.session in outcome.poisoned
            )
        return Handled(tuple(outgoing), tuple(rejected))

    async def _all(self, works: Sequence[Work]) -> list[Outcome]:
        room = asyncio.Semaphore(_TENANTS_AT_ONCE)

        async def one(work: Work) -> Outcome:
            async with room:
                return await self._consolidator.consolidate(work)

        try:
            async with asyncio.TaskGroup() as group_:
                tasks = [group_.create_task(one(work)) for work in works]
        except BaseExceptionGroup as failures:
            # the driver of the handler tells errors apart by their class: give it the first, with the rest as context
            raise failures.exceptions[0] from failures
        return [task.result() for task in tasks]


def group(values: Sequence[Ingested]) -> list[Work]:
    """Group ids by tenant and session, each id once."""
    tenants: dict[str, dict[str, dict[str, None]]] = {}
    for value in values:
        tenants.setdefault(value.tenant, {}).setdefault(value.session, {}).update(dict.fromkeys(value.ids))
    return [Work(tenant, {name: tuple(ids) for name, ids in sessions.items()}) for tenant, sessions in tenants.items()]


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
                edges=tuple(dict(change.edge) for change in part),
            )
            outgoing.append(Outgoing(session_key(tenant, session), value.encode()))
    return outgoing
