"""Events for the tests of this room."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memory.events import EventKind, EventNode, to_us

_PLAIN = EventNode(
    tenant="t",
    id="e1",
    ref="e1",
    source="",
    session="s1",
    agent="deploy-bot",
    kind=EventKind.MESSAGE,
    text="",
    speaker="Ada",
    occurred_us=to_us(datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
    offset_minutes=0,
    sequence=0,
    ingested_us=0,
    arrival=0,
    digest="",
)


def node(text: str, **changes: Any) -> EventNode:
    """Give an event of 8 May 2023 that says this."""
    return replace(_PLAIN, text=text, **changes)
