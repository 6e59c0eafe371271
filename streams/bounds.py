"""The bounds that a service sets for its events; they are within those of the contract (`memory.events`)."""

import orjson

from memory.errors import OversizeEvent
from memory.events import AgentEvent
from memory.settings import Settings

#: Longest value of a trace header that is passed on, in bytes: what W3C trace context demands at least.
MAX_TRACE_BYTES = 512


def check_bounds(settings: Settings, event: AgentEvent, value_bytes: int) -> None:
    """Refuse an event over one of the bounds; raises `OversizeEvent` that names the bound and the size."""
    names = (
        *(event.id, event.source, event.tenant, event.agent, event.session, event.speaker, event.parent),
        *event.caused_by,
        *event.entities,
        *event.derived_from,
    )
    refs = max(len(event.caused_by), len(event.entities), len(event.derived_from))
    attributes_bytes = len(orjson.dumps(event.attributes)) if event.attributes else 0
    sizes = (
        ("event_max_bytes", value_bytes, settings.event_max_bytes),
        ("event_text_max_bytes", len(event.text.encode()), settings.event_text_max_bytes),
        ("event_attributes_max_bytes", attributes_bytes, settings.event_attributes_max_bytes),
        ("event_name_max_chars", max(len(name) for name in names if name), settings.event_name_max_chars),
        ("event_refs_max", refs, settings.event_refs_max),
    )
    for bound, size, most in sizes:
        if size > most:
            raise OversizeEvent(f"over {bound}: {size} where {most} is the most")
