"""Which records a batch is made of: those of one poll, or, for a consolidator, the windows of sessions that are due.

A window is a session's new records, held until there are enough events, or the session is quiet, or the oldest of them
is old enough. What is held is bounded: over the bound the oldest windows are due, and nothing is read before there is
room. Holding keeps nothing alive: what is not acknowledged comes again.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from memory.errors import Poison
from memory.records import Postponed, Record, decode_ingested
from memory.settings import LlmProvider, Settings
from streams.batch import BATCH_BYTES, size_bytes
from streams.topics import CONSOLIDATION, Stage

#: Bounds of what one stage holds while it gathers: records, and bytes of their keys and values.
HELD_RECORDS = 10_000
HELD_BYTES = BATCH_BYTES
#: Stages that ask a model when one is configured.
ASKING = frozenset({Stage.ENTITIES, Stage.CAUSAL})
#: Full windows of one batch of a stage that asks a model: one is read and written while the other waits for the model.
_WINDOWS_OF_A_MODEL = 2
#: Events of one batch of a stage that asks nobody: as many as its writes take well.
_BATCH_EVENTS = 512


@dataclass(frozen=True, slots=True)
class Gathering:
    """When a window is due: `events` are there, none came for `quiet_s`, or the first is `age_s` old.

    `batch_events`: windows that are due are handled together up to so many events (or one window).
    """

    events: int
    quiet_s: float
    age_s: float
    batch_events: int


class Inlet(Protocol):
    """Holds what was read and is not in a batch yet. Times are seconds of `time.monotonic()`."""

    @property
    def full(self) -> bool:
        """Whether the bound on what is held is reached: nothing more must be read."""
        ...

    @property
    def held(self) -> int:
        """Records held."""
        ...

    def add(self, records: Iterable[Record], now_s: float) -> None:
        """Hold records, in the order of their partitions."""
        ...

    def take(self, now_s: float) -> list[Record]:
        """Give the records of the next batch, in order for each partition; nothing when none is due."""
        ...

    def due_in_s(self, now_s: float) -> float | None:
        """Give how long it is until something may be due; None when nothing is held."""
        ...

    def postpone(self, postponed: Iterable[Postponed], now_s: float) -> None:
        """Hold records again that cannot be handled yet."""
        ...

    def postponed(self, now_s: float) -> tuple[int, float]:
        """Give how many of the held records cannot be handled yet, and how long until the first of them can."""
        ...

    def clear(self) -> None:
        """Let everything go; it comes again."""
        ...


def gathering_of(stage: Stage, settings: Settings) -> Gathering | None:
    """Give how a stage gathers; None for the fast path, whose records must not wait."""
    if stage not in CONSOLIDATION:
        return None
    if stage in ASKING and settings.llm_provider is not LlmProvider.RULES:
        return Gathering(
            settings.window_max_events,
            settings.llm_window_quiet_ms / 1_000,
            settings.llm_window_max_age_ms / 1_000,
            _WINDOWS_OF_A_MODEL * settings.window_max_events,
        )
    return Gathering(
        settings.window_max_events,
        settings.window_quiet_ms / 1_000,
        settings.window_max_age_ms / 1_000,
        _BATCH_EVENTS,
    )


def inlet_of(stage: Stage, settings: Settings) -> Inlet:
    """Make the inlet of a stage."""
    gathering = gathering_of(stage, settings)
    return Straight() if gathering is None else Windows(gathering, most_records=settings.batch_max_events)


class Straight:
    """Gives records on as they come, in batches within `BATCH_BYTES`."""

    def __init__(self) -> None:
        self._batches: deque[list[Record]] = deque()

    @property
    def full(self) -> bool:
        """See `Inlet.full`: what was read is handed on before more is."""
        return False

    @property
    def held(self) -> int:
        """See `Inlet.held`."""
        return sum(len(records) for records in self._batches)

    def add(self, records: Iterable[Record], now_s: float) -> None:  # noqa: ARG002  nothing waits here
        """See `Inlet.add`; records of two calls share no batch."""
        self._batches.extend(within_bytes(records))

    def take(self, now_s: float) -> list[Record]:  # noqa: ARG002  nothing waits here
        """See `Inlet.take`."""
        return self._batches.popleft() if self._batches else []

    def due_in_s(self, now_s: float) -> float | None:  # noqa: ARG002  nothing waits here
        """See `Inlet.due_in_s`."""
        return 0.0 if self._batches else None

    def postpone(self, postponed: Iterable[Postponed], now_s: float) -> None:
        """See `Inlet.postpone`; they come back at once: no stage of the fast path postpones anything."""
        self.add((one.record for one in postponed), now_s)

    def postponed(self, now_s: float) -> tuple[int, float]:  # noqa: ARG002  nothing waits here
        """See `Inlet.postponed`."""
        return 0, 0.0

    def clear(self) -> None:
        """See `Inlet.clear`."""
        self._batches.clear()


@dataclass(slots=True)
class _Window:
    """A session's records that wait. `not_before_s`: none of them can be handled earlier."""

    first_s: float
    last_s: float
    not_before_s: float = float("-inf")
    events: int = 0
    total_bytes: int = 0
    records: list[Record] = field(default_factory=list)

    def due_s(self, gathering: Gathering) -> float:
        """Give when the window is due."""
        if self.events >= gathering.events:
            return self.not_before_s
        return max(self.not_before_s, min(self.last_s + gathering.quiet_s, self.first_s + gathering.age_s))


