"""What a stage is doing now, for `/ready`, for logs and for the watchdog. Plain values, safe to read from a thread."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from memory.errors import Retryable
from streams.topics import Stage


class Phase(StrEnum):
    """Where a stage is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FAILED = "failed"


class Need(StrEnum):
    """What a stage needs to get on; each can be missing while the other is there."""

    STORES = "stores"
    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a stage pauses: the error of the last attempt, since when, and how many attempts have failed in a row."""

    code: str
    missing: str
    since: datetime
    attempts: int


@dataclass(slots=True)
class DeliveryState:
    """The state of one stage. `partitions`: those it owns now; `pending`: batches made and not yet settled.

    `held`: records that wait for their window; `postponed`: those among them that cannot be handled before
    `resumes_at`, as when a tenant's budget is spent. Others go on meanwhile, so the stage is ready.
    """

    stage: Stage
    phase: Phase = Phase.STARTING
    partitions: frozenset[int] = frozenset()
    waiting: dict[Need, Waiting] = field(default_factory=dict)
    pending: int = 0
    held: int = 0
    postponed: int = 0
    resumes_at: datetime | None = None
    progressed_s: float = field(default_factory=time.monotonic)
    unread_since_s: float | None = None

    @property
    def ready(self) -> bool:
        """Whether the stage consumes and nothing is missing."""
        return self.phase is Phase.RUNNING and not self.waiting

    def progress(self) -> None:
        """Note that something got on: an attempt ended (well or not), a batch was settled."""
        self.progressed_s = time.monotonic()

    def wait_for(self, need: Need, error: Retryable) -> Waiting:
        """Note a failed attempt that will be made again; gives what is now being waited for."""
        if need is not Need.INPUT:
            self.progress()
        before = self.waiting.get(need)
        since, attempts = (before.since, before.attempts) if before else (datetime.now(UTC), 0)
        now = Waiting(error.code, error.message, since, attempts + 1)
        self.waiting = self.waiting | {need: now}
        return now

    def resume(self, need: Need) -> None:
        """Note that an attempt succeeded."""
        if need is not Need.INPUT:  # reading on is no progress with what was read
            self.progress()
        if need in self.waiting:
            self.waiting = {other: waiting for other, waiting in self.waiting.items() if other is not need}

    def stalled_for_s(self) -> float:
        """Seconds for which there has been work and no progress; 0 when all is well or there is nothing to do."""
        now = time.monotonic()
        if self.pending:
            return now - self.progressed_s
        unread = self.unread_since_s
        return 0.0 if unread is None else now - unread

    def report(self) -> dict[str, Any]:
        """Give the state as JSON values, as `/ready` shows it."""
        return {
            "stage": self.stage.value,
            "ready": self.ready,
            "phase": self.phase.value,
            "partitions": sorted(self.partitions),
            "pending_batches": self.pending,
            "held_records": self.held,
            "postponed": {
                "records": self.postponed,
                "resumes_at": None if self.resumes_at is None else self.resumes_at.isoformat(),
            },
            "waiting": [
                {
                    "need": need.value,
                    "code": waiting.code,
                    "missing": waiting.missing,
                    "since": waiting.since.isoformat(),
                    "attempts": waiting.attempts,
                }
                for need, waiting in self.waiting.items()
            ],
        }
