"""English phrases of time and what they mean."""

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.dates import LANGUAGES, DateSpan, Precision, find_dates
from tests.dates.phrases import MEANT, NOT_MEANT

REFERENCE = datetime(2023, 6, 9, 19, 30, tzinfo=timezone(timedelta(hours=2)))
_STEP = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}


def micros(text: str) -> int:
    at = datetime.fromisoformat(text).replace(tzinfo=REFERENCE.tzinfo)
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def cases() -> list[tuple[str, int, int, Precision]]:
    rows = []
    for line in MEANT.strip().splitlines():
        phrase, start, end, precision = (part.strip() for part in line.split("|"))
        step = _STEP[precision] // timedelta(microseconds=1) if not end else 0
        rows.append((phrase, micros(start), micros(end) if end else micros(start) + step, Precision(precision)))
    return rows


def test_the_list_of_phrases_is_long_enough_to_say_something() -> None:
    assert len(cases()) >= 120


@pytest.mark.parametrize(("phrase", "start", "end", "precision"), cases(), ids=lambda value: str(value)[:40])
def test_a_phrase_means_its_interval(phrase: str, start: int, end: int, precision: Precision) -> None:
    spans = find_dates(phrase, REFERENCE)
    assert len(spans) == 1, spans
    # a window that ends "now" includes the reference's own microsecond
    assert (spans[0].start_us, spans[0].precision) == (start, precision)
    assert spans[0].end_us - end in {0, 1}


@pytest.mark.parametrize(("phrase", "start", "end", "precision"), cases(), ids=lambda value: str(value)[:40])
def test_a_phrase_inside_a_sentence_means_the_same(phrase: str, start: int, end: int, precision: Precision) -> None:
    spans = find_dates(f"You know what, {phrase.rstrip('.')}; it went well.", REFERENCE)
    if phrase.startswith("the weekend after"):
        assert [span.start_us for span in spans] == [start]
    else:
        assert [(span.start_us, span.precision) for span in spans] == [(start, precision)]


@pytest.mark.parametrize("text", NOT_MEANT)
def test_words_that_only_look_like_dates_are_left_alone(text: str) -> None:
    assert find_dates(text, REFERENCE) == []


def test_yesterday_is_counted_on_the_speakers_calendar_not_on_utc() -> None:
    late_evening_in_new_york = datetime(2023, 10, 20, 22, 0, tzinfo=timezone(timedelta(hours=-4)))
    (span,) = find_dates("yesterday", late_evening_in_new_york)
    start = datetime(2023, 10, 19, 4, 0, tzinfo=UTC)
    assert span == DateSpan("yesterday", _us(start), _us(start + timedelta(days=1)), Precision.DAY)


def test_several_phrases_come_in_the_order_of_the_text_with_their_own_words() -> None:
    text = "Last week I met Ana, on 8 May 2023 we spoke, and tomorrow at 5pm she comes."
    assert [span.phrase for span in find_dates(text, REFERENCE)] == ["Last week", "8 May 2023", "tomorrow at 5pm"]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("The nightly job failed at 02:13", ["at 02:13"]),
        ("At 02:13 the nightly job failed", ["At 02:13"]),
        ("every Friday until 8 May 2023", ["8 May 2023"]),
        ("daily at 9:00 since March", ["March"]),
        ("I met her every Friday in May 2023", ["May 2023"]),
        ("the daily standup on Monday was cancelled", ["on Monday"]),
        ("yesterday it rose from 9 to 10 yesterday", ["yesterday", "yesterday"]),
        ("8 May 2023 between 9 and 10 people came", ["8 May 2023"]),
    ],
)
def test_what_stands_near_a_recurrence_or_a_count_keeps_its_own_date(text: str, phrases: list[str]) -> None:
    assert [span.phrase for span in find_dates(text, REFERENCE)] == phrases


