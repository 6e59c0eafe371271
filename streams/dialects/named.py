"""Whom a record names that could not be taken in: what an erasure asks of dead letters."""

from collections.abc import Iterator, Mapping

import orjson

from memory.errors import Poison
from memory.records import Record
from memory.settings import Settings
from streams.dialects import cloudevents, otel, otlp
from streams.dialects.otel_tables import SERVICE, TABLES, first_of
from streams.identity import CONTENT_TYPE_HEADER, header
from streams.topics import Topic


def named_in(record: Record, settings: Settings, topic: str) -> list[Mapping[str, object]]:
    """Give what each part of the record says of tenant, session, agent, source and id; empty when it cannot be read.

    `topic`: where the record stood before it was a dead letter. Raises nothing.
    """
    content_type = (header(record, CONTENT_TYPE_HEADER) or "").partition(";")[0].strip().lower()
    if topic == Topic.AGENT_OTLP.name_in(settings) or content_type in otlp.PROTOBUF:
        try:
            return list(_telemetry(record, settings.otlp_tenant_attribute))
        except Poison:
            return []
    attributes = {
        name.lower().removeprefix(cloudevents.PREFIX): value.decode(errors="replace")
        for name, value in record.headers
        if name.lower().startswith(cloudevents.PREFIX)
    }
    try:
        found = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return [attributes] if attributes else []
    if attributes:
        return [{**found, **attributes} if isinstance(found, dict) else attributes]
    items = found if isinstance(found, list) and content_type == cloudevents.BATCH else [found]
    return [_flat(item) for item in items if isinstance(item, dict)]


def _flat(event: dict[str, object]) -> Mapping[str, object]:
    """Give our own JSON as it is, and a CloudEvent with what its data say where it says nothing itself."""
    data = event.get("data") if "specversion" in event else None
    named = {**data, **event} if isinstance(data, dict) else event
    return {"session": named.get("subject"), **named} if "specversion" in event else named


def _telemetry(record: Record, tenant_attribute: str) -> Iterator[Mapping[str, object]]:
    sessions = tuple(name for table in TABLES for name in table.session)
    agents = (*(name for table in TABLES for name in table.agent), SERVICE)
    for resource, item in otlp.units(otlp.decode(record.value)):
        attributes = otlp.attributes_of([*resource.attributes, *item.attributes])
        trace = item.trace_id.hex()
        yield {
            "tenant": attributes.get(tenant_attribute),
            "session": first_of(attributes, sessions) or trace,
            "agent": first_of(attributes, agents),
            "source": otel.SOURCE,
            "id": f"{trace}:{item.span_id.hex()}",
        }
