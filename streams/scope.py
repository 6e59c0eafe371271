"""Work that another task may cut short, without cancelling the task that does it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Cut(Exception):
    """Raised where a scope is left because it was cut."""


class Scope:
    """A stretch of one task's work. `asyncio.timeout` is the standard library's cancel scope; here without a time."""

    def __init__(self) -> None:
        self.is_cut = False
        self._bound: asyncio.Timeout | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Enter the stretch; raises `Cut` at its end when it was cut, at once when it was cut before."""
        if self.is_cut:
            raise Cut
        try:
            async with asyncio.timeout(None) as bound:
                self._bound = bound
                yield
        except TimeoutError as error:
            if not bound.expired():
                raise
            raise Cut from error
        finally:
            self._bound = None

    def cut(self) -> None:
        """Cancel what runs in the stretch now, and let nothing start in it any more."""
        self.is_cut = True
        if self._bound is not None and self._bound.when() is None:
            self._bound.reschedule(asyncio.get_running_loop().time())


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """Run work that may fail in a `TaskGroup` in a task of its own, so that this task can still be cut or timed.

    A child that fails while its group is being left has the group's task cancelled and the request never taken back
    (CPython 3.11). In a task that goes on, as one that tries again, each later timeout and cut
    would then count one request too many and come out as a cancellation that nobody asked for.

    Raises what the work raises; `CancelledError` when this task was cancelled meanwhile, whatever became of the work.
    """
    task = asyncio.get_running_loop().create_task(work)
    try:
        return await task  # a cancellation of this task reaches the work, and is waited for
    except BaseExceptionGroup as group:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise asyncio.CancelledError from group
        raise
