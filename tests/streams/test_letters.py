"""Dead letters keep the record as it was and can be told apart from it again."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memory.errors import MalformedEvent
from memory.records import Record
from streams.letters import MESSAGE_BYTES, ErrorHeader, Letter, one_line, split_headers
from streams.topics import Stage

HEADERS = st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=20)), max_size=12).map(tuple)
AT = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


@given(HEADERS, st.text(max_size=2_000))
def test_a_redrive_takes_off_what_was_put_on_and_nothing_else(
    headers: tuple[tuple[str, bytes], ...], message: str
) -> None:
    record = Record("t", 3, 9, 0, b"k", None, headers)
    parted = split_headers(Letter(record, MalformedEvent(message), 4, AT, AT).headers(Stage.INTAKE))
    assert parted is not None
    own, error = parted
    assert own == headers
    assert error[ErrorHeader.OFFSET] == "9"
    assert error[ErrorHeader.FIRST_AT] == "2026-05-08T13:56:00.000+00:00"


def test_a_letter_of_a_letter_comes_off_layer_by_layer() -> None:
    record = Record("t", 0, 1, 0, None, b"v", (("h", b"1"),))
    inner = Letter(record, MalformedEvent("first"), 1, AT, AT).headers(Stage.INTAKE)
    outer = Letter(Record("t", 0, 2, 0, None, b"v", inner), MalformedEvent("second"), 1, AT, AT).headers(Stage.INTAKE)
    parted = split_headers(outer)
    assert parted is not None
    assert parted[0] == inner


@given(HEADERS)
def test_a_record_that_is_no_letter_is_not_taken_for_one(headers: tuple[tuple[str, bytes], ...]) -> None:
    assert split_headers(headers) is None


@given(st.text(max_size=3_000))
def test_a_message_is_one_bounded_line(message: str) -> None:
    line = one_line(message)
    assert len(line.encode()) <= MESSAGE_BYTES
    assert line.isprintable()
