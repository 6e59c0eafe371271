"""Traces as the OpenTelemetry SDK exports them: what becomes of each span, and of a bad one."""

import json
from functools import cache

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.trace import SpanContext

from memory.events import AgentEvent, EventKind, decode_event
from memory.records import Handled, Record
from memory.settings import load_settings
from streams.dialects.otel_tables import GEN_AI
from streams.intake import take_in
from tests.dialects.agent_run import ANSWER, ASK, BEGAN_NS, DECIDE, Encode, Run, record, refund

settings = cache(load_settings)
ENCODINGS = [Run.proto, Run.json]


def take(*records: Record, **changed: object) -> Handled:
    return take_in(records, settings(**changed))


def taken(value: bytes, **changed: object) -> list[AgentEvent]:
    handled = take(record(value), **changed)
    assert not handled.rejected, handled.rejected[0].error
    return [decode_event(out.value) for out in handled.outgoing]


def by_text(events: list[AgentEvent]) -> dict[str, AgentEvent]:
    return {event.text: event for event in events}


@pytest.mark.parametrize("encode", ENCODINGS)
def test_a_run_is_one_session_in_the_order_of_its_spans(encode: Encode) -> None:
    events = sorted(taken(encode(refund("acme"))), key=lambda one: (one.occurred_at, one.sequence))
    assert [(event.kind, event.text) for event in events] == [
        (EventKind.STATE_CHANGE, "refund-agent starts"),
        (EventKind.MESSAGE, ASK),
        (EventKind.DECISION, f'{DECIDE}\ndecides to call post_entry({{"entry":77}})'),
        (EventKind.TOOL_CALL, 'calls post_entry({"entry":77})'),
        (EventKind.ERROR, "post_entry failed: CardExpired: the card on file has expired"),
        (EventKind.MESSAGE, ANSWER),
    ]
    assert {(event.tenant, event.session, event.agent, event.source) for event in events} == {
        ("acme", "case-4711", "refund-agent", "otel")
    }
    assert [event.speaker for event in events if event.kind is EventKind.MESSAGE] == ["user", "refund-agent"]


@pytest.mark.parametrize("encode", ENCODINGS)
def test_spans_above_links_and_calls_of_tools_are_causes(encode: Encode) -> None:
    events = taken(encode(refund("acme")))
    start, ask, decision, call, error, answer = sorted(events, key=lambda one: (one.occurred_at, one.sequence))
    assert decision.parent == call.parent == answer.parent == start.id
    assert decision.caused_by == (ask.id,)
    assert call.caused_by == (decision.id,)
    assert error.parent == call.id
    assert answer.caused_by == (error.id,)
    assert call.id is not None
    trace, span = call.id.split(":")
    assert (len(trace), len(span), error.id) == (32, 16, f"{call.id}:error")


def test_both_encodings_say_the_same() -> None:
    def as_set(events: list[AgentEvent]) -> set[str]:
        return {event.model_dump_json() for event in events}

    assert as_set(taken(refund("acme").proto())) == as_set(taken(refund("acme").json()))


def test_a_link_is_a_cause_and_an_agent_below_another_is_a_handoff() -> None:
    run = Run("acme")
    agent = {"gen_ai__operation__name": "invoke_agent"}
    with run.span("a", **agent, gen_ai__agent__name="planner") as root:
        root.add_link(SpanContext(7 << 80, 9, is_remote=True))
        with run.span("b", root, **agent, gen_ai__agent__name="writer"):
            pass
    handed, started = taken(run.proto())
    assert started.caused_by == (f"{7 << 80:032x}:{9:016x}",)
    assert (handed.kind, handed.text, handed.parent) == (EventKind.HANDOFF, "hands over to writer", started.id)
    assert (handed.session, handed.agent) == (started.id.split(":")[0] if started.id else "", "writer")


def test_a_failing_tool_keeps_its_result_and_an_exception_says_why() -> None:
    run = Run("acme")
    tool = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "read"}
    with run.span("t", **tool, gen_ai__tool__call__result="half a page") as span:
        span.record_exception(OSError("disk full"), timestamp=BEGAN_NS)
    texts = by_text(taken(run.proto()))
    assert set(texts) == {"calls read()", "read returned: half a page", "read failed: OSError: disk full"}


