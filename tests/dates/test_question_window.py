"""The window of time that a question asks about."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.dates import FAR_FUTURE_US, FAR_PAST_US, find_dates, question_window

REFERENCE = datetime(2023, 10, 22, 10, 0, tzinfo=UTC)


def us(text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


@pytest.mark.parametrize(
    "question",
    [
        "When did Ana go to the support group?",
        "What year did the service fail for the first time?",
        "Why was v2.14 of payments-service rolled back?",
        "How long has she been painting?",
        "What may Ben do next?",
        "Who was on call only after midnight?",
        "What fails after midnight?",
        "What was deployed before noon?",
        "Who waited until midnight?",
        "What failed after midnight and before noon?",
        "What broke before 9:00?",
        "What ran between 9 and 10?",
        "Which job runs on Thursdays at 02:00?",
        "Is there a backup every night at 02:00?",
        "Who is on call on Sunday?",
        "",
    ],
)
def test_a_question_without_a_date_has_no_window(question: str) -> None:
    assert question_window(question, REFERENCE) is None


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did Ana do in May 2023?", us("2023-05-01"), us("2023-06-01")),
        ("What happened yesterday?", us("2023-10-21"), us("2023-10-22")),
        ("What happened between 14:00 and 15:30?", us("2023-10-22 14:00"), us("2023-10-22 15:31")),
        ("What broke before 8 May 2023?", FAR_PAST_US, us("2023-05-08")),
        ("What was done until 8 May 2023?", FAR_PAST_US, us("2023-05-09")),
        ("Who joined after May 2023?", us("2023-06-01"), FAR_FUTURE_US),
        ("Who joined since May 2023?", us("2023-05-01"), us("2023-10-23")),
        ("What happened after 2021 and before May 2023?", us("2022-01-01"), us("2023-05-01")),
        ("Which came first, the talk on 3 May 2023 or the one in July 2023?", us("2023-05-03"), us("2023-08-01")),
        ("What happened on 4 March 2023 between 9:00 and 10:00?", us("2023-03-04 09:00"), us("2023-03-04 10:01")),
        ("What happened between 9:00 and 10:00 on 4 March 2023?", us("2023-03-04 09:00"), us("2023-03-04 10:01")),
        ("On 4 March 2023, what happened between 9:00 and 10:00?", us("2023-03-04 09:00"), us("2023-03-04 10:01")),
        ("On 4 March 2023, what happened between 9 and 10?", us("2023-03-04 09:00"), us("2023-03-04 10:01")),
        ("What ran from 9 to 11 am on 4 March 2023?", us("2023-03-04 09:00"), us("2023-03-04 11:01")),
        ("What broke at 14:05 on 4 March 2023?", us("2023-03-04 14:05"), us("2023-03-04 14:06")),
        ("What broke yesterday between 9 and 10?", us("2023-10-21 09:00"), us("2023-10-21 10:01")),
        ("What broke on 4 March 2023 after 14:00?", us("2023-03-04 14:00"), us("2023-03-05")),
        ("On 4 March 2023, what broke before noon?", us("2023-03-04"), us("2023-03-04 12:00")),
        ("What ran after midnight on 4 March 2023?", us("2023-03-04"), FAR_FUTURE_US),
        ("What ran before midnight on 4 March 2023?", FAR_PAST_US, us("2023-03-05")),
        ("What ran since midnight?", us("2023-10-22"), us("2023-10-23")),
        ("When did they meet last week?", us("2023-10-09"), us("2023-10-16")),
        ("What did she plan the week before 9 June 2023?", us("2023-06-02"), us("2023-06-09")),
    ],
)
def test_a_question_with_a_date_has_its_window(question: str, start: int, end: int) -> None:
    window = question_window(question, REFERENCE)
    assert window is not None
    assert (window.start_us, window.end_us) == (start, end)


def test_a_range_of_hours_is_on_the_clock_of_the_reference() -> None:
    reference = datetime(2026, 3, 5, 10, 0, tzinfo=timezone(timedelta(hours=2)))
    window = question_window("What happened on 4 March 2026 between 9:00 and 10:00?", reference)
    assert window is not None
    assert (window.start_us, window.end_us) == (us("2026-03-04 07:00"), us("2026-03-04 08:01"))


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "9999-12-30"])
@pytest.mark.parametrize("time", ["between 22:00 and 02:00", "after midnight", "until midnight", "before 9:00"])
@pytest.mark.parametrize("form", ["{time} on {day}", "{day} {time}", "On {day}, what failed {time}?"])
def test_a_time_at_the_ends_of_the_calendar_never_raises(day: str, time: str, form: str) -> None:
    text = form.format(day=day, time=time)
    for hours in (-12, 0, 14):
        reference = REFERENCE.replace(tzinfo=timezone(timedelta(hours=hours)))
        question_window(text, reference)
        assert all(span.start_us < span.end_us for span in find_dates(text, reference))
