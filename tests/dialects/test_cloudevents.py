"""CloudEvents as the official SDK sends them, and as nobody should."""

from collections.abc import Callable
from datetime import datetime
from functools import cache

import orjson
import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, to_binary, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from memory.events import AgentEvent, EventKind, decode_event, derive_id
from memory.records import Handled, Record
from memory.settings import load_settings
from streams.identity import ID_HEADER
from streams.intake import take_in

WHEN = "2026-05-08T15:56:00+02:00"
OURS = {"tenant": "acme", "agent": "planner", "session": "s1"}


def cloud_event(data: object, **more: object) -> CloudEvent:
    attributes = {
        "id": "e1",
        "source": "/services/deploy",
        "type": "com.example.tool_call",
        "time": datetime.fromisoformat(WHEN),
        **OURS,
        **more,
    }
    return CloudEvent(attributes={k: v for k, v in attributes.items() if v is not None}, data=data)


def as_record(message: KafkaMessage, **more: bytes) -> Record:
    headers = tuple({**message.headers, **more}.items())
    return Record("agent.events", 0, 3, 1_700_000_000_000, None, message.value, headers)


def binary(data: object, **more: object) -> Record:
    return as_record(to_binary(cloud_event(data, **more), JSONFormat()))


def structured(data: object, **more: object) -> Record:
    return as_record(to_structured(cloud_event(data, **more), JSONFormat()))


def batch(*items: object) -> Record:
    value = orjson.dumps(list(items))
    headers = (("content-type", b"application/cloudevents-batch+json; charset=utf-8"),)
    return Record("agent.events", 0, 3, 1_700_000_000_000, None, value, headers)


def in_batch(**more: object) -> dict[str, object]:
    return {
        "specversion": "1.0",
        "id": "e1",
        "source": "svc",
        "type": "x.note",
        "time": WHEN,
        "data": "hi",
        **OURS,
        **more,
    }


settings = cache(load_settings)
Sender = Callable[..., Record]


def take(*records: Record, **changed: object) -> Handled:
    return take_in(records, settings(**changed))


def taken(record: Record, **changed: object) -> AgentEvent:
    handled = take(record, **changed)
    assert not handled.rejected, handled.rejected[0].error
    (out,) = handled.outgoing
    return decode_event(out.value)


def refused(record: Record, **changed: object) -> tuple[str, str]:
    handled = take(record, **changed)
    assert not handled.outgoing
    (rejected,) = handled.rejected
    return rejected.error.code, rejected.error.message


@pytest.mark.parametrize("send", [binary, structured])
def test_an_event_of_the_sdk_becomes_ours_with_its_time_zone_its_order_and_its_envelope(send: Sender) -> None:
    event = taken(
        send(
            {"text": "rolls back to 1.4", "entities": ["payments"], "build": 7},
            sequence="12",
            partitionkey="s1",
            subject="deploys",
            dataschema="https://example.com/schemas/1",
            causedby='["e0","a,b"]',
            traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        )
    )
    assert (event.id, event.source, event.tenant, event.agent, event.session) == (
        *("e1", "/services/deploy"),
        *("acme", "planner", "s1"),
    )
    assert (event.kind, event.text, event.entities) == (EventKind.TOOL_CALL, "rolls back to 1.4", ("payments",))
    assert event.occurred_at.isoformat() == WHEN
    assert (event.sequence, event.caused_by) == (12, ("e0", "a,b"))
    assert event.trace is not None
    assert event.trace.startswith("00-4bf9")
    assert event.attributes["build"] == 7
    assert event.attributes["ce"] == {
        "type": "com.example.tool_call",
        "subject": "deploys",
        "dataschema": "https://example.com/schemas/1",
    }


def test_the_pair_of_source_and_id_makes_the_stored_id_in_either_mode() -> None:
    handled = take(binary({"text": "a"}), structured({"text": "a"}))
    ids = {dict(out.headers)[ID_HEADER].decode() for out in handled.outgoing}
    assert ids == {derive_id("acme", "/services/deploy", "e1")}


@pytest.mark.parametrize(
    ("data", "content_type", "text"),
    [
        ("plain words", "text/plain", "plain words"),
        ({"amount": 5}, "application/json", '{"amount":5}'),
        ({"amount": 5}, "application/vnd.order+json", '{"amount":5}'),
        ({"amount": 5}, None, '{"amount":5}'),
    ],
)
@pytest.mark.parametrize("send", [binary, structured])
def test_data_of_any_shape_become_the_text(send: Sender, data: object, content_type: str | None, text: str) -> None:
    assert taken(send(data, datacontenttype=content_type)).text == text


def test_base64_data_are_read_by_their_content_type() -> None:
    event = {**in_batch(datacontenttype="text/plain"), "data_base64": "w6TDtsO8"}
    del event["data"]
    assert taken(batch(event)).text == "äöü"