@pytest.mark.parametrize("lead", ["for", "by", "until"])
@pytest.mark.parametrize("days", range(7))
def test_a_weekday_that_is_waited_for_is_today_or_the_coming_one(lead: str, days: int) -> None:
    reference = datetime(2026, 3, 2 + days, 10, 0, tzinfo=UTC)
    (span,) = find_dates(f"Release calendar {lead} Wednesday", reference)
    assert span.start_us == _us(datetime(2026, 3, 4 if days <= 2 else 11, tzinfo=UTC))


@pytest.mark.parametrize(
    "text", ["We will go live on Wednesday", "on Wednesday we go live", "The release is on Wednesday"]
)
def test_a_weekday_to_come_said_on_that_weekday_is_today_until_the_evening(text: str) -> None:
    (span,) = find_dates(text, datetime(2026, 3, 4, 10, 0, tzinfo=UTC))
    assert span.start_us == _us(datetime(2026, 3, 4, tzinfo=UTC))
    assert find_dates(text, datetime(2026, 3, 4, 21, 0, tzinfo=UTC)) == []


@pytest.mark.parametrize("days", range(7))
def test_a_range_of_weekdays_is_the_one_of_the_references_own_week(days: int) -> None:
    reference = datetime(2026, 3, 2 + days, 10, 0, tzinfo=UTC)
    (span,) = find_dates("Kim is on call from Thursday to Sunday night", reference)
    start, end = datetime(2026, 3, 5, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)
    assert (span.start_us, span.end_us) == (_us(start), _us(end))


def test_a_naive_reference_is_refused() -> None:
    with pytest.raises(ValueError, match="UTC offset"):
        find_dates("yesterday", REFERENCE.replace(tzinfo=None))


def test_a_language_without_a_grammar_is_named() -> None:
    with pytest.raises(KeyError, match="'xx'"):
        find_dates("gestern", REFERENCE, language="xx")


def test_another_language_can_be_registered() -> None:
    LANGUAGES.register("en-test", LANGUAGES.get("en"))
    assert find_dates("yesterday", REFERENCE, language="en-test") == find_dates("yesterday", REFERENCE)


_VOCABULARY = """
last next this week weekend month year before after of the a few couple two 3 in on since until
between and to
from May may 8 8th 2023 9999 0 31 February Sunday Sun night ago 14:05 5pm 2023-05-08 9999-12-31 0001-01-01
summer 1990s , . - 99/99/99
every each daily Fridays Monday on at by for will was midnight noon UTC am 9 10 after before
yesterday tomorrow 99999999 years minutes hour decades end early mid late
"""
_WORDS = st.sampled_from(_VOCABULARY.split())


@given(st.lists(_WORDS, max_size=14), st.datetimes(timezones=st.just(UTC)))
@settings(max_examples=400, deadline=None)
def test_no_sequence_of_date_words_at_any_reference_raises_and_spans_are_intervals(
    words: list[str], reference: datetime
) -> None:
    for span in find_dates(" ".join(words), reference):
        assert span.start_us < span.end_us


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_no_text_raises_and_each_phrase_stands_in_it(text: str) -> None:
    for span in find_dates(text, REFERENCE):
        assert span.phrase in text


@pytest.mark.parametrize(
    "piece",
    [
        "a few ",
        "1",
        "12:",
        "may ",
        "last ",
        "the week before ",
        "8 May 2023 ",
        "in the last 3 ",
        "on Friday, ",
        "between 9 and 10 ",
        "9:00-10:00 ",
        "every Friday ",
        "from Monday to ",
        "at 9:00 UTC ",
        " ",
        "19-",
    ],
)
def test_time_grows_with_the_length_of_the_text_and_no_faster(piece: str) -> None:
    text = (piece * (65_536 // len(piece)))[:65_536]
    started = time.process_time()
    find_dates(text, REFERENCE)
    # measured: below 0.5 s; quadratic behaviour would take minutes
    assert time.process_time() - started < 5


def _us(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
