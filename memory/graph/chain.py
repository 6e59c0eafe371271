"""The session's chain as a function of the set of its events: pure planning, no store.

An event's place is its chain key: `session uid | time | sequence | id`, written so that the order of the strings is the
order of `EventNode.order`. Splicing late events in keeps the chain sorted, without a branch and without a gap
(temporal edges of arXiv 2601.03236, section 3.2; ties and late events are decisions of this project).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from memory.events import EventNode

#: Lifts event times before 1970 above zero, so that hex digits sort as numbers do.
_TIME_SHIFT = 2**63
_TIME_DIGITS = 16
#: Sorts after every key of the session whose uid stands before it: the character behind the separator `|`.
_AFTER_SEPARATOR = "}"
#: One character for the number of hex digits of a sequence (0 to 16), in sort order.
_LENGTHS = "0123456789abcdefg"


@dataclass(frozen=True, slots=True)
class Link:
    """An event in a chain: its uid and its chain key."""

    uid: str
    key: str

    @property
    def occurred_us(self) -> int:
        """Event time in microseconds since 1970 UTC."""
        place = self.key.rsplit("|", 2)[1]
        return int(place[:_TIME_DIGITS], 16) - _TIME_SHIFT


@dataclass(frozen=True, slots=True)
class Gap:
    """Where a late event belongs: between two linked events; no `before` means at the head of the chain."""

    before: Link | None
    after: Link


@dataclass(slots=True)
class Splice:
    """Edges to remove, as (source uid, target uid), and to add, as (source uid, target uid, gap in microseconds)."""

    removed: list[tuple[str, str]] = field(default_factory=list)
    added: list[tuple[str, str, int]] = field(default_factory=list)


def time_key(occurred_us: int) -> str:
    """Write an event time so that strings sort as times do."""
    return f"{occurred_us + _TIME_SHIFT:016x}"


def chain_key(node: EventNode) -> str:
    """Give the event's place among all events: by session, then time, then sequence (-1: none), then id."""
    return key_of_place(node.tenant, node.session, node.occurred_us, node.sequence, node.id)


def key_of_place(tenant: str, session: str, occurred_us: int, sequence: int, ident: str) -> str:
    """Give the chain key of an event with these values."""
    steps = f"{sequence + 1:x}" if sequence >= 0 else ""
    return f"{tenant}|{session}|{time_key(occurred_us)}{_LENGTHS[len(steps)]}{steps}|{ident}"


def session_range(session_uid: str) -> tuple[str, str]:
    """Give the open interval that holds the chain keys of exactly one session (or, for a tenant, of its sessions)."""
    return f"{session_uid}|", f"{session_uid}{_AFTER_SEPARATOR}"


def is_late(link: Link, tail: Link | None) -> bool:
    """Tell whether the event belongs before the end of the stored chain."""
    return tail is not None and link.key < tail.key


def plan(tail: Link | None, new: Iterable[Link], gaps: Mapping[str, Gap]) -> Splice:
    """Plan the edges that put `new` events of one session into its chain.

    `tail`: end of the stored chain, none for a new session. `gaps`: for each late event, by uid, where it belongs in
    the stored chain. Events that share a gap are chained among themselves, so the result is the sorted chain of the
    union whatever the order and the batches in which the events came.
    """
    splice = Splice()
    appended: list[Link] = []
    runs: dict[str, list[Link]] = {}
    for link in sorted(new, key=_key):
        if is_late(link, tail):
            runs.setdefault(gaps[link.uid].after.uid, []).append(link)
        else:
            appended.append(link)
    for run in runs.values():
        gap = gaps[run[0].uid]
        if gap.before is not None:
            splice.removed.append((gap.before.uid, gap.after.uid))
            run.insert(0, gap.before)
        _chain([*run, gap.after], splice)
    _chain(appended if tail is None else [tail, *appended], splice)
    return splice


def _chain(links: Sequence[Link], splice: Splice) -> None:
    for earlier, later in pairwise(links):
        splice.added.append((earlier.uid, later.uid, later.occurred_us - earlier.occurred_us))


def _key(link: Link) -> str:
    return link.key
