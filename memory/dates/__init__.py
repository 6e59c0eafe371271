"""Phrases of time in a text -> intervals with a precision (arXiv 2601.03236, appendix E.1).

Arithmetic is on the calendar of the speaker's own UTC offset; an interval is half-open and in UTC microseconds. The
date talked about and the date of the message are two different things: this room only finds the first.
"""

from datetime import datetime

from memory.dates.clock import FAR_FUTURE_US, FAR_PAST_US, Clock
from memory.dates.english import English
from memory.dates.grammar import Found, Grammar, Languages
from memory.dates.spans import DateSpan, Precision

__all__ = [
    "FAR_FUTURE_US",
    "FAR_PAST_US",
    "LANGUAGES",
    "DateSpan",
    "Grammar",
    "Precision",
    "find_dates",
    "question_window",
]

#: The grammars that can be asked for; another language registers itself here.
LANGUAGES = Languages({"en": English()})


def find_dates(text: str, reference: datetime, *, language: str = "en") -> list[DateSpan]:
    """Find the phrases of time in a text, in order.

    `reference` is when the text was said or written, aware; relative phrases are counted on its own calendar. Never
    raises on any text; raises ValueError for a naive reference and KeyError for a language without a grammar.
    "since March" gives March up to the reference; "before 8 May" gives 8 May, the date that is named.
    """
    clock = Clock.at(reference)
    spans = []
    for found in LANGUAGES.get(language).find(text, clock):
        span = clock.span(text[found.start : found.end], found.local)
        if found.opens > 0 and found.inclusive:
            span = _reaching(span, clock)
        spans.append(span)
    return spans


def question_window(question: str, reference: datetime, *, language: str = "en") -> DateSpan | None:
    """Give the window of time that a question asks about, None when it names no date.

    "before X" and "until X" reach back to `FAR_PAST_US` (1900), "after X" reaches to `FAR_FUTURE_US` (2200), "since X"
    to the end of the reference's day. Several phrases give the window from the first to the last of them. Raises as
    `find_dates` does.
    """
    clock = Clock.at(reference)
    windows = [_window(question, found, clock) for found in LANGUAGES.get(language).find(question, clock)]
    if not windows:
        return None
    if len(windows) == 1:
        return windows[0]
    lower = [window for window in windows if window.end_us == FAR_FUTURE_US]
    upper = [window for window in windows if window.start_us == FAR_PAST_US]
    if len(windows) == 2 and lower and upper and lower[0].start_us < upper[0].end_us:
        # "after March and before May": both must hold
        start, end = lower[0].start_us, upper[0].end_us
    else:
        start, end = min(window.start_us for window in windows), max(window.end_us for window in windows)
    coarsest = max((window.precision for window in windows), key=list(Precision).index)
    return DateSpan("; ".join(window.phrase for window in windows), start, end, coarsest)


def _window(text: str, found: Found, clock: Clock) -> DateSpan:
    span = clock.span(text[found.start : found.end], found.local)
    if found.opens > 0:
        if found.inclusive:
            return _reaching(span, clock)
        return DateSpan(span.phrase, span.end_us, FAR_FUTURE_US, span.precision)
    if found.opens < 0:
        end = span.end_us if found.inclusive else span.start_us
        return DateSpan(span.phrase, FAR_PAST_US, end, span.precision)
    return span


def _reaching(span: DateSpan, clock: Clock) -> DateSpan:
    """Stretch a span to the end of the reference's day."""
    today = clock.end_of_day_us
    return DateSpan(span.phrase, span.start_us, max(span.end_us, today), span.precision)
