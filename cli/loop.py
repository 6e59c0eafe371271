"""Running a command's coroutine: uvloop where it exists, everything closed at the end."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a fresh loop and give its result."""
    try:
        from uvloop import new_event_loop
    except ImportError:  # not built for this platform
        return asyncio.run(coroutine)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(coroutine)
