"""Work that another task may cut short, without cancelling the task that does it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


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
