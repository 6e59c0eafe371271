"""Cutting work into transactions."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import StoreUnavailable
from memory.graph.batches import MAX_ROWS, chunks, halving
from memory.graph.driver import TooLarge


@given(st.lists(st.integers(0, 60), max_size=40), st.integers(1, 100))
def test_chunks_keep_every_row_in_order_and_their_bound(sizes: list[int], most: int) -> None:
    parts = list(chunks(sizes, lambda size: size, most=most))
    assert [size for part in parts for size in part] == sizes
    assert all(sum(part) <= most or len(part) == 1 for part in parts)
    assert all(parts)


def test_chunks_hold_a_thousand_rows_at_most() -> None:
    assert [len(part) for part in chunks(range(2 * MAX_ROWS + 1))] == [MAX_ROWS, MAX_ROWS, 1]


async def test_what_takes_too_long_is_written_in_halves() -> None:
    async def write(rows: Sequence[int]) -> list[int]:
        if len(rows) > 3:
            raise TooLarge("transaction timeout")
        return list(rows)

    written = await halving(range(10), write)
    assert [row for part in written for row in part] == list(range(10))


async def test_a_single_row_that_takes_too_long_is_the_servers_trouble() -> None:
    async def write(rows: Sequence[int]) -> None:
        raise TooLarge("transaction timeout")

    with pytest.raises(StoreUnavailable):
        await halving([1, 2], write)
