"""An agent's run as a graph framework traces it: exported by the OpenTelemetry SDK, written as the Collector does."""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from memory.records import Record

#: 2026-05-08T10:00:00Z, in nanoseconds.
BEGAN_NS = 1_778_234_400_000_000_000
STEP_NS = 250_000_000


class Counted(IdGenerator):
    """Ids that are the same in every run; `first` tells runs apart."""

    def __init__(self, first: int = 1) -> None:
        self._next = first << 16

    def generate_span_id(self) -> int:
        self._next += 1
        return self._next

    def generate_trace_id(self) -> int:
        return self.generate_span_id() << 40


@dataclass
class Run:
    """Spans that are begun and ended on a clock of steps."""

    tenant: str | None
    first: int = 1
    service: str = "refund-service"
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    now_ns: int = BEGAN_NS

    def __post_init__(self) -> None:
        named = {} if self.tenant is None else {"magma.tenant": self.tenant}
        resource = Resource({"service.name": self.service, **named})
        self.provider = TracerProvider(resource=resource, id_generator=Counted(self.first), shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._tracer = self.provider.get_tracer("graph")

    def tick(self) -> int:
        self.now_ns += STEP_NS
        return self.now_ns

    @contextmanager
    def span(self, name: str, above: Span | None = None, error: str = "", **attributes: Any) -> Iterator[Span]:
        context = None if above is None else set_span_in_context(above)
        named = {key.replace("__", "."): value for key, value in attributes.items()}
        span = self._tracer.start_span(name, context, attributes=named, start_time=self.tick())
        yield span  # type: ignore[misc]
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(self.tick())

    def proto(self) -> bytes:
        """`otlp_proto`, as the Collector's Kafka exporter writes it."""
        return encode_spans(self.exporter.get_finished_spans()).SerializeToString()

    def json(self) -> bytes:
        """`otlp_json`."""
        return as_json(encode_spans(self.exporter.get_finished_spans()))


def as_json(message: Any) -> bytes:
    """Give the JSON encoding of OTLP: ids in hexadecimal, enumerations as numbers."""
    found = MessageToDict(message, use_integers_for_enums=True)

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: base64.b64decode(item).hex() if key in ("traceId", "spanId", "parentSpanId") else walk(item)
            for key, item in value.items()
        }

    return orjson.dumps(walk(found))


def said(role: str, *parts: dict[str, Any]) -> str:
    return orjson.dumps([{"role": role, "parts": list(parts)}]).decode()


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


ASK = "My parcel arrived broken and I want my money back"
DECIDE = "Let me book that"
ANSWER = "The refund of order 5 was not issued, I am sorry"


def refund(tenant: str | None, first: int = 1, **more: Any) -> Run:
    """A customer asks for a refund; the agent calls a tool, which fails; the agent says that there is no refund."""
    run = Run(tenant, first, **more)
    asked = {"role": "user", "parts": [text(ASK)]}
    call = {"type": "tool_call", "id": "call_1", "name": "post_entry", "arguments": {"entry": 77}}
    decided = {"role": "assistant", "parts": [text(DECIDE), call]}
    failed = {"type": "tool_call_response", "id": "call_1", "response": "error"}
    chat = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "small-1"}
    tool = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "post_entry"}
    agent = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "refund-agent"}
    with run.span("graph", **agent, gen_ai__conversation__id="case-4711") as root:
        with (
            run.span("node agent", root) as node,
            run.span(
                "chat",
                node,
                **chat,
                gen_ai__input__messages=orjson.dumps([asked]).decode(),
                gen_ai__output__messages=orjson.dumps([decided]).decode(),
            ),
        ):
            pass
        with (
            run.span("node tools", root) as node,
            run.span(
                "execute_tool post_entry",
                node,
                error="CardExpired: the card on file has expired",
                **tool,
                gen_ai__tool__call__id="call_1",
                gen_ai__tool__call__arguments='{"entry":77}',
                error__type="CardExpired",
            ),
        ):
            pass
        with (
            run.span("node agent", root) as node,
            run.span(
                "chat",
                node,
                **chat,
                gen_ai__input__messages=orjson.dumps([asked, decided, {"role": "tool", "parts": [failed]}]).decode(),
                gen_ai__output__messages=said("assistant", text(ANSWER)),
            ),
        ):
            pass
    return run


def small_talk(tenant: str, count: int) -> Run:
    """Other customers' refunds, each a talk of its own that went well."""
    run = Run(tenant, first=9)
    for number in range(10, 10 + count):
        said_so = said("assistant", text(f"The refund of order {number} was issued in full"))
        chat = {"gen_ai__operation__name": "chat", "gen_ai__conversation__id": f"case-{number}"}
        with run.span("chat", **chat, gen_ai__output__messages=said_so):
            pass
    return run


Encode = Callable[[Run], bytes]


def record(value: bytes | None, *headers: tuple[str, bytes], topic: str = "agent.otlp") -> Record:
    return Record(topic, 0, 3, 1_700_000_000_000, None, value, headers)
