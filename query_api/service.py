"""The HTTP face of the query path: `make_app` builds it, `serve` runs it."""

import logging
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from typing import Any

import orjson
import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response, StreamingResponse

import memory
from memory.errors import BadSetting, LlmNotConfigured, MagmaError, Misconfigured
from memory.settings import Settings
from query_api.access import Tenant, check_bind, is_loopback
from query_api.answer import Answerer, Delta
from query_api.auth.authenticator import Authenticator
from query_api.auth.buckets import Buckets
from query_api.auth.gate import Gate
from query_api.backends import Backends, Opened
from query_api.bodies import BoundedBodies
from query_api.browse import browse
from query_api.forget import Order, forgetting
from query_api.forgetful import Feed, forgetful
from query_api.meters import Metered, Meters
from query_api.models import AnswerResult, QueryRequest, QueryResult
from query_api.policy import Policy
from query_api.problems import PROBLEM_RESPONSES, Refused, install, problem_of
from query_api.reading import Reading
from query_api.strict import check_bounds, json_only, known_parameters
from query_api.submit import Accept, OpenDoor, submitting

_log = logging.getLogger(__name__)


class Service:
    """What the routes share: the stores, the meters, and the bound on questions at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.meters = Meters()
        self.backends: Backends | None = None
        self.accept: Accept | None = None
        self._running = 0

    def opened(self) -> Opened:
        """Give the open stores; raises what keeps them closed."""
        if self.backends is None:
            raise Refused(503, "not_ready", "the service is starting or stopping")
        return self.backends.current()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Opened]:
        """Take one of the places for questions; raises `Refused` when all are taken."""
        if self._running >= self.settings.http_running_max:
            raise Refused(503, "overloaded", "as many questions are being answered already as may be at once")
        self._running += 1
        self.meters.running.set(self._running)
        try:
            yield self.opened()
        finally:
            self._running -= 1
            self.meters.running.set(self._running)


def make_app(
    settings: Settings,
    policy: Policy | None = None,
    *,
    order: Order | None = None,
    feed: Feed | None = None,
    door: OpenDoor | None = None,
) -> FastAPI:
    """Build the app; its stores are opened when it starts, on the loop that serves, and closed when it stops.

    `order` writes erasures to the log, `door` opens what takes events in; without them there are no such routes.
    `feed` gives everybody's orders: what this process remembers of their tenants is forgotten.

    Raises `BadSetting` when the API keys or the key set cannot be read.
    """
    service = Service(settings)
    authenticator = Authenticator(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if not authenticator.configured:
            _log.warning(
                "no authentication is configured: this service answers this machine only, and takes the tenant from "
                "the header X-Magma-Tenant"
            )
        try:
            async with authenticator.watching(), Backends.open(settings, policy) as backends, AsyncExitStack() as stack:
                service.accept = await stack.enter_async_context(door()) if door is not None else None
                service.backends = backends
                try:
                    async with forgetful(service.opened, feed):
                        yield
                finally:
                    service.backends = service.accept = None
        except Misconfigured as error:
            app.state.fatal = error
            raise

    app = FastAPI(
        title="Magma",
        version=memory.__version__,
        summary="Questions to an agent memory: a compact context, and the path that led to it.",
        lifespan=lifespan,
        responses=PROBLEM_RESPONSES,
        docs_url=None,  # both pages load their scripts from elsewhere
        redoc_url=None,
        dependencies=[Depends(known_parameters), Depends(json_only)],
    )
    app.state.fatal = None
    install(app)
    # the last one added is the first to see a request
    app.add_middleware(BoundedBodies, max_bytes=settings.http_body_max_bytes, timeout_s=settings.http_body_timeout_s)
    buckets = Buckets(settings.rate_per_s, settings.rate_burst)
    app.add_middleware(Gate, settings=settings, authenticator=authenticator, buckets=buckets)
    app.add_middleware(Metered, meters=service.meters)
    _add_operations(app, service, telling=not authenticator.configured)
    _add_questions(app, service)
    app.include_router(browse(service.opened, max_page=settings.page_max_items))
    if door is not None:
        app.include_router(submitting(lambda: service.accept))
    if order is not None:
        app.include_router(forgetting(service.opened, order))
    return app


def _add_operations(app: FastAPI, service: Service, *, telling: bool) -> None:
    """Add what needs no credential; `telling`: say why a store is missing, which names addresses."""

    @app.get("/live", tags=["operations"])
    async def live() -> dict[str, str]:
        """Say that the process serves; says nothing of the stores."""
        return {"status": "live"}

    @app.get("/ready", tags=["operations"])
    async def ready() -> dict[str, str]:
        """Say that both stores answer; otherwise a problem that names what is missing."""
        missing = {"service": "starting or stopping"} if service.backends is None else await service.backends.missing()
        service.meters.ready.set(0 if missing else 1)
        if missing:
            detail = "; ".join(f"{name}: {why}" if telling else name for name, why in missing.items())
            raise Refused(503, "not_ready", detail, missing=tuple(missing))
        return {"status": "ready"}

    @app.get("/metrics", tags=["operations"], response_class=Response)
    async def metrics() -> Response:
        """Give the meters for Prometheus."""
        return Response(service.meters.text(), media_type=service.meters.content_type)


def _add_questions(app: FastAPI, service: Service) -> None:
    @app.post("/v1/query", tags=["questions"], response_model_exclude_none=False)
    async def query(tenant: Tenant, request: QueryRequest) -> QueryResult:
        """Retrieve for a question: intent, anchors, events with their paths, and a context within the budget."""
        check_bounds(service.settings, request)
        async with service.turn() as opened:
            result = await opened.retriever.query(tenant, request)
        service.meters.query(result)
        return result

    @app.post("/v1/answer", tags=["questions"], response_model=AnswerResult)
    async def answer(tenant: Tenant, request: QueryRequest, http: Request) -> Any:
        """Answer a question from what is retrieved; `Accept: text/event-stream` streams it."""
        check_bounds(service.settings, request)
        async with service.turn() as opened:
            answerer = _answerer(opened)
            if "text/event-stream" not in http.headers.get("accept", ""):
                answered = await answerer.answer(opened.retriever, tenant, request)
                service.meters.query(answered)
                return answered
            reading = await opened.retriever.read(tenant, request)
        # a stream outlives its handler, so it takes its own turn
        return StreamingResponse(_stream(service, reading, request), media_type="text/event-stream")


def _answerer(opened: Opened) -> Answerer:
    if opened.answerer is None:
        raise LlmNotConfigured(
            "answers need a language model and none is configured",
            hint="set llm_provider=openai and openai_base_url or openai_api_key; POST /v1/query works without",
        )
    return opened.answerer


async def _stream(service: Service, reading: Reading, request: QueryRequest) -> AsyncIterator[bytes]:
    """Give server-sent events: `retrieval`, then `delta`s, then `answer`; or `problem` when something goes wrong."""
    try:
        async with service.turn() as opened, aclosing(_answerer(opened).stream(reading, request)) as parts:
            async for part in parts:
                if isinstance(part, Delta):
                    yield _event("delta", orjson.dumps({"text": part.text}))
                elif isinstance(part, AnswerResult):
                    service.meters.query(part)
                    shown = {"answer", "citations", "degraded", "answer_ms", "prompt_version", "model"}
                    yield _event("answer", part.model_dump_json(include=shown).encode())
                else:
                    yield _event("retrieval", part.model_dump_json(by_alias=True).encode())
    except MagmaError as error:
        yield _event("problem", problem_of(error).model_dump_json().encode())
    except Refused as error:
        yield _event("problem", error.problem.model_dump_json().encode())


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def serve(
    settings: Settings,
    *,
    host: str | None = None,
    port: int | None = None,
    order: Order | None = None,
    feed: Feed | None = None,
    door: OpenDoor | None = None,
) -> None:
    """Serve until told to stop (SIGINT, SIGTERM).

    Raises `BadSetting` for an address beyond this machine while no authentication is configured or for keys and
    certificates that cannot be read, and `Misconfigured`
    when a store says that a person must change something.
    """
    host = settings.serve_host if host is None else host
    check_bind(host, authenticated=settings.authenticated)
    _check_free(host, settings.serve_port if port is None else port)
    app = make_app(settings, order=order, feed=feed, door=door)
    _check_certificate(settings)
    if not is_loopback(host) and settings.serve_tls_cert_file is None:
        _log.warning("serving on %s without TLS: credentials can be read on their way unless a proxy speaks TLS", host)
    config = uvicorn.Config(
        app,
        host=host,
        port=settings.serve_port if port is None else port,
        log_level="info",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(1, round(settings.stop_timeout_s)),
        limit_concurrency=settings.http_connections_max,
        http="h11",  # the other parser has no bound on headers
        h11_max_incomplete_event_size=settings.http_headers_max_bytes,
        ssl_certfile=settings.serve_tls_cert_file,
        ssl_keyfile=settings.serve_tls_key_file,
        proxy_headers=False,  # the peer's address decides who may ask: nobody may name another
        lifespan="on",
    )
    # what stops the start is raised below as a sentence; uvicorn would print where it was raised as well
    logging.getLogger("uvicorn.error").addFilter(lambda record: not record.getMessage().startswith("Traceback"))
    with _stopped_cleanly():
        uvicorn.Server(config).run()
    if isinstance(app.state.fatal, Misconfigured):
        raise app.state.fatal


def _check_free(host: str, port: int) -> None:
    """Raise `BadSetting` for a port that another process listens on: before anything is loaded, in a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BadSetting(
                f"cannot listen on {host} port {port}: {error.strerror}",
                hint="choose another with --port",
            ) from error


def _check_certificate(settings: Settings) -> None:
    """Raise `BadSetting` for a certificate or key that cannot be used; a key must not have a password."""
    if settings.serve_tls_cert_file is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            settings.serve_tls_cert_file, settings.serve_tls_key_file, password=lambda: ""
        )
    except OSError as error:  # ssl.SSLError is one
        raise BadSetting(
            f"the certificate of the query service cannot be used: {type(error).__name__}",
            hint="check serve_tls_cert_file and serve_tls_key_file",
        ) from None


@contextmanager
def _stopped_cleanly() -> Iterator[None]:
    """Let a signal end here after it has stopped the service: uvicorn raises it again for the exit status."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
