"""How a worker ends: with status 0 when it was told to stop, with 1 and one sentence when something was wrong."""

import asyncio
import logging

from memory.errors import MagmaError
from streams.attempts import leading
from streams.state import DeliveryState, Phase

_log = logging.getLogger(__name__)


class Verdict:
    """The first failure of any stage; it stops them all."""

    def __init__(self) -> None:
        self.failed = asyncio.Event()
        self.status = 0

    def fail(self, state: DeliveryState | None, error: BaseException) -> None:
        """Note a failure and tell it: in a sentence, with a traceback when nobody expected it."""
        cause = leading(error) if isinstance(error, BaseExceptionGroup) else error
        name = "worker" if state is None else state.stage.value
        if state is not None:
            state.phase = Phase.FAILED
        if isinstance(cause, MagmaError):
            _log.critical("%s stops: %s", name, cause)
        else:
            _log.critical("%s stops: unexpected %s: %s", name, type(cause).__name__, cause, exc_info=cause)
        self.status = 1
        self.failed.set()
