"""Calendar arithmetic at the speaker's own UTC offset.

Rules that a calendar leaves open, decided once: weeks run Monday to Sunday; a weekend is Saturday and Sunday; seasons
are the northern meteorological ones, and a winter belongs to the year of its December.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from enum import IntEnum

from dateutil.relativedelta import relativedelta

from memory.dates.spans import DateSpan, Precision

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

#: Bounds of an open window ("before May", "after 2022"): 1900-01-01 and 2200-01-01 UTC, in microseconds since 1970.
FAR_PAST_US = (datetime(1900, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
FAR_FUTURE_US = (datetime(2200, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND


class Season(IntEnum):
    """A season, by its first month."""

    SPRING = 3
    SUMMER = 6
    AUTUMN = 9
    WINTER = 12


@dataclass(frozen=True, slots=True)
class Local:
    """A half-open interval on the wall clock of one UTC offset, without the offset."""

    start: datetime
    end: datetime
    precision: Precision


@dataclass(frozen=True, slots=True)
class Clock:
    """The reference time, as wall clock `now` and its `offset` from UTC."""

    now: datetime
    offset: timedelta

    @classmethod
    def at(cls, reference: datetime) -> "Clock":
        """Make the clock of an aware time; raises ValueError for a naive one."""
        offset = reference.utcoffset()
        if offset is None:
            raise ValueError("the reference of a relative date must carry a UTC offset")
        return cls(reference.replace(tzinfo=None), offset)

    @property
    def today(self) -> date:
        """The reference's own calendar day."""
        return self.now.date()

    @property
    def monday(self) -> date:
        """First day of the reference's week."""
        return self.today - timedelta(days=self.today.weekday())

    def span(self, phrase: str, local: Local) -> DateSpan:
        """Give the interval in UTC microseconds."""
        start, end = self._us(local.start), self._us(local.end)
        return DateSpan(phrase, start, max(end, start + 1), local.precision)

    def wall(self, moment: datetime) -> datetime:
        """Give the wall clock of an aware time at this offset."""
        return moment.astimezone(timezone(self.offset)).replace(tzinfo=None)

    @property
    def end_of_day_us(self) -> int:
        """End of the reference's own day, in microseconds since 1970 UTC."""
        return self._us(midnight(self.today) + timedelta(days=1))

    def _us(self, wall: datetime) -> int:
        return (wall.replace(tzinfo=UTC) - _EPOCH - self.offset) // _MICROSECOND


def midnight(day: date) -> datetime:
    """Give the first moment of a day."""
    return datetime.combine(day, time())


def days(first: date, count: int, precision: Precision) -> Local:
    """Give `count` whole days from `first`."""
    start = midnight(first)
    return Local(start, start + timedelta(days=count), precision)


def day(at: date) -> Local:
    """Give one day."""
    return days(at, 1, Precision.DAY)


def week(monday: date) -> Local:
    """Give the seven days from `monday`."""
    return days(monday, 7, Precision.WEEK)


def weekend(monday: date) -> Local:
    """Give Saturday and Sunday of the week of `monday`; its precision is a day, as one of two is meant."""
    return days(monday + timedelta(days=5), 2, Precision.DAY)


def months(year: int, month: int, count: int, precision: Precision) -> Local:
    """Give `count` calendar months from the given one."""
    start = datetime(year, month, 1)  # noqa: DTZ001  wall clock: the offset is kept by `Clock`
    return Local(start, start + relativedelta(months=count), precision)


def month(year: int, number: int) -> Local:
    """Give a calendar month."""
    return months(year, number, 1, Precision.MONTH)


def season(year: int, which: Season) -> Local:
    """Give a season; winter starts in December of `year`."""
    return months(year, int(which), 3, Precision.SEASON)


def year(number: int) -> Local:
    """Give a calendar year."""
    return months(number, 1, 12, Precision.YEAR)


def decade(first_year: int) -> Local:
    """Give ten years."""
    return months(first_year, 1, 120, Precision.DECADE)


def minute(at: datetime) -> Local:
    """Give the minute that holds `at`."""
    start = at.replace(second=0, microsecond=0)
    return Local(start, start + timedelta(minutes=1), Precision.MINUTE)


def hour(at: datetime) -> Local:
    """Give the hour that holds `at`."""
    start = at.replace(minute=0, second=0, microsecond=0)
    return Local(start, start + timedelta(hours=1), Precision.HOUR)


def weekday_near(today: date, weekday: int, *, after: bool) -> date:
    """Give the nearest such weekday strictly before or strictly after `today` (Monday is 0)."""
    if after:
        return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)
    return today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1)


_FINER = {
    Precision.DECADE: Precision.YEAR,
    Precision.YEAR: Precision.SEASON,
    Precision.SEASON: Precision.MONTH,
    Precision.MONTH: Precision.WEEK,
    Precision.WEEK: Precision.DAY,
}


def third(whole: Local, index: int) -> Local:
    """Give the first, middle or last third (0, 1, 2) in whole days: "early", "mid", "late". A day stays a day."""
    finer = _FINER.get(whole.precision)
    if finer is None:
        return whole
    size = (whole.end - whole.start).days // 3
    start = whole.start + timedelta(days=size * index)
    return Local(start, whole.end if index == 2 else start + timedelta(days=size), finer)
