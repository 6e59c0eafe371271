"""A thread that ends a process which does not get on: it works also when the event loop is blocked.

Nothing is lost by it: what was not committed comes again, to this worker's successor.
"""

import logging
import os
import threading
import time
from collections.abc import Sequence

from streams.state import DeliveryState

EVERY_S = 0.25

_log = logging.getLogger(__name__)


class Watchdog(threading.Thread):
    """Ends the process when a stage has work and no progress for too long, or when stopping takes too long."""

    def __init__(self, states: Sequence[DeliveryState], *, stall_s: float) -> None:
        super().__init__(name="magma-watchdog", daemon=True)
        self._states = states
        self._stall_s = stall_s
        self._deadline_s: float | None = None
        self._off = threading.Event()
        self.status = 0

    def stop_within(self, seconds: float) -> None:
        """Begin the time to stop; the first call counts."""
        if self._deadline_s is None:
            self._deadline_s = time.monotonic() + seconds

    def off(self) -> None:
        """Watch no more."""
        self._off.set()

    def run(self) -> None:
        """Look every quarter of a second."""
        while not self._off.wait(EVERY_S):
            for state in self._states:
                stalled_s = state.stalled_for_s()
                if stalled_s > self._stall_s and self._deadline_s is None:
                    self._end(1, f"{state.stage.value} has had work and no progress for {stalled_s:.0f} s")
            if self._deadline_s is not None and time.monotonic() > self._deadline_s:
                self._end(self.status, "what was left open did not close within the time to stop")

    def _end(self, status: int, why: str) -> None:
        _log.critical("worker ends with status %d: %s; nothing of it was acknowledged", status, why)
        for handler in logging.getLogger().handlers:
            handler.flush()
        os._exit(status)
