"""The window of time that a question asks about, out of the phrases of time in it.

A time of day that stands apart from the only day of the question is on that day ("On 4 March, what broke after
14:00?"). One that is left open and has no day ("after 14:00") names no window: it may be of any day.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from memory.dates import clock as cal
from memory.dates.clock import FAR_FUTURE_US, FAR_PAST_US, Clock, Local
from memory.dates.grammar import Found, Sort
from memory.dates.spans import DateSpan, Precision

_MOMENTS = {Precision.MINUTE: timedelta(minutes=1), Precision.HOUR: timedelta(hours=1)}
_MINUTE_US = 60_000_000


def window_of(question: str, phrases: list[Found], clock: Clock) -> DateSpan | None:
    """Give the one window of all phrases, None when there is none; see `memory.dates.question_window`."""
    windows = [window(question, found, clock) for found in _dated(phrases, clock)]
    if not windows:
        return None
    if len(windows) == 1:
        return windows[0]
    lower = [each for each in windows if each.end_us == FAR_FUTURE_US]
    upper = [each for each in windows if each.start_us == FAR_PAST_US]
    if len(windows) == 2 and lower and upper and lower[0].start_us < upper[0].end_us:
        # "after March and before May": both must hold
        start, end = lower[0].start_us, upper[0].end_us
    else:
        start, end = min(each.start_us for each in windows), max(each.end_us for each in windows)
    coarsest = max((each.precision for each in windows), key=list(Precision).index)
    return DateSpan("; ".join(each.phrase for each in windows), start, end, coarsest)


def window(text: str, found: Found, clock: Clock) -> DateSpan:
    """Give the window of one phrase, opened to the past or the future as the words in front of it say."""
    span = clock.span(text[found.start : found.end], found.local)
    moment = _is_moment(found.local)
    if found.opens > 0:
        if found.inclusive:
            return reaching(span, clock)
        # "after 14:00" starts at that moment, "after May" when May is over
        return DateSpan(span.phrase, span.start_us if moment else span.end_us, FAR_FUTURE_US, span.precision)
    if found.opens < 0:
        end = span.start_us
        if found.inclusive:
            end = span.start_us + _MINUTE_US if moment else span.end_us
        return DateSpan(span.phrase, FAR_PAST_US, end, span.precision)
    return span


def reaching(span: DateSpan, clock: Clock) -> DateSpan:
    """Stretch a span to the end of the reference's day."""
    return DateSpan(span.phrase, span.start_us, max(span.end_us, clock.end_of_day_us), span.precision)


def _dated(phrases: list[Found], clock: Clock) -> list[Found]:
    """Bring the times without a day to the question's one day, and drop those that could be of any."""
    times = [found for found in phrases if found.sort is not Sort.DATE]
    dates = [found for found in phrases if found.sort is Sort.DATE]
    if times and len(dates) == 1 and not dates[0].opens and _is_day(dates[0].local):
        with suppress(OverflowError):  # beyond the calendar: the times stay where they are
            return [_on(found, dates[0].local, clock) for found in times]
    return [
        found
        for found in phrases
        if found.sort is Sort.DATE or (found.sort is Sort.TIME and (found.opens == 0 or _since(found)))
    ]


def _since(found: Found) -> bool:
    """Say whether it is "since 9:00", which is that of the reference's own day."""
    return found.opens > 0 and found.inclusive


def _on(time: Found, day: Local, clock: Clock) -> Found:
    shift = cal.midnight(day.start.date()) - cal.midnight(clock.today)
    start, end = time.local.start + shift, time.local.end + shift
    if time.opens > 0:
        end = day.end
    elif time.opens < 0:
        start, end = day.start, start
    local = Local(start, end, time.local.precision) if start < end else day
    return replace(time, local=local, opens=0, sort=Sort.DATE)


def _is_day(local: Local) -> bool:
    return local.precision is Precision.DAY and local.end - local.start <= timedelta(days=1)


def _is_moment(local: Local) -> bool:
    return local.precision in _MOMENTS and local.end - local.start <= _MOMENTS[local.precision]