class Windows:
    """Gathers records of `memory.ingested` by session."""

    def __init__(self, gathering: Gathering, *, most_records: int) -> None:
        self._gathering = gathering
        self._most_records = most_records
        self._windows: dict[bytes | None, _Window] = {}
        self._records = 0
        self._bytes = 0

    @property
    def full(self) -> bool:
        """See `Inlet.full`."""
        return self._records >= HELD_RECORDS or self._bytes >= HELD_BYTES

    @property
    def held(self) -> int:
        """See `Inlet.held`."""
        return self._records

    def add(self, records: Iterable[Record], now_s: float) -> None:
        """See `Inlet.add`."""
        for record in records:
            self._hold(record, now_s)

    def postpone(self, postponed: Iterable[Postponed], now_s: float) -> None:
        """See `Inlet.postpone`: their windows are due when the last of their records may be handled."""
        for one in postponed:
            window = self._hold(one.record, now_s)
            wait_s = (one.resumes_at - datetime.now(UTC)).total_seconds()
            window.not_before_s = max(window.not_before_s, now_s + wait_s)

    def take(self, now_s: float) -> list[Record]:
        """See `Inlet.take`: whole windows, those due longest first."""
        due = sorted(
            (window.due_s(self._gathering), place)
            for place, window in enumerate(self._windows.values())
            if window.due_s(self._gathering) <= now_s or (self.full and window.not_before_s <= now_s)
        )
        keys = list(self._windows)
        taken: list[Record] = []
        events = total_bytes = 0
        for _, place in due:
            window = self._windows[keys[place]]
            fits = (
                events + window.events <= self._gathering.batch_events
                and total_bytes + window.total_bytes <= BATCH_BYTES
                and len(taken) + len(window.records) <= self._most_records
            )
            if taken and not fits:
                continue
            taken += window.records
            events += window.events
            total_bytes += window.total_bytes
            self._records -= len(window.records)
            self._bytes -= window.total_bytes
            del self._windows[keys[place]]
        return sorted(taken, key=lambda record: (record.topic, record.partition, record.offset))

    def due_in_s(self, now_s: float) -> float | None:
        """See `Inlet.due_in_s`."""
        if not self._windows:
            return None
        return max(0.0, min(window.due_s(self._gathering) for window in self._windows.values()) - now_s)

    def postponed(self, now_s: float) -> tuple[int, float]:
        """See `Inlet.postponed`."""
        waiting = [window for window in self._windows.values() if window.not_before_s > now_s]
        soonest_s = min((window.not_before_s for window in waiting), default=now_s)
        return sum(len(window.records) for window in waiting), soonest_s - now_s

    def clear(self) -> None:
        """See `Inlet.clear`."""
        self._windows.clear()
        self._records = self._bytes = 0

    def _hold(self, record: Record, now_s: float) -> _Window:
        window = self._windows.get(record.key)
        if window is None:
            window = self._windows[record.key] = _Window(now_s, now_s)
        window.last_s = now_s
        window.events += _events_in(record, self._gathering.events)
        size = size_bytes(record)
        window.total_bytes += size
        window.records.append(record)
        self._records += 1
        self._bytes += size
        return window


def within_bytes(records: Iterable[Record]) -> Iterable[list[Record]]:
    """Cut records, in order, into lists within `BATCH_BYTES`; one larger record is a list of its own."""
    part: list[Record] = []
    total = 0
    for record in records:
        size = size_bytes(record)
        if part and total + size > BATCH_BYTES:
            yield part
            part, total = [], 0
        part.append(record)
        total += size
    if part:
        yield part


def _events_in(record: Record, enough: int) -> int:
    """Give the number of events that a record names; one that cannot be read is enough: it must not wait."""
    try:
        return len(decode_ingested(record.value).ids)
    except Poison:
        return enough
