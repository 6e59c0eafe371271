"""Windows of events for an extractor: a session's new events in parts, each with what stands around it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memory.events import EventNode
from memory.llm import Window


def ordered(events: Iterable[EventNode]) -> list[EventNode]:
    """Give events in the order of their chains, session by session."""
    return sorted(events, key=lambda event: (event.session, event.order))


def windows_of(
    tenant: str,
    events: Iterable[EventNode],
    people: frozenset[str],
    batch_events: int,
    around: Mapping[str, Sequence[EventNode]] | None = None,
) -> Iterator[Window]:
    """Give the windows of new events, at most `batch_events` in each; `around`: context by the id of a new event.

    With context, two new events share a window only when what stands around them touches: rules take neighbours in a
    window for neighbours in the chain.
    """
    sessions: dict[str, list[EventNode]] = {}
    for event in ordered(events):
        sessions.setdefault(event.session, []).append(event)
    for session, new in sessions.items():
        for part in _parts(new, batch_events, around):
            everything = {event.id: event for event in part}
            for event in part:
                for other in (around or {}).get(event.id, ()):
                    everything.setdefault(other.id, other)
            chain = sorted(everything.values(), key=lambda event: event.order)
            yield Window(tenant, session, tuple(chain), frozenset(event.id for event in part), people)


def _parts(
    new: Sequence[EventNode], most: int, around: Mapping[str, Sequence[EventNode]] | None
) -> Iterator[list[EventNode]]:
    part: list[EventNode] = []
    seen: set[str] = set()
    for event in new:
        near = {event.id, *(other.id for other in (around or {}).get(event.id, ()))}
        if part and (len(part) >= most or (around is not None and seen.isdisjoint(near))):
            yield part
            part, seen = [], set()
        part.append(event)
        seen |= near
    if part:
        yield part
