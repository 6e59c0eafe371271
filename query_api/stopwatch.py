"""Where the time of one query went."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from query_api.models import Timings


class Stopwatch:
    """Milliseconds by stage; a stage measured twice adds up."""

    def __init__(self) -> None:
        self._ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done inside, also when it fails."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._ms[name] = self._ms.get(name, 0.0) + (time.perf_counter() - started) * 1_000

    def timings(self) -> Timings:
        """Give the stages of `Timings`; one that was never measured is 0."""
        return Timings(**{name: round(self._ms.get(name, 0.0), 3) for name in Timings.model_fields})
