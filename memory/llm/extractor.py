"""The one interface of rules and models."""

from typing import Protocol

from memory.llm.model import Ask, Findings, Window
from memory.relations import Origin


class Extractor(Protocol):
    """Finds entities and causes in a window of events.

    `origin`, `model` and `prompt_version` go into the provenance of every edge made from its findings. `batch_events`:
    how many new events one call should hold.
    """

    origin: Origin
    model: str
    prompt_version: str
    batch_events: int

    async def extract(self, window: Window, asks: frozenset[Ask]) -> Findings:
        """Give what is found for the window's new events; causes may join a new event to one of its context.

        Never a partial result: raises `UnusableModelOutput` when an answer stays invalid after its one repair,
        `RateLimited` and `StoreUnavailable` when the provider does not answer now, `StoreRefused` for credentials.
        """
        ...

    async def close(self) -> None:
        """Give back what it holds; harmless when there is nothing."""
        ...
