"""The gate in front of `/v1`: who asks, how often, and for how long; before a byte of the body is read."""

import asyncio

from starlette.datastructures import URL
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.errors import MagmaError
from memory.settings import Settings
from query_api.auth.authenticator import Authenticator
from query_api.auth.buckets import Buckets
from query_api.problems import Refused, problem, problem_of, respond

#: Where the gate leaves the caller for the routes: in the request's state.
CALLER = "caller"
_GUARDED = "/v1"


class Gate:
    """ASGI middleware. What is not under `/v1` tells nothing of any tenant and passes."""

    def __init__(self, app: ASGIApp, settings: Settings, authenticator: Authenticator, buckets: Buckets) -> None:
        self._app = app
        self._authenticator = authenticator
        self._buckets = buckets
        self._timeout_s = settings.http_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or not _guarded(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            await self._admit(scope)
        except Refused as error:
            await respond(error.problem, error.retry_after_s, error.headers)(scope, receive, send)
            return
        except MagmaError as error:
            await respond(problem_of(error))(scope, receive, send)
            return
        await self._bounded(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        """Leave the caller in the request's state; raises `Refused` or a `MagmaError`."""
        client = scope.get("client")
        caller = await self._authenticator.caller(
            scope["headers"],
            peer=client[0] if client is not None else "localhost",  # a Unix socket has no peer address
            host=URL(scope=scope).hostname or "",
        )
        wait_s = self._buckets.take(caller.credential)
        if wait_s:
            raise Refused(429, "too_many_requests", "this credential asks too often", retry_after_s=wait_s)
        scope.setdefault("state", {})[CALLER] = caller

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer, and answer in its place when it has not begun in time."""
        try:
            async with asyncio.timeout(self._timeout_s) as limit:

                async def begun(message: Message) -> None:
                    if message["type"] == "http.response.start":
                        limit.reschedule(None)  # a stream goes on for as long as its model is allowed to
                    await send(message)

                await self._app(scope, receive, begun)
        except TimeoutError:
            if not limit.expired():
                raise
            slow = problem(504, "timeout", f"no answer within {self._timeout_s:g} s")
            await respond(slow)(scope, receive, send)


def _guarded(path: str) -> bool:
    """Say whether a path is under `/v1`, however it is written: the router takes it as it is here."""
    return path == _GUARDED or path.startswith(_GUARDED + "/")
