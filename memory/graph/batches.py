"""Cutting work into transactions: at most 1,000 rows and 4 MB each, smaller when the server wants it."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from memory.errors import StoreUnavailable
from memory.graph.driver import TooLarge

Row = TypeVar("Row")
T = TypeVar("T")

#: A message of 17 MB hangs the driver on the local server; four leave room for what estimates miss.
MAX_ROWS = 1_000
MAX_BYTES = 4_000_000


def chunks(
    rows: Sequence[Row], size: Callable[[Row], int] | None = None, *, most: int = MAX_BYTES
) -> Iterator[list[Row]]:
    """Cut rows, in order, into lists of at most `MAX_ROWS` rows whose sizes add up to `most` or less (or one row)."""
    chunk: list[Row] = []
    total = 0
    for row in rows:
        row_size = size(row) if size else 0
        if chunk and (len(chunk) >= MAX_ROWS or total + row_size > most):
            yield chunk
            chunk, total = [], 0
        chunk.append(row)
        total += row_size
    if chunk:
        yield chunk


async def halving(rows: Sequence[Row], write: Callable[[Sequence[Row]], Awaitable[T]]) -> list[T]:
    """Write rows in one transaction, or in halves of halves when it takes longer than the server allows."""
    try:
        return [await write(rows)]
    except TooLarge as error:
        if len(rows) < 2:
            raise StoreUnavailable(
                str(error), hint="a single row is over the server's time limit: is it overloaded?"
            ) from error
    middle = len(rows) // 2
    return [*await halving(rows[:middle], write), *await halving(rows[middle:], write)]
