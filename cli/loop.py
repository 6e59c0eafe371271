"""Running a command's coroutine: uvloop where it exists, Ctrl-C between two callbacks, everything closed at the end."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a fresh loop and give its result.

    Ctrl-C cancels it and comes out as `KeyboardInterrupt` once it has cleaned up; a second Ctrl-C does not wait.
    """
    interrupted = threading.Event()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_interruptible(coroutine, interrupted))
    except asyncio.CancelledError:
        if interrupted.is_set():
            raise KeyboardInterrupt from None
        raise


async def _interruptible(coroutine: Coroutine[Any, Any, T], interrupted: threading.Event) -> T:
    """Await the coroutine, cancelled by SIGINT from the loop.

    `asyncio.Runner` cancels from inside the signal handler, that is between any two bytecodes: a client's callback that
    has just found its future pending then fails to give it its result, and says so with a traceback.
    """
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None  # the runner has made one of this coroutine

    def interrupt() -> None:
        interrupted.set()
        loop.remove_signal_handler(signal.SIGINT)  # back to Python's own: the next one raises at once
        task.cancel()

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):  # a loop without signals, or not the main thread
        return await coroutine
    try:
        return await coroutine
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        from uvloop import new_event_loop
    except ImportError:  # not built for this platform
        return None
    return new_event_loop
