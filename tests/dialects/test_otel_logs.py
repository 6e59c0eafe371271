"""Log records as the OpenTelemetry SDK exports them."""

from functools import cache

import pytest
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from memory.events import AgentEvent, EventKind, decode_event
from memory.settings import load_settings
from streams.intake import take_in
from tests.dialects.agent_run import BEGAN_NS, as_json, record

settings = cache(load_settings)
TRACE, SPAN = 7 << 80, 9


def logs(*records: LogRecord, json: bool = False) -> bytes:
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(Resource({"magma.tenant": "acme", "service.name": "svc"}), shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("agent")
    for one in records:
        logger.emit(one)
    message = encode_logs(exporter.get_finished_logs())
    return as_json(message) if json else message.SerializeToString()


def said(name: str, body: object, at: int = 0, **more: object) -> LogRecord:
    return LogRecord(
        timestamp=BEGAN_NS + at,
        trace_id=TRACE,
        span_id=SPAN,
        event_name=name,
        body=body,
        **more,  # type: ignore[arg-type]
    )


def taken(value: bytes, **changed: object) -> list[AgentEvent]:
    handled = take_in([record(value)], settings(**changed))
    assert not handled.rejected, handled.rejected[0].error
    return [decode_event(out.value) for out in handled.outgoing]


CALL = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
TALK = (
    said("gen_ai.user.message", {"content": "what time is it"}),
    said("gen_ai.choice", {"index": 0, "message": {"content": "I look", "tool_calls": [CALL]}}, 1_000),
    said("gen_ai.tool.message", {"content": "12", "id": "c1"}, 2_000),
    said("", "cannot reach it", 3_000, attributes={"exception.type": "OSError", "exception.message": "no route"}),
    said("", "connection pool is full", 4_000, severity_number=SeverityNumber.ERROR),
)


@pytest.mark.parametrize("json", [False, True])
def test_messages_and_exceptions_become_steps_below_their_span(json: bool) -> None:
    events = taken(logs(*TALK, json=json))
    assert [(event.kind, event.text) for event in events] == [
        (EventKind.MESSAGE, "what time is it"),
        (EventKind.DECISION, "I look\ndecides to call clock({})"),
        (EventKind.TOOL_RESULT, "12"),
        (EventKind.ERROR, "cannot reach it OSError: no route"),
    ]
    assert {(event.session, event.parent) for event in events} == {(f"{TRACE:032x}", f"{TRACE:032x}:{SPAN:016x}")}
    assert [event.speaker for event in events[:2]] == ["user", "svc"]


def test_other_records_are_kept_when_asked_for() -> None:
    (*_, other) = taken(logs(*TALK), otlp_other="observe")
    assert (other.kind, other.text) == (EventKind.ERROR, "connection pool is full")


def test_a_record_that_comes_twice_is_one_event() -> None:
    first, again = taken(logs(*TALK)), taken(logs(*TALK))
    assert [one.id for one in first] == [one.id for one in again]
    assert len({one.id for one in first}) == len(first)


def test_details_of_a_model_call_say_what_it_answered() -> None:
    answer = '[{"role":"assistant","parts":[{"type":"text","content":"it is noon"}]}]'
    attributes = {"gen_ai.output.messages": answer, "gen_ai.conversation.id": "talk-1", "gen_ai.agent.name": "helper"}
    (event,) = taken(logs(said("gen_ai.client.inference.operation.details", None, attributes=attributes)))
    assert (event.text, event.session, event.agent) == ("it is noon", "talk-1", "helper")


def test_a_bad_record_stops_no_other() -> None:
    nobody = LogRecord(timestamp=BEGAN_NS, event_name="gen_ai.user.message", body={"content": "hi"})
    handled = take_in([record(logs(TALK[0], nobody))], settings())
    assert len(handled.outgoing) == 1
    assert "session" in handled.rejected[0].error.message