def test_without_our_extensions_type_subject_and_source_say_what_they_can() -> None:
    event = taken(
        binary({"amount": 5}, type="com.example.paid", subject="order-5", agent=None, session=None, sequence="0001A")
    )
    assert (event.kind, event.session, event.agent) == (EventKind.OBSERVATION, "order-5", "/services/deploy")
    assert event.sequence is None
    assert event.attributes["ce"]["sequence"] == "0001A"


@pytest.mark.parametrize("send", [binary, structured])
def test_a_header_says_whose_it_is_and_an_extension_that_says_otherwise_is_refused(send: Sender) -> None:
    def named(record: Record, tenant: bytes) -> Record:
        return Record(
            *(getattr(record, name) for name in Record.__slots__[:-1]), (*record.headers, ("magma-tenant", tenant))
        )

    assert taken(named(send({"text": "a"}, tenant=None), b"acme"), intake_tenant="header").tenant == "acme"
    assert refused(named(send({"text": "a"}), b"other"), intake_tenant="header")[0] == "tenant_mismatch"
    assert refused(send({"text": "a", "tenant": "other"}))[0] == "tenant_mismatch"


def test_a_bad_event_of_a_batch_stops_no_other_and_its_letter_holds_it_alone() -> None:
    good, bad, also_good = in_batch(), in_batch(id="e2", time="yesterday"), in_batch(id="e3")
    record = batch(good, bad, also_good, "no event")
    handled = take(record)
    assert [decode_event(out.value).id for out in handled.outgoing] == ["e1", "e3"]
    (letter,) = handled.rejected
    assert letter.error.code == "malformed_event"
    assert "2 of 4 parts; part 1:" in letter.error.message
    assert "occurred_at" in letter.error.message
    assert orjson.loads(letter.record.value or b"") == [bad, "no event"]
    assert (letter.record.place, letter.record.headers) == (record.place, record.headers)
    again = take(letter.record)
    assert not again.outgoing


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (batch({**in_batch(), "specversion": "0.3"}), "1.0"),
        (batch({**in_batch(), "id": 5}), "must have id"),
        (batch({k: v for k, v in in_batch().items() if k != "time"}), "occurred_at"),
        (batch(in_batch(time="2026-05-08T15:56:00")), "occurred_at"),
        (batch({**in_batch(), "data_base64": "AAAA"}), "not both"),
        (batch({**in_batch(data=None)}), "text"),
        (batch(in_batch(causedby="[")), "JSON"),
        (binary(b"\x00\xff", datacontenttype="image/png"), "image/png"),
        (binary(b"{", datacontenttype="application/json"), "JSON"),
        (binary(b"\xff", datacontenttype="text/plain"), "UTF-8"),
    ],
)
def test_what_is_no_event_is_refused_with_its_reason(record: Record, why: str) -> None:
    code, message = refused(record)
    assert code == "malformed_event"
    assert why in message


def test_another_format_of_cloudevents_is_refused_by_name() -> None:
    message = KafkaMessage({"content-type": b"application/cloudevents+avro"}, None, b"x")
    assert "application/cloudevents+avro" in refused(as_record(message))[1]


def test_a_batch_of_too_many_is_refused_whole() -> None:
    assert refused(batch(*([1] * 10_001)))[0] == "oversize_event"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "ce_causedby", "content-type"]),
        st.sampled_from([b"1.0", b"application/json", b"application/cloudevents+json", b"text/plain", WHEN.encode()])
        | st.binary(max_size=12),
    ),
    max_size=8,
).map(tuple)


@given(st.binary(max_size=100), HEADERS)
def test_no_bytes_under_any_headers_make_intake_fail(value: bytes, headers: tuple[tuple[str, bytes], ...]) -> None:
    handled = take(Record("agent.events", 0, 1, 1, None, value, headers))
    assert len(handled.outgoing) + len(handled.rejected) == 1


@given(st.dictionaries(st.sampled_from([*in_batch(), "sequence", "causedby", "data_base64", "subject", "x"]), JSON))
def test_nothing_of_a_batch_is_lost_whatever_its_events_say(changed: dict[str, object]) -> None:
    try:
        record = batch(in_batch(id="first"), {**in_batch(), **changed}, in_batch(id="last"))
    except TypeError:  # an integer that JSON here cannot hold: nobody can send it
        return
    handled = take(record)
    assert len(handled.outgoing) + len(handled.rejected) == 3
    assert decode_event(handled.outgoing[0].value).id == "first"


def test_nesting_without_end_is_refused() -> None:
    for raw in (b"[" * 100_000, b'{"a":' * 900 + b"1" + b"}" * 900):
        value = orjson.dumps(in_batch()).replace(b'"hi"', raw)
        headers = (("content-type", b"application/cloudevents+json"),)
        assert refused(Record("agent.events", 0, 1, 1, None, value, headers))[0] == "malformed_event"
