"""The window of time that a question asks about."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.dates import FAR_FUTURE_US, FAR_PAST_US, question_window

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
        ("When did they meet last week?", us("2023-10-09"), us("2023-10-16")),
        ("What did she plan the week before 9 June 2023?", us("2023-06-02"), us("2023-06-09")),
    ],
)
def test_a_question_with_a_date_has_its_window(question: str, start: int, end: int) -> None:
    window = question_window(question, REFERENCE)
    assert window is not None
    assert (window.start_us, window.end_us) == (start, end)