def test_a_loop_without_ids_is_told_from_the_order_of_its_spans() -> None:
    run = Run("acme")
    chat = {"gen_ai__operation__name": "chat"}
    tool = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "clock",
        "gen_ai__tool__call__result": "12",
    }
    with run.span("agent", gen_ai__operation__name="invoke_agent") as root:
        with run.span("chat", root, **chat, gen_ai__output='[{"tool.name":"clock","tool.args":"{}"}]'):
            pass
        with run.span("tool", root, **tool):
            pass
        with run.span("chat", root, **chat, gen_ai__output__messages="it is noon"):
            pass
    found = by_text(taken(run.proto()))
    assert found["calls clock()"].caused_by == (found["decides to call clock({})"].id,)
    assert found["it is noon"].caused_by == (found["clock returned: 12"].id,)


def test_openinference_is_read_by_its_own_table() -> None:
    run = Run("acme")
    kind = "openinference__span__kind"
    messages = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "what time is it",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "clock",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
    }
    agent_span = {kind: "AGENT", "agent__name": "helper", "session__id": "s9"}
    with run.span("chain", **{kind: "CHAIN"}) as root, run.span("agent", root, **agent_span) as agent:
        with run.span("llm", agent, **{kind: "LLM"}, **messages):
            pass
        with run.span("tool", agent, **{kind: "TOOL"}, tool__name="clock", tool_call__id="c1", output__value="12"):
            pass
    found = by_text(taken(run.proto()))
    assert set(found) == {
        *("hands over to helper", "what time is it", "decides to call clock({})"),
        *("calls clock()", "clock returned: 12"),
    }
    assert found["calls clock()"].caused_by == (found["decides to call clock({})"].id,)
    assert {event.session for event in found.values()} == {"s9"}


def test_what_no_table_knows_is_dropped_or_observed_and_memory_and_embeddings_are_never_heard() -> None:
    run = Run("acme")
    with run.span("GET /orders", http__route="/orders") as root:
        with run.span("memory", root, gen_ai__operation__name="search_memory"):
            pass
        with run.span("embed", root, gen_ai__operation__name="embeddings"):
            pass
        with run.span("x", root, gen_ai__operation__name="execute_tool", gen_ai__tool__name="t"):
            pass
    (only,) = taken(run.proto())
    assert (only.text, only.parent) == ("calls t()", None)
    found = by_text(taken(run.proto(), otlp_other="observe"))
    assert set(found) == {"calls t()", "span GET /orders"}
    assert found["calls t()"].parent == found["span GET /orders"].id
    assert found["span GET /orders"].attributes["otel"]["http.route"] == "/orders"


def test_content_that_is_not_captured_leaves_the_step() -> None:
    run = Run("acme")
    with run.span("chat", gen_ai__operation__name="chat", gen_ai__request__model="small-1"):
        pass
    assert [event.text for event in taken(run.proto())] == ["asks the model small-1"]


def test_a_bad_span_stops_no_other_and_its_letter_holds_it_alone() -> None:
    data = TracesData.FromString(refund("acme").proto())
    spans = data.resource_spans[0].scope_spans[0].spans
    spans[0].span_id = b""
    spans[2].start_time_unix_nano = 0
    handled = take(record(data.SerializeToString()))
    assert len(handled.outgoing) == 3
    (letter,) = handled.rejected
    assert letter.error.code == "malformed_event"
    assert "2 of" in letter.error.message
    kept = TracesData.FromString(letter.record.value or b"")
    assert [span.name for span in kept.resource_spans[0].scope_spans[0].spans] == [spans[0].name, spans[2].name]
    mended = TracesData()
    mended.CopyFrom(kept)
    for span in mended.resource_spans[0].scope_spans[0].spans:
        span.span_id, span.start_time_unix_nano = bytes(range(8)), BEGAN_NS
    assert take(record(mended.SerializeToString())).outgoing


def test_a_step_that_is_too_long_is_a_letter_and_the_other_steps_of_its_span_are_not() -> None:
    run = Run("acme")
    tool = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "dump"}
    with run.span("t", **tool, gen_ai__tool__call__result="x" * 70_000):
        pass
    handled = take(record(run.proto()))
    assert [decode_event(out.value).text for out in handled.outgoing] == ["calls dump()"]
    assert handled.rejected[0].error.code == "oversize_event"


def test_whose_a_trace_is_follows_the_rules_of_every_record() -> None:
    named = ("magma-tenant", b"acme")
    (rejected,) = take(record(refund(None).proto())).rejected
    assert "tenant" in rejected.error.message
    assert len(take(record(refund(None).proto(), named), intake_tenant="header").outgoing) == 6
    (rejected,) = take(record(refund("other").proto(), named), intake_tenant="header").rejected
    assert rejected.error.code == "tenant_mismatch"
    assert take(record(refund("acme").proto()), intake_tenant="header").rejected[0].error.code == "tenant_unknown"
    typed = ("content-type", b"application/x-protobuf")
    handled = take(record(refund(None).proto(), typed, topic="in.acme"), intake_tenant="topic:in.{tenant}")
    assert len(handled.outgoing) == 6
    sourced = take(record(refund("acme").proto(), ("magma-source", b"collector")), trust_source="header")
    assert {decode_event(out.value).source for out in sourced.outgoing} == {"collector"}


