"""Bounds on what a request may send: size and time, before anything is parsed."""

import asyncio
from collections import deque

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from query_api.problems import problem, respond


class BoundedBodies:
    """ASGI middleware: reads the whole body first, and answers 413 or 408 in the app's place when it does not fit."""

    def __init__(self, app: ASGIApp, max_bytes: int, timeout_s: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        messages: deque[Message] = deque()
        size = 0
        try:
            async with asyncio.timeout(self._timeout_s):
                while True:
                    message = await receive()
                    messages.append(message)
                    size += len(message.get("body", b""))
                    if size > self._max_bytes or not message.get("more_body", False):
                        break
        except TimeoutError:
            slow = problem(408, "body_timeout", f"the body took longer than {self._timeout_s:g} s to arrive")
            await respond(slow)(scope, receive, send)
            return
        if size > self._max_bytes:
            large = problem(413, "body_too_large", f"the body is longer than {self._max_bytes} bytes")
            await respond(large)(scope, receive, send)
            return

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        await self._app(scope, replay, send)
