"""Phrases of time in a text -> intervals with a precision (arXiv 2601.03236, appendix E.1).

Arithmetic is on the calendar of the speaker's own UTC offset; an interval is half-open and in UTC microseconds. The
date talked about and the date of the message are two different things: this room only finds the first.
"""

from datetime import datetime

from memory.dates.clock import FAR_FUTURE_US, FAR_PAST_US, Clock
from memory.dates.english import English
from memory.dates.grammar import Grammar, Languages, Sort
from memory.dates.questions import reaching, window_of
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
        if found.sort is Sort.HOURS:
            continue
        span = clock.span(text[found.start : found.end], found.local)
        if found.opens > 0 and found.inclusive:
            span = reaching(span, clock)
        spans.append(span)
    return spans


def question_window(question: str, reference: datetime, *, language: str = "en") -> DateSpan | None:
    """Give the window of time that a question asks about, None when it names no date.

    "before X" and "until X" reach back to `FAR_PAST_US` (1900), "after X" reaches to `FAR_FUTURE_US` (2200), "since X"
    to the end of the reference's day. Beside its day a time stays in it: "on 4 March after 14:00" ends with that day.
    "after midnight on 4 March" starts at 00:00 of that day, "until midnight on 4 March" ends with it; a time left open
    without a day ("after midnight", "before 9:00") gives no window. Several phrases give the window from the first to
    the last of them. Raises as `find_dates` does.
    """
    clock = Clock.at(reference)
    return window_of(question, LANGUAGES.get(language).find(question, clock), clock)
