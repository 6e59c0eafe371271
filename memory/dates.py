"""Phrases of time in a text -> intervals with a precision.

Arithmetic is on the calendar of the speaker's own UTC offset; an interval is half-open and in UTC microseconds.
"""

from dataclasses import dataclass
from enum import StrEnum


class Precision(StrEnum):
    """How exact a resolved phrase is."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A resolved phrase of time: [`start_us`, `end_us`) in microseconds since 1970 UTC, and the words it came from."""

    phrase: str
    start_us: int
    end_us: int
    precision: Precision
