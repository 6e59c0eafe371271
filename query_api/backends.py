"""The stores behind the service: opened on its loop, watched, closed with it.

A store that is away is a pause, not a fault: the service starts without it, says so, and opens it when it comes.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

from memory.embedding import Encoder, make_encoder
from memory.errors import LlmNotConfigured, MagmaError, Retryable, StoreUnavailable
from memory.graph import Graph
from memory.settings import Settings
from memory.vectors import Vectors
from query_api.answer import Answerer
from query_api.engine import Retriever
from query_api.policy import Policy
from query_api.routing import open_router
from query_api.tuned import chosen_policy, chosen_trees

#: Longest wait for a store's answer to "are you there", in seconds.
PING_TIMEOUT_S = 2.0
#: How long the start of the service waits for the stores before it serves without them, in seconds.
FIRST_ATTEMPT_S = 10.0
#: Wait between two attempts to open the stores: from, to, in seconds.
_WAIT_S = (0.5, 10.0)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """What answers questions. `answerer` is None when no model is configured."""

    graph: Graph
    vectors: Vectors
    retriever: Retriever
    answerer: Answerer | None


class Backends:
    """Holds the stores of a running service."""

    def __init__(self, settings: Settings, policy: Policy | None = None) -> None:
        self._settings = settings
        self._policy = policy
        self._opened: Opened | None = None
        self._trouble: MagmaError = StoreUnavailable("the stores are being opened")
        self._stop = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, policy: Policy | None = None) -> AsyncIterator["Backends"]:
        """Open the stores, or keep trying while the service runs.

        Raises `Misconfigured` when the first attempt says that a person must change something.
        """
        backends = cls(settings, policy)
        first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(backends._hold(first))
                try:
                    with suppress(TimeoutError):  # starting goes on in the background; /live and /ready must answer
                        await asyncio.wait_for(first, FIRST_ATTEMPT_S)
                    yield backends
                finally:
                    backends._stop.set()
        except ExceptionGroup as error:
            # one task: what it raised is the one thing that happened
            raise error.exceptions[0] from error

    def current(self) -> Opened:
        """Give the open stores; raises what keeps them from being open (`StoreUnavailable`, `Misconfigured`)."""
        if self._opened is None:
            raise self._trouble
        return self._opened

    async def missing(self) -> dict[str, str]:
        """Ask both stores whether they are there; gives what is missing and why, empty when all is well."""
        if self._opened is None:
            return {"stores": str(self._trouble)}
        missing: dict[str, str] = {}
        for name, ping in (("graph", self._opened.graph.ping), ("vectors", self._opened.vectors.ping)):
            try:
                async with asyncio.timeout(PING_TIMEOUT_S):
                    await ping()
            except TimeoutError:
                missing[name] = f"no answer within {PING_TIMEOUT_S:g} s"
            except MagmaError as error:
                missing[name] = str(error)
        return missing

    async def _hold(self, first: asyncio.Future[None]) -> None:
        """Open, stay open until told to stop, close: in one task, as clients want it."""
        wait_s = _WAIT_S[0]
        while not self._stop.is_set():
            try:
                async with self._open_all() as self._opened:
                    _done(first)
                    await self._stop.wait()
            except MagmaError as error:
                self._trouble = error
                if not first.done() and not isinstance(error, Retryable):
                    first.set_exception(error)
                    return
                _log.warning("the stores cannot be opened: %s", error)
            finally:
                self._opened = None
            _done(first)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), wait_s)
            wait_s = min(2 * wait_s, _WAIT_S[1])

    @asynccontextmanager
    async def _open_all(self) -> AsyncIterator[Opened]:
        settings = self._settings
        async with AsyncExitStack() as stack:
            encoder: Encoder = await asyncio.to_thread(make_encoder, settings)
            stack.push_async_callback(encoder.close)
            graph = await stack.enter_async_context(Graph.open(settings))
            await graph.ensure_schema()
            vectors = await stack.enter_async_context(Vectors.open(settings, model=encoder.name, dim=encoder.dim))
            answerer = None
            with suppress(LlmNotConfigured):  # asked for an answer, the service then says so
                answerer = await stack.enter_async_context(Answerer.open(settings))
            router = await stack.enter_async_context(open_router(settings))
            retriever = Retriever(
                graph,
                vectors,
                encoder,
                self._policy or chosen_policy(settings),
                router=router,
                trees=chosen_trees(settings, encoder.name),
                budget_tokens=settings.context_budget_tokens,
            )
            yield Opened(graph, vectors, retriever, answerer)


def _done(first: asyncio.Future[None]) -> None:
    if not first.done():
        first.set_result(None)
