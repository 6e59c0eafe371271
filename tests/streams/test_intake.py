"""Intake: what becomes of a producer's record."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.events import decode_event, derive_id
from memory.records import Record
from streams.identity import ID_HEADER, INGESTED_HEADER, PLACE_HEADER, accepted_us, stored_id
from streams.intake import take_in

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


def ids(*records: Record) -> list[str]:
    handled = take_in(records)
    assert not handled.rejected
    return [dict(one.headers)[ID_HEADER].decode() for one in handled.outgoing]


def test_a_valid_event_goes_on_under_its_session_with_its_id_and_the_time_of_its_acceptance() -> None:
    trace = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    source = record({**EVENT, "id": "e1", "source": "svc"}, headers=(trace, ("other", b"x"), (ID_HEADER, b"forged")))
    (out,) = take_in([source]).outgoing
    assert out.key == b"acme|s1"
    assert out.headers == (
        (ID_HEADER, derive_id("acme", "svc", "e1").encode()),
        (INGESTED_HEADER, b"1700000000123000"),
        trace,
    )
    assert decode_event(out.value) == decode_event(source.value)


def test_the_next_stage_reads_the_same_id_and_time_that_intake_gave() -> None:
    for event in ({**EVENT, "id": "e1"}, {**EVENT, "sequence": 4}, EVENT):
        (out,) = take_in([record(event)]).outgoing
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
    handled = take_in([record(EVENT), record(value), record(EVENT, offset=9)])
    assert len(handled.outgoing) == 2
    (rejected,) = handled.rejected
    assert rejected.error.code == code
    assert why in rejected.error.message


def test_a_content_type_nobody_reads_is_rejected_by_name() -> None:
    json = (("content-type", b"Application/JSON; charset=utf-8"),)
    assert len(take_in([record(EVENT, headers=json)]).outgoing) == 1
    (rejected,) = take_in([record(EVENT, headers=(("content-type", b"text/csv"),))]).rejected
    assert "text/csv" in rejected.error.message


@given(st.binary(max_size=200))
def test_no_bytes_make_intake_fail(value: bytes) -> None:
    handled = take_in([record(value)])
    assert len(handled.outgoing) + len(handled.rejected) == 1
