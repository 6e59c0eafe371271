"""Counts what a stage asks of the stores: a cost that needs no clock, and that nothing else on the machine changes."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from memory.graph.driver import Bolt, Transaction
from memory.vectors.connection import Connection

_COUNTED = ((Transaction, "value"), (Transaction, "rows"), (Transaction, "run"), (Bolt, "ask"), (Connection, "read"))


@dataclass
class Cost:
    """Statements and calls, and the rows that they were answered with; a search's hits are rows."""

    trips: int = 0
    rows: int = 0


@contextmanager
def counted() -> Iterator[Cost]:
    """Count while the context is open."""
    cost = Cost()
    with ExitStack() as stack:
        for owner, name in _COUNTED:
            stack.enter_context(patch.object(owner, name, _counting(getattr(owner, name), cost)))
        yield cost


def _counting(call: Callable[..., Awaitable[Any]], cost: Cost) -> Callable[..., Awaitable[Any]]:
    async def counting(*given: Any, **named: Any) -> Any:
        answer = await call(*given, **named)
        cost.trips += 1
        cost.rows += _rows(answer)
        return answer

    return counting


def _rows(answer: Any) -> int:
    """Count what stands in an answer, two levels deep: a record's collected list, a search's hits for each vector."""
    if not isinstance(answer, list | tuple) and type(answer).__name__ not in {"SearchResult", "ExtraList"}:
        return 0
    return sum(len(part) if isinstance(part, list) or hasattr(part, "ids") else 1 for part in answer)
