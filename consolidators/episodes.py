"""Episodes: runs of events between the event and the session (arXiv 2601.03236, section 3.2: hierarchical nodes).

The stage also puts sessions into the order of their agents' sessions, before it marks their events as done.
"""

from collections.abc import Sequence

from consolidators.batch import Change, Outcome, Work, session_changes
from consolidators.segmentation import Vector, episode_id, segment
from memory.events import EventNode
from memory.graph import Done, Graph, GraphReader, Mark
from memory.relations import EdgeType, Episode, Origin
from memory.vectors import Vectors

#: Events of a session that are read at a time.
_PAGE = 500


class Episodes:
    """Cuts the part of a session that new events can have changed, and replaces what stood there in one transaction.

    That part starts with the episode before the earliest new event and ends where an old boundary is met again after
    the last new one, or with the session.
    """

    mark = Mark.EPISODES

    def __init__(self, graph: Graph, vectors: Vectors) -> None:
        self._graph = graph
        self._vectors = vectors

    async def consolidate(self, work: Work) -> Outcome:
        """See `Consolidator.consolidate`."""
        reader = self._graph.reader(work.tenant)
        events = await reader.events(work.ids)
        episodes: list[Episode] = []
        for session, ids in work.sessions.items():
            new = sorted((events[ident] for ident in ids if ident in events), key=lambda event: event.order)
            if new:
                episodes += await self._recut(reader, session, new)
        links = await self._graph.writer().place_sessions(work.tenant, work.ids)
        changed = await self._graph.writer().write_episodes(work.tenant, episodes, done=Done(self.mark, work.ids))
        return Outcome((*_changes(changed), *session_changes(work.sessions, links)))

    async def _recut(self, reader: GraphReader, session: str, new: Sequence[EventNode]) -> list[Episode]:
        vectors = self._vectors.reader(reader.tenant)
        before = await self._before(reader, new[0])
        last = new[-1].order
        pending: list[EventNode] = []
        known: dict[str, Vector] = {}
        episodes: list[Episode] = []
        at = before
        while page := await reader.session_events(session, limit=_PAGE, after=at):
            at = page[-1]
            pending += page
            known |= await vectors.vectors([event.id for event in page], fresh=True)
            cut = segment(pending, known)
            # the last one may go on in the next page
            episodes += cut[:-1]
            pending = pending[len(pending) - len(cut[-1].events) :]
            known = {event.id: known[event.id] for event in pending if event.id in known}
            if len(page) < _PAGE:
                break
            if pending[0].order > last and await self._stood_there(reader, pending[0]):
                return episodes
        if pending:
            episodes += segment(pending, known)
        return episodes

    async def _before(self, reader: GraphReader, first: EventNode) -> EventNode | None:
        """Give the event behind which the cut starts: the one before the episode that the first new event follows."""
        earlier = (await reader.window([first.id], 1, 0)).get(first.id)
        if earlier is None or not earlier.before:
            return None
        episode = (await reader.episodes_of(earlier.before)).get(earlier.before[0])
        if episode is None:
            return None  # the part before is not cut yet: cut all of it
        members = (await reader.episode_events([episode.id])).get(episode.id, [])
        behind = (await reader.window(members[:1], 1, 0)).get(members[0]) if members else None
        if behind is None or not behind.before:
            return None  # it is the session's first episode
        return (await reader.events(behind.before)).get(behind.before[0])

    async def _stood_there(self, reader: GraphReader, event: EventNode) -> bool:
        """Say whether an episode started at this event before: then everything after it stands as it did."""
        stored = (await reader.episodes_of([event.id])).get(event.id)
        return stored is not None and stored.id == episode_id(event.tenant, event.session, event.id)


def _changes(episodes: Sequence[Episode]) -> tuple[Change, ...]:
    return tuple(
        Change(
            episode.session,
            event,
            {
                "type": EdgeType.PART_OF,
                "source": event,
                "target": episode.id,
                "title": episode.title,
                "origin": Origin.RULE,
                "confidence": 1.0,
                "rule": episode.reason,
            },
        )
        for episode in episodes
        for event in episode.events
    )