def test_a_content_type_decides_where_there_is_one() -> None:
    text, proto = ("content-type", b"application/json"), ("content-type", b"application/x-protobuf")
    assert take(record(refund("acme").json(), text)).outgoing
    assert not take(record(refund("acme").json(), proto)).outgoing
    assert not take(record(refund("acme").proto(), text)).outgoing
    assert not take(record(b"{}", ("content-type", b"text/csv"))).outgoing


@pytest.mark.parametrize(
    "value", [None, b"", b"{}", b"{", b"\xff" * 40, b'{"resourceSpans":[1]}', b'{"resourceSpans":5}']
)
def test_what_is_no_otlp_is_a_letter(value: bytes | None) -> None:
    handled = take(record(value))
    assert [one.error.code for one in handled.rejected] == ["malformed_event"]


def test_more_spans_than_a_record_may_hold_are_a_letter_that_says_what_to_do() -> None:
    data = TracesData()
    data.resource_spans.add().scope_spans.add().spans.add().trace_id = bytes(16)
    one = data.resource_spans[0].scope_spans[0].spans[0]
    data.resource_spans[0].scope_spans[0].spans.extend([one] * 10_000)
    (rejected,) = take(record(data.SerializeToString())).rejected
    assert rejected.error.code == "oversize_event"
    assert "send_batch_max_size" in str(rejected.error)


def test_nesting_and_circles_have_an_end() -> None:
    deep: object = "x"
    for _ in range(200):
        deep = {"arrayValue": {"values": [deep]}} if isinstance(deep, dict) else {"stringValue": deep}
    trace = orjson.loads(refund("acme").json())
    trace["resourceSpans"][0]["resource"]["attributes"].append({"key": "deep", "value": deep})
    assert [one.error.code for one in take(record(json.dumps(trace).encode())).rejected] == ["malformed_event"]
    data = TracesData.FromString(refund("acme").proto())
    for span in data.resource_spans[0].scope_spans[0].spans:
        span.parent_span_id = span.span_id
    assert len(take(record(data.SerializeToString())).outgoing) == 6
    spans = data.resource_spans[0].scope_spans[0].spans
    for place, span in enumerate(spans):
        span.parent_span_id = spans[place - 1].span_id
    assert len(take(record(data.SerializeToString())).outgoing) == 6


def test_every_official_name_of_the_table_is_one_of_the_pinned_version() -> None:
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
    from opentelemetry.semconv.schemas import Schemas

    official = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    rows = (GEN_AI.session, GEN_AI.agent, GEN_AI.description, GEN_AI.tool, GEN_AI.call_id, GEN_AI.arguments)
    more = (GEN_AI.result, GEN_AI.model, GEN_AI.asked, GEN_AI.answered)
    assert {row[0] for row in (*rows, *more)} | {GEN_AI.operation} <= official
    assert Schemas.V1_44_0.value.endswith(GEN_AI.version)


GOOD = [refund("acme").proto(), refund("acme").json()]


@given(st.sampled_from(GOOD), st.integers(0, 3_000), st.binary(max_size=8), st.integers(0, 40))
def test_no_damage_makes_intake_fail_or_lose_a_record_in_silence(good: bytes, at: int, put: bytes, cut: int) -> None:
    value = good[:at] + put + good[at + cut :]
    handled = take(record(value))
    assert handled.outgoing or handled.rejected


@given(st.binary(max_size=200))
def test_no_bytes_make_intake_fail(value: bytes) -> None:
    handled = take(record(value))
    assert not handled.outgoing
    assert len(handled.rejected) <= 1


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "parts",
                    "type",
                    "content",
                    "id",
                    "name",
                    "arguments",
                    "response",
                    "tool_calls",
                    "function",
                    "text",
                    "message",
                    "messages",
                    "tool.name",
                    "tool.args",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(ANYTHING, ANYTHING)
def test_no_message_in_any_shape_makes_intake_fail(asked: object, answered: object) -> None:
    run = Run("acme")
    with run.span(
        "chat",
        gen_ai__operation__name="chat",
        gen_ai__input__messages=orjson.dumps(asked).decode(),
        gen_ai__output__messages=orjson.dumps(answered).decode(),
    ):
        pass
    handled = take(record(run.proto()))
    assert handled.outgoing or handled.rejected
