"""One event as a context shows it (arXiv 2601.03236, eq. 7).

    <t:2023-05-08T13:56Z> Caroline: I went there yesterday. [event date: 7 May 2023] <ref:D1:3>

The time in front is the message's (ISO 8601, to the minute where there are no seconds) with the offset its producer
gave; the event date is what the message talks about. Every token of a header is one less for what was said.
"""

import re
from datetime import datetime, timedelta

from memory.dates import FAR_FUTURE_US, FAR_PAST_US, DateSpan, Precision
from memory.events import EventNode, Trust, from_us
from memory.text import clip_tokens

#: What looks like our own marks inside somebody's text must not be taken for them.
_LOOKALIKE = re.compile(r"<(?=\s*(?:t|ref)\s*:)", re.IGNORECASE)

_SEASONS = {12: "winter", 1: "winter", 2: "winter", 3: "spring", 4: "spring", 5: "spring"}
_SEASONS |= {6: "summer", 7: "summer", 8: "summer", 9: "autumn", 10: "autumn", 11: "autumn"}
_LONGEST = {
    Precision.MINUTE: timedelta(minutes=1),
    Precision.HOUR: timedelta(hours=1),
    Precision.DAY: timedelta(days=1),
    Precision.WEEK: timedelta(days=7),
    Precision.MONTH: timedelta(days=31),
    Precision.SEASON: timedelta(days=92),
    Precision.YEAR: timedelta(days=366),
    Precision.DECADE: timedelta(days=3_653),
}
_SLACK = timedelta(hours=2)  # a day of 25 hours is still a day


def block(node: EventNode, *, superseded_by: str = "", most_tokens: int | None = None) -> str:
    """Write an event as a block of the context.

    `superseded_by`: ref of a newer event that gives another value for the same thing. `most_tokens`: cut the text to so
    many tokens and say so.
    """
    text = _LOOKALIKE.sub("‹", node.text)
    if most_tokens is not None:
        text = f"{clip_tokens(text, most_tokens)} [cut]"
    at = from_us(node.occurred_us, node.offset_minutes)
    parts = [f"<t:{_moment(at)}> {node.speaker or node.agent}: {text}"]
    if node.dates:
        shown = dict.fromkeys(show_span(span, node.offset_minutes) for span in node.dates)
        parts.append(f"[event date: {'; '.join(shown)}]")
    if superseded_by:
        parts.append(f"[superseded by {superseded_by}]")
    if node.derived_from:
        parts.append("[recalled: repeats earlier events]")
    if node.trust is Trust.UNTRUSTED:
        parts.append("[untrusted source]")
    parts.append(f"<ref:{node.ref}>")
    return " ".join(parts)


def _moment(at: datetime) -> str:
    written = at.isoformat(timespec="minutes" if at.second == at.microsecond == 0 else "auto")
    return written.removesuffix("+00:00") + "Z" if written.endswith("+00:00") else written


def marker(count: int, first: EventNode, last: EventNode) -> str:
    """Write what stands for a run of events that were left out: how many, and the days of the earliest and latest."""
    start, end = (day(from_us(node.occurred_us, node.offset_minutes)) for node in (first, last))
    span = start if start == end else f"{start} to {end}"
    return f"[... {count} {'event' if count == 1 else 'events'} left out, {span} ...]"


def day(at: datetime) -> str:
    """Write a day the way the answers do: 7 May 2023."""
    return f"{at.day} {at:%B} {at.year}"


def show_span(span: DateSpan, offset_minutes: int) -> str:
    """Write a resolved phrase of time at its own precision, on the calendar of the given UTC offset (minutes)."""
    if span.end_us >= FAR_FUTURE_US:
        return f"from {_point(from_us(span.start_us, offset_minutes), span.precision)} on"
    end = from_us(span.end_us, offset_minutes)
    if span.start_us <= FAR_PAST_US:
        return f"before {day(end)}"
    start = from_us(span.start_us, offset_minutes)
    last = from_us(span.end_us - 1, offset_minutes)
    if span.precision is Precision.DECADE and start.year % 10:  # ten years that have no name
        return f"{start.year} to {last.year}"
    if end - start > _LONGEST[span.precision] + _SLACK:
        return f"{_point(start, span.precision)} to {_point(last, span.precision)}"
    return _point(start, span.precision)


def _point(at: datetime, precision: Precision) -> str:
    return {
        Precision.MINUTE: f"{day(at)} {at:%H:%M}",
        Precision.HOUR: f"{day(at)} {at:%H}:00",
        Precision.DAY: day(at),
        Precision.WEEK: f"week of {day(at)}",
        Precision.MONTH: f"{at:%B} {at.year}",
        Precision.SEASON: f"{_SEASONS[at.month]} {at.year}",
        Precision.YEAR: str(at.year),
        Precision.DECADE: f"{at.year // 10 * 10}s",
    }[precision]
