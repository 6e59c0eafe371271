"""A worker's `/live`, `/ready` and `/metrics`, on the loop that does the work: when it hangs, they do not answer."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import orjson
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from memory.errors import StackProblem
from memory.settings import Settings
from streams.state import DeliveryState


@asynccontextmanager
async def health_endpoint(settings: Settings, states: Sequence[DeliveryState]) -> AsyncIterator[None]:
    """Serve the endpoints on `serve_host`:`worker_http_port` while held; nothing when the port is 0.

    Raises `StackProblem` when the port is in use.
    """
    if settings.worker_http_port == 0:
        yield
        return
    runner = web.AppRunner(_app(states), access_log=None, handle_signals=False)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.serve_host, settings.worker_http_port).start()
        except OSError as error:
            raise StackProblem(
                f"port {settings.worker_http_port} of {settings.serve_host} cannot be bound: {error.strerror}",
                hint="set MAGMA_WORKER_HTTP_PORT to a free port, or to 0 for none",
            ) from error
        yield
    finally:
        await runner.cleanup()


def _app(states: Sequence[DeliveryState]) -> web.Application:
    async def live(_: web.Request) -> web.Response:
        return _json({"live": True}, 200)

    async def ready(_: web.Request) -> web.Response:
        all_ready = all(state.ready for state in states)
        return _json({"ready": all_ready, "stages": [state.report() for state in states]}, 200 if all_ready else 503)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/live", live), web.get("/ready", ready), web.get("/metrics", metrics)])
    return app


def _json(document: dict[str, object], status: int) -> web.Response:
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")
