"""When an edge was made."""

from collections.abc import Callable
from datetime import UTC, datetime

from memory.events import to_us

#: Gives the present in microseconds since 1970 UTC.
Now = Callable[[], int]


def now_us() -> int:
    """Give the present in microseconds since 1970 UTC."""
    return to_us(datetime.now(UTC))
