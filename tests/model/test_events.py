"""What an event may say: bounds of its fields, and the errors that say which field is wrong."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import MalformedEvent, OversizeEvent
from memory.events import AgentEvent, content_digest, decode_event, derive_id, from_us, to_us

EVENT = {
    "id": "e1",
    "tenant": "acme",
    "agent": "a",
    "session": "s",
    "kind": "note",
    "text": "x",
    "occurred_at": "2026-03-03T10:00:00+02:00",
}


def event(**given: Any) -> bytes:
    return orjson.dumps({name: value for name, value in (EVENT | given).items() if value is not None})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"session": None}, "session"),
        ({"tenant": "a|b"}, "tenant"),
        ({"occurred_at": "2026-03-03T10:00:00"}, "occurred_at"),
        ({"occurred_at": 1_772_531_200}, "occurred_at"),
        ({"occurred_at": "1772531200000"}, "occurred_at"),
        # legal with their own offset, and in no calendar in UTC: shown to anyone they would stop who shows them
        ({"occurred_at": "9999-12-31T23:59:59-12:00"}, "occurred_at"),
        ({"occurred_at": "0001-01-01T00:00:00+14:00"}, "occurred_at"),
        ({"text": "  "}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"kind": "shout"}, "kind"),
        ({"sequence": -1}, "sequence"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_is_wrong_with_an_event_is_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(MalformedEvent, match=field):
        decode_event(event(**given))


@pytest.mark.parametrize("value", [None, b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 10_000])
def test_what_is_no_event_is_malformed(value: bytes | None) -> None:
    with pytest.raises(MalformedEvent):
        decode_event(value)


def test_sizes_are_counted_in_bytes() -> None:
    assert decode_event(event(text="é" * 32_500)).text
    with pytest.raises(OversizeEvent, match="text"):
        decode_event(event(text="é" * 32_501))
    with pytest.raises(OversizeEvent, match="record"):
        decode_event(event(text="x" * 1_000_000))


@given(st.integers(-2_208_902_400_000_000, 7_258_000_000_000_000), st.integers(-14 * 60, 14 * 60))
def test_a_time_keeps_its_moment_and_its_offset(moment_us: int, offset_minutes: int) -> None:
    zone = timezone(timedelta(minutes=offset_minutes))
    aware = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment_us)).astimezone(zone)
    back = from_us(to_us(aware), offset_minutes)
    assert back == aware
    assert back.utcoffset() == aware.utcoffset()
    assert to_us(back.astimezone(UTC)) == to_us(aware)


@given(st.tuples(*[st.text(min_size=1, max_size=8)] * 3), st.tuples(*[st.text(min_size=1, max_size=8)] * 3))
def test_ids_of_different_places_differ(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    allowed = [part.replace("\x00", "") or "x" for part in (*one, *other)]
    first, second = tuple(allowed[:3]), tuple(allowed[3:])
    assert (derive_id(*first) == derive_id(*second)) == (first == second)


def test_the_digest_tells_a_duplicate_from_another_event_with_the_same_id() -> None:
    first = decode_event(event())
    again = decode_event(event(occurred_at="2026-03-03T08:00:00Z"))
    assert content_digest(first) == content_digest(again)
    assert content_digest(first) != content_digest(decode_event(event(text="y")))
    assert isinstance(first, AgentEvent)
