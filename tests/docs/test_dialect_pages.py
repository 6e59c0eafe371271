"""The examples of the pages about sending events are taken in as the pages say."""

import re
from pathlib import Path
from typing import Any

import orjson
import yaml

from memory.events import AgentEvent, EventKind, decode_event
from memory.records import Record
from memory.settings import load_settings
from streams.intake import take_in
from streams.topics import Topic

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


def test_the_opentelemetry_page_sends_a_call_and_its_error_and_configures_the_collector_for_our_topic() -> None:
    (code,) = blocks("send-opentelemetry.md", "python")
    (shown,) = blocks("send-opentelemetry.md", "yaml")
    made: dict[str, Any] = {}
    exec(code, made)
    call, error = taken(made["value"], {}, "agent.otlp")
    assert (call.kind, error.kind, error.parent) == (EventKind.TOOL_CALL, EventKind.ERROR, call.id)
    assert (call.tenant, call.session) == ("acme", "case-4711")
    exporter = yaml.safe_load(shown)["exporters"]["kafka"]
    assert {exporter[signal]["topic"] for signal in ("traces", "logs")} == {Topic.AGENT_OTLP.value}
