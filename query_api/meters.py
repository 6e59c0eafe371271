"""What `/metrics` tells (Prometheus). One registry an app, so that two apps in a process do not mix."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from query_api.models import QueryResult

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.25, 2.5, 5.0, 10.0)
_TOKENS = (100, 250, 500, 1_000, 2_000, 3_000, 5_000, 10_000)


class Meters:
    """Counters and histograms of the query service; label values come from routes and enums, never from requests."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "magma_http_requests",
            "Requests answered",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "magma_http_request_seconds",
            "Seconds from the request to the end of its answer",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.stage_seconds = Histogram(
            "magma_query_stage_seconds",
            "Seconds in a stage of retrieval",
            ("stage",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.context_tokens = Histogram(
            "magma_query_context_tokens",
            "Tokens of the contexts given",
            buckets=_TOKENS,
            registry=self.registry,
        )
        self.degraded = Counter(
            "magma_query_degraded", "Queries that worked less well than they should", ("sign",), registry=self.registry
        )
        self.running = Gauge("magma_queries_running", "Queries being answered now", registry=self.registry)
        self.ready = Gauge("magma_ready", "1 when the last look found both stores answering", registry=self.registry)

    def query(self, result: QueryResult) -> None:
        """Count one answered query."""
        for stage, ms in result.timings_ms.model_dump().items():
            self.stage_seconds.labels(stage).observe(ms / 1_000)
        self.context_tokens.observe(result.tokens)
        for sign in result.degraded:
            self.degraded.labels(sign).inc()

    def text(self) -> bytes:
        """Give the exposition."""
        exposition: bytes = generate_latest(self.registry)  # type: ignore[no-untyped-call]
        return exposition


class Metered:
    """ASGI middleware: counts every answer by method, route and status."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500
        started = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            self._meters.requests.labels(scope["method"], route, str(status)).inc()
            self._meters.request_seconds.labels(route).observe(time.perf_counter() - started)
