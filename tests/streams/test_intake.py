"""Intake: what becomes of a producer's record."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.events import decode_event, derive_id
from memory.records import Handled, Record
from memory.settings import load_settings
from streams.identity import ID_HEADER, INGESTED_HEADER, PLACE_HEADER, accepted_us, stored_id
from streams.intake import take_in
from streams.producers import Producers, TenantUnknown
from streams.topics import Topic

EVENT = {
    "tenant": "acme",
    "agent": "planner",
    "session": "s1",
    "kind": "message",
    "text": "Deploy is done",
    "occurred_at": "2026-05-08T15:56:00+02:00",
}


def record(value: object, *, offset: int = 7, headers: tuple[tuple[str, bytes], ...] = ()) -> Record:
    raw = value if isinstance(value, bytes) or value is None else orjson.dumps(value)
    return Record("agent.events", 2, offset, 1_700_000_000_123, b"any", raw, headers)


def accept(records: Sequence[Record], **changed: object) -> Handled:
    return take_in(records, load_settings(**changed))


def ids(*records: Record) -> list[str]:
    handled = accept(records)
    assert not handled.rejected
    return [dict(one.headers)[ID_HEADER].decode() for one in handled.outgoing]


def test_a_valid_event_goes_on_under_its_session_with_its_id_and_the_time_of_its_acceptance() -> None:
    trace = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    source = record({**EVENT, "id": "e1", "source": "svc"}, headers=(trace, ("other", b"x"), (ID_HEADER, b"forged")))
    (out,) = accept([source]).outgoing
    assert out.key == f"acme|s1|{derive_id('acme', 'svc', 'e1')}".encode()
    assert out.placed_by == b"acme|s1"
    assert out.headers == (
        (ID_HEADER, derive_id("acme", "svc", "e1").encode()),
        (INGESTED_HEADER, b"1700000000123000"),
        trace,
    )
    assert decode_event(out.value) == decode_event(source.value)


def test_the_next_stage_reads_the_same_id_and_time_that_intake_gave() -> None:
    for event in ({**EVENT, "id": "e1"}, {**EVENT, "sequence": 4}, EVENT):
        (out,) = accept([record(event)]).outgoing
        logged = Record("memory.events", 0, 99, 1_800_000_000_000, out.key, out.value, out.headers)
        assert stored_id(decode_event(out.value), logged) == dict(out.headers)[ID_HEADER].decode()
        assert accepted_us(logged) == 1_700_000_000_123_000


def test_without_an_id_the_place_makes_one_and_a_redelivery_or_redrive_keeps_it() -> None:
    first, again, other = ids(record(EVENT), record(EVENT), record(EVENT, offset=8))
    assert first == again != other
    assert ids(record(EVENT, offset=50, headers=((PLACE_HEADER, b"agent.events/2/7"),))) == [first]


def test_without_an_id_a_sequence_makes_one_at_any_place() -> None:
    one, elsewhere, next_one = ids(
        record({**EVENT, "sequence": 1}), record({**EVENT, "sequence": 1}, offset=8), record({**EVENT, "sequence": 2})
    )
    assert one == elsewhere != next_one


@pytest.mark.parametrize(
    ("value", "code", "why"),
    [
        (None, "malformed_event", "no value"),
        (b"\xff\x00", "malformed_event", "not JSON"),
        (b"{", "malformed_event", "not JSON"),
        (b"[]", "malformed_event", "not a valid event"),
        ({**EVENT, "session": ""}, "malformed_event", "session"),
        ({key: EVENT[key] for key in EVENT if key != "session"}, "malformed_event", "session"),
        ({**EVENT, "occurred_at": "2026-05-08T15:56:00"}, "malformed_event", "occurred_at"),
        ({**EVENT, "text": "x" * 2_000_000}, "oversize_event", "2000"),
        ({**EVENT, "text": "x" * 70_000}, "oversize_event", "longer than"),
    ],
)
def test_what_is_no_event_is_rejected_with_its_reason_and_the_others_go_on(value: object, code: str, why: str) -> None:
    handled = accept([record(EVENT), record(value), record(EVENT, offset=9)])
    assert len(handled.outgoing) == 2
    (rejected,) = handled.rejected
    assert rejected.error.code == code
    assert why in rejected.error.message


def test_a_content_type_nobody_reads_is_rejected_by_name() -> None:
    json = (("content-type", b"Application/JSON; charset=utf-8"),)
    assert len(accept([record(EVENT, headers=json)]).outgoing) == 1
    (rejected,) = accept([record(EVENT, headers=(("content-type", b"text/csv"),))]).rejected
    assert "text/csv" in rejected.error.message


@given(st.binary(max_size=200))
def test_no_bytes_make_intake_fail(value: bytes) -> None:
    handled = accept([record(value)])
    assert len(handled.outgoing) + len(handled.rejected) == 1


def no_tenant(**more: object) -> dict[str, object]:
    return {**{key: value for key, value in EVENT.items() if key != "tenant"}, **more}


def at_topic(topic: str, value: object) -> Record:
    return replace(record(value), topic=topic)


NAMED = (("magma-tenant", b"acme"),)


def test_a_header_says_whose_a_record_is_and_a_payload_that_says_otherwise_is_refused() -> None:
    handled = accept(
        [
            record(EVENT, headers=NAMED),
            record(no_tenant(), headers=NAMED),
            record({**EVENT, "tenant": "other"}, headers=NAMED),
            record(EVENT),
            record(EVENT, headers=NAMED + NAMED),
            record(EVENT, headers=(("magma-tenant", b"a|b"),)),
            record(EVENT, headers=(("magma-tenant", b"\xff"),)),
        ],
        intake_tenant="header",
    )
    assert [one.placed_by for one in handled.outgoing] == [b"acme|s1", b"acme|s1"]
    assert [one.error.code for one in handled.rejected] == ["tenant_mismatch"] + ["tenant_unknown"] * 4
    assert "other" not in handled.rejected[0].error.message


def test_a_topic_says_whose_a_record_is_and_a_payload_that_says_otherwise_is_refused() -> None:
    handled = accept(
        [
            at_topic("t.agent.events.acme", no_tenant()),
            at_topic("t.agent.events.acme", {**EVENT, "tenant": "other"}),
            at_topic("t.agent.events", EVENT),
            at_topic("agent.events.acme", EVENT),
            replace(record(EVENT, headers=NAMED), topic="t.agent.events.other"),
        ],
        intake_tenant="topic:agent.events.{tenant}",
        topic_prefix="t.",
    )
    assert [one.placed_by for one in handled.outgoing] == [b"acme|s1"]
    codes = [one.error.code for one in handled.rejected]
    assert codes == ["tenant_mismatch", "tenant_unknown", "tenant_unknown", "tenant_mismatch"]


def test_where_the_payload_decides_it_must() -> None:
    (rejected,) = accept([record(no_tenant(), headers=NAMED)]).rejected
    assert "tenant" in rejected.error.message


@pytest.mark.parametrize("form", ["topic:{tenant}", "topic:agent.events.{tenant}", "topic:{tenant}.events"])
def test_no_tenants_topic_is_one_of_the_pipelines_own(form: str) -> None:
    settings = load_settings(intake_tenant=form, topic_prefix="p-")
    topics = Producers.of(settings).topics
    assert topics is not None
    ours = [name for topic in Topic for name in (topic.name_in(settings), topic.dead_letters_in(settings))]
    assert not [name for name in [*ours, "__consumer_offsets"] if topics.match(name)]
    place, _ = Producers.of(settings).place_for("acme", settings)
    assert topics.match(place)
    for impossible in ("a/b", "ä", "x.dlq", "a b"):
        try:
            place, _ = Producers.of(settings).place_for(impossible, settings)
        except TenantUnknown:
            continue
        found = topics.match(place)
        assert found is not None
        assert found["tenant"] == impossible


@pytest.mark.parametrize(
    ("bound", "most", "event"),
    [
        ("event_max_bytes", 300, {"text": "x" * 300}),
        ("event_text_max_bytes", 10, {"text": "é" * 6}),
        ("event_attributes_max_bytes", 20, {"attributes": {"a": "x" * 20}}),
        ("event_name_max_chars", 9, {"agent": "x" * 10}),
        ("event_name_max_chars", 9, {"caused_by": ["x" * 10]}),
        ("event_refs_max", 1, {"entities": ["a", "b"]}),
    ],
)
def test_a_service_may_set_bounds_of_its_own_and_says_which_one_was_passed(
    bound: str, most: int, event: dict[str, object]
) -> None:
    assert accept([record({**EVENT, **event})]).outgoing
    (rejected,) = accept([record({**EVENT, **event})], **{bound: most}).rejected
    assert rejected.error.code == "oversize_event"
    assert bound in rejected.error.message


def test_a_trace_header_that_is_none_is_not_passed_on() -> None:
    (out,) = accept([record(EVENT, headers=(("traceparent", b"x" * 10_000), ("tracestate", b"a=1")))]).outgoing
    assert [name for name, _ in out.headers] == [ID_HEADER, INGESTED_HEADER, "tracestate"]
