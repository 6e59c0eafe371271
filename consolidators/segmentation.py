"""Where one episode ends and the next begins (magma.md, section 2: a gap, ten events, drift, the session's end).

A function of the session's chain alone, read from left to right: the same set of events gives the same episodes, in
whatever order and batches they arrived, and what comes after a place never changes the episodes that ended before it.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from memory.events import ID_NAMESPACE, EventNode
from memory.llm.words import stems
from memory.relations import Episode

#: A silence that ends an episode, in microseconds: half an hour.
GAP_US = 30 * 60 * 1_000_000
#: Most events of an episode.
MAX_EVENTS = 10
#: Least cosine of an event with the mean of its episode so far; and how many events that mean needs to be one.
DRIFT = 0.3
DRIFT_AFTER = 3
_TITLE_CHARS = 80

Vector = NDArray[np.float32]


class Boundary(StrEnum):
    """What ended an episode."""

    GAP = "gap"
    SIZE = "size"
    DRIFT = "drift"
    SESSION_END = "session_end"


@dataclass(slots=True)
class _Open:
    events: list[EventNode]
    total: Vector | None


def segment(chain: Sequence[EventNode], vectors: Mapping[str, Vector]) -> list[Episode]:
    """Cut the chain of one session, from the start of an episode on; an event without a vector cannot drift.

    The last episode ends with the session as far as it is known.
    """
    episodes: list[Episode] = []
    current: _Open | None = None
    for event in chain:
        vector = vectors.get(event.id)
        boundary = _boundary(current, event, vector) if current else None
        if current is not None and boundary is not None:
            episodes.append(_closed(current.events, boundary))
            current = None
        if current is None:
            current = _Open([event], None if vector is None else vector.astype(np.float32, copy=True))
            continue
        current.events.append(event)
        if vector is not None:
            current.total = vector.copy() if current.total is None else current.total + vector
    if current is not None:
        episodes.append(_closed(current.events, Boundary.SESSION_END))
    return episodes


def episode_id(tenant: str, session: str, first: str) -> str:
    """Give the id of the episode of a session that starts with this event."""
    return str(uuid.uuid5(ID_NAMESPACE, "\x00".join(("episode", tenant, session, first))))


def _boundary(current: _Open, event: EventNode, vector: Vector | None) -> Boundary | None:
    if event.occurred_us - current.events[-1].occurred_us > GAP_US:
        return Boundary.GAP
    if len(current.events) >= MAX_EVENTS:
        return Boundary.SIZE
    if vector is not None and current.total is not None and len(current.events) >= DRIFT_AFTER:
        length = float(np.linalg.norm(current.total) * np.linalg.norm(vector))
        if length > 0 and float(current.total @ vector) / length < DRIFT:
            return Boundary.DRIFT
    return None


def _closed(events: Sequence[EventNode], boundary: Boundary) -> Episode:
    first = events[0]
    return Episode(
        id=episode_id(first.tenant, first.session, first.id),
        session=first.session,
        events=tuple(event.id for event in events),
        first_us=first.occurred_us,
        last_us=events[-1].occurred_us,
        title=title_of(events),
        reason=boundary,
    )


def title_of(events: Sequence[EventNode]) -> str:
    """Give the sentence that shares most words with the rest of the episode, with who said it, cut to 80 characters."""
    said = [(event, sentence) for event in events for sentence in _sentences(event.text)]
    if not said:
        return ""
    common = Counter(stem for event in events for stem in stems(event.text))

    def weight(item: tuple[EventNode, str]) -> float:
        own = stems(item[1])
        return sum(common[stem] for stem in own) / (len(own) + 4)

    event, sentence = max(said, key=weight)
    title = f"{event.speaker or event.agent}: {sentence}"
    if len(title) <= _TITLE_CHARS:
        return title
    return title[: _TITLE_CHARS - 1].rsplit(" ", 1)[0] + "\u2026"


def _sentences(text: str) -> Iterable[str]:
    """Give the first sentences of a text, on one line each."""
    flat = " ".join(text[:2_000].split())
    start = 0
    for place, character in enumerate(flat):
        if character in ".!?" and (place + 1 == len(flat) or flat[place + 1] == " "):
            if place + 1 - start > 1:
                yield flat[start : place + 1].strip()
            start = place + 1
    if flat[start:].strip():
        yield flat[start:].strip()
