"""What a phrase of time means: an interval and how exact it is (arXiv 2601.03236, appendix E.1)."""

from dataclasses import dataclass
from enum import StrEnum


class Precision(StrEnum):
    """How exact a resolved phrase is; a coarse phrase ("a few days ago") has the unit above its own."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"


@dataclass(frozen=True, slots=True)
class DateSpan:
    """A resolved phrase of time: [`start_us`, `end_us`) in microseconds since 1970 UTC, and the words it came from."""

    phrase: str
    start_us: int
    end_us: int
    precision: Precision
