"""Consolidation done again after a change of prompt, model or rules: what was inferred goes, ids are announced anew.

Each page of a session is cleared in one transaction and then put on `memory.ingested` for the wanted stages alone; the
running workers do the rest. An event that is cleared and not announced, because the command was interrupted, carries
no mark, and is announced by the next run whatever that run selects.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.events import EventNode, to_us
from memory.graph import Graph, Mark
from memory.records import Ingested, Outgoing, session_key
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.publisher import Publisher
from streams.topics import Topic

#: Events of a session that are cleared in one transaction and announced in one record.
PAGE = 200
_SESSIONS = 500


@dataclass(frozen=True, slots=True)
class Selection:
    """What is done again. `since`: only events ingested then or later (aware).

    `prompt_version`: only sessions that hold an edge of the kind made with it, and of their edges only those.
    """

    kinds: tuple[Mark, ...]
    since: datetime | None = None
    prompt_version: str | None = None


@dataclass(slots=True)
class ReconsolidateReport:
    """What was done. `events`: announced, each counted once a kind; `edges`: removed, those that will be made again."""

    tenants: int = 0
    sessions: int = 0
    events: int = 0
    edges: int = 0
    seconds: float = 0.0


async def reconsolidate(
    settings: Settings,
    graph: Graph,
    tenants: Sequence[str],
    selection: Selection,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> ReconsolidateReport:
    """Clear and announce again what is selected; `progress` hears how many events are announced.

    May be interrupted and run again at any time. Raises what the stores raise; `StoreUnavailable` without Kafka.
    """
    begun_s = time.monotonic()
    report = ReconsolidateReport(tenants=len(tenants))
    await ensure_topics(settings)
    async with Publisher.open(settings) as publisher:
        topic = Topic.MEMORY_INGESTED.name_in(settings)
        for tenant in tenants:
            again = _Again(graph, tenant, selection, report)
            after = ""
            while sessions := await graph.reader(tenant).sessions(limit=_SESSIONS, after=after):
                after = sessions[-1].session
                for session in sessions:
                    before = report.events
                    async for outgoing in again.session(session.session):
                        await publisher.publish(topic, outgoing)
                        progress(report.events)
                    report.sessions += report.events > before
    report.seconds = time.monotonic() - begun_s
    return report


class _Again:
    """One tenant's part."""

    def __init__(self, graph: Graph, tenant: str, selection: Selection, report: ReconsolidateReport) -> None:
        self._reader = graph.reader(tenant)
        self._clearer = graph.clearer(tenant)
        self._tenant = tenant
        self._selection = selection
        self._report = report

    async def session(self, session: str) -> AsyncIterator[list[Outgoing]]:
        """Clear a session page by page; gives the records of each page once it is cleared."""
        asked = {kind: await self._holds(kind, session) for kind in self._selection.kinds}
        after: EventNode | None = None
        while page := await self._reader.session_events(session, limit=PAGE, after=after):
            after = page[-1]
            outgoing: list[Outgoing] = []
            for kind in self._selection.kinds:
                wanted = await self._wanted(kind, page, whole=asked[kind])
                if wanted:
                    self._report.edges += await self._clearer.clear(
                        kind, wanted, prompt_version=self._selection.prompt_version
                    )
                    self._report.events += len(wanted)
                    value = Ingested(tenant=self._tenant, session=session, ids=wanted, stages=(kind.value,))
                    outgoing.append(Outgoing(session_key(self._tenant, session), value.encode()))
            if outgoing:
                yield outgoing
            if len(page) < PAGE:
                return

    async def _holds(self, kind: Mark, session: str) -> bool:
        """Say whether the session is selected for a kind: it holds an edge of the prompt version that was asked for."""
        version = self._selection.prompt_version
        return version is None or await self._clearer.holds(kind, session, version)

    async def _wanted(self, kind: Mark, page: Sequence[EventNode], *, whole: bool) -> tuple[str, ...]:
        since = self._selection.since
        chosen = {event.id for event in page if whole and (since is None or event.ingested_us >= to_us(since))}
        chosen |= await self._reader.unfinished([event.id for event in page], (kind,))
        return tuple(event.id for event in page if event.id in chosen)
