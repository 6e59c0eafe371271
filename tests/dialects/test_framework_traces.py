"""Traces of agent frameworks as they are, where they lie beside the project; they are never part of it."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from memory.events import EventKind, decode_event
from memory.settings import load_settings
from streams.intake import take_in
from tests.dialects.agent_run import record

TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "otel_genai"


def as_otlp(trace: dict[str, Any]) -> bytes:
    """Give the JSON of OTLP for a trace that was written down as its SDK's spans."""
    spans = []
    for span in trace["spans"]:
        parent = span["parent"]
        spans.append(
            {
                "traceId": f"{span['context']['trace_id']:032x}",
                "spanId": f"{span['context']['span_id']:016x}",
                "parentSpanId": "" if parent is None or parent["span_id"] is None else f"{parent['span_id']:016x}",
                "name": span["name"],
                "startTimeUnixNano": str(span["start_time"]),
                "endTimeUnixNano": str(span["end_time"]),
                "attributes": [
                    {"key": key, "value": {"stringValue": value}}
                    for key, value in span["attributes"].items()
                    if isinstance(value, str)
                ],
            }
        )
    resource = {"attributes": [{"key": "magma.tenant", "value": {"stringValue": "acme"}}]}
    return orjson.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]})


FOUND = sorted(TRACES.glob("*.json"))
if FOUND:

    @pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
    def test_every_step_of_a_frameworks_trace_is_there_and_its_tools_are_causes(path: Path) -> None:
        trace = json.loads(path.read_bytes())  # ids of 128 bits are numbers here
        handled = take_in([record(as_otlp(trace))], load_settings())
        assert not handled.rejected, handled.rejected[0].error
        events = [decode_event(out.value) for out in handled.outgoing]
        operations = [span["attributes"].get("gen_ai.operation.name") for span in trace["spans"]]
        calls = [event for event in events if event.kind is EventKind.TOOL_CALL]
        assert len(calls) == operations.count("execute_tool")
        decided = {event.id for event in events if event.kind is EventKind.DECISION}
        assert all(set(call.caused_by) & decided for call in calls)
        results = {event.id for event in events if event.kind is EventKind.TOOL_RESULT}
        used = {cause for event in events if event.kind is not EventKind.TOOL_CALL for cause in event.caused_by}
        assert results <= used
        assert any(event.kind is EventKind.MESSAGE and event.speaker == "user" for event in events)
