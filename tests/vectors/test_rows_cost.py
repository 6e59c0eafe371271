"""What packing a row for the store costs: not more for a longer text."""

import sys
from types import FrameType
from typing import Any

from pymilvus.client.prepare import Prepare
from pymilvus.client.types import DataType

import memory.vectors.connection  # noqa: F401  it tells the client what has been checked already


def _calls(size: int) -> int:
    """Count the calls, of Python and of C, while a row with a text of so many characters is packed."""
    fields = [
        {"name": "id", "type": DataType.VARCHAR, "is_primary": True, "params": {"max_length": 64}},
        {"name": "keywords", "type": DataType.VARCHAR, "params": {"max_length": 65_535}},
    ]
    found = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal found
        found += event in {"call", "c_call"}

    rows = [{"id": "a", "keywords": "x" * size}]
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        Prepare.row_upsert_param("c", rows, "", fields)
    finally:
        sys.setprofile(before)
    return found


def test_a_long_text_takes_no_more_calls_than_a_short_one() -> None:
    _calls(10)
    assert 0 < _calls(50_000) <= _calls(10)
