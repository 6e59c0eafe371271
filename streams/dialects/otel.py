"""OpenTelemetry: a record of OTLP becomes the events of its spans or log records."""

from collections.abc import Iterator, Set
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from memory.errors import Poison
from memory.events import AgentEvent
from memory.records import Record
from streams.dialects import otlp
from streams.dialects.message import Message, Piece
from streams.dialects.otel_logs import log_events
from streams.dialects.otel_spans import SpanEvents
from streams.dialects.otel_view import Index, View, view_of

#: The source of every event from telemetry, so that spans of several services can name each other.
SOURCE = "otel"


def read_otlp(
    record: Record,
    tenant: str | None,
    *,
    source: str | None = SOURCE,
    tenant_attribute: str,
    observe: bool,
    json: bool | None = None,
) -> Message:
    """Read a record of OTLP; raises `MalformedEvent`, `OversizeEvent` when it is none as a whole.

    `tenant_attribute`: the resource attribute that names the tenant; `tenant` where it does not. `observe`: what no
    table knows becomes an observation.
    """
    data = otlp.decode(record.value, json=json)
    resources: dict[int, dict[str, object]] = {}

    def resource_of(resource: Any) -> dict[str, object]:
        found = resources.get(id(resource))
        if found is None:
            found = resources[id(resource)] = otlp.attributes_of(resource.attributes)
        return found

    def whose(resource: dict[str, object]) -> str | None:
        named = resource.get(tenant_attribute)
        return tenant if named is None else str(named)

    def spans() -> Iterator[Piece]:
        views: list[View] = []
        for unit, (resource, span) in enumerate(units):
            try:
                views.append(view_of(unit, resource_of(resource), span))
            except Poison as error:
                yield Piece(unit, error)
        index = Index.of(views, observe=observe)
        for view in views:
            events = SpanEvents(index, source=source, tenant=whose(view.resource))
            yield from (Piece(view.unit, event) for event in events.of(view))

    def logs() -> Iterator[Piece]:
        for unit, (resource, log) in enumerate(units):
            told: Iterator[AgentEvent | Poison] = log_events(
                resource_of(resource), log, source=source, tenant=whose(resource_of(resource)), observe=observe
            )
            yield from (Piece(unit, event) for event in told)

    def rest(wanted: Set[int]) -> Record:
        return otlp.only(record, data, wanted)

    # the messages are held while their resources are told apart by identity
    units = list(otlp.units(data))
    return Message(tuple(spans() if isinstance(data, TracesData) else logs()), rest)
