"""The examples of the pages about sending events are taken in as the pages say."""

import re
from pathlib import Path
from typing import Any

import orjson

from memory.events import AgentEvent, EventKind, decode_event
from memory.records import Record
from memory.settings import load_settings
from streams.intake import take_in

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def taken(value: bytes, headers: dict[str, bytes], topic: str = "agent.events") -> list[AgentEvent]:
    handled = take_in([Record(topic, 0, 1, 1, None, value, tuple(headers.items()))], load_settings())
    assert not handled.rejected
    return [decode_event(out.value) for out in handled.outgoing]


def test_the_cloudevents_page_sends_the_same_event_in_every_mode() -> None:
    (code,) = blocks("send-cloudevents.md", "python")
    (shown,) = blocks("send-cloudevents.md", "json")
    made: dict[str, Any] = {}
    exec(code, made)
    (binary,) = taken(made["message"].value, made["message"].headers)
    (structured,) = taken(shown.encode(), {"content-type": b"application/cloudevents+json"})
    (batched,) = taken(orjson.dumps([orjson.loads(shown)]), {"content-type": b"application/cloudevents-batch+json"})
    assert binary.occurred_at == structured.occurred_at
    assert binary.model_dump() == structured.model_dump() == batched.model_dump()
    assert (binary.kind, binary.sequence, binary.text) == (EventKind.TOOL_CALL, 3, "calls refund(order=5)")
