"""English phrases that lean on the reference: "yesterday", "last Tuesday", "two weeks ago", "in the last 3 days".

Rules for what speakers leave open (documented, tested): "last Friday" is the nearest one before the reference day,
"this Friday" the nearest on or after it, "next Friday" the nearest after it; "last/this/next week, weekend, month,
year" are the calendar's; "in March" lies in the past unless the words before it speak of the future (a bare "Friday":
see `english_weekdays`);
"two weeks ago" is the seven days around that day, "two months ago" that calendar month; "a few days ago" is two to five
days back, with the precision of the next coarser unit.
"""

import re
from datetime import timedelta

from dateutil.relativedelta import relativedelta

from memory.dates import clock as cal
from memory.dates.clock import Clock, Local
from memory.dates.english_rules import Hit, Rule, rule
from memory.dates.english_words import (
    COARSE,
    COUNT,
    DAY_PARTS,
    FULL_MONTH,
    FULL_WEEKDAY,
    MONTH_WORDS,
    NUMBER,
    PART_WORDS,
    SEASON,
    SEASON_WORDS,
    SEASONS,
    SP,
    UNIT,
    UNIT_WORDS,
    VAGUE,
    WEEKDAY_WORDS,
    month_number,
    number,
    weekday_number,
)
from memory.dates.spans import Precision

_SIGN = {
    "last": -1, "previous": -1, "past": -1, "this": 0, "the same": 0, "current": 0,
    "earlier this": 0, "later this": 0, "this coming": 1, "this past": -1, "coming": 1, "next": 1,
    "upcoming": 1,
}  # fmt: skip
_WHICH = (
    r"(?P<which>this(?:[ ](?:coming|past))?|(?:earlier|later)[ ]this|last|previous|past|next|coming|upcoming|current)"
)
_WHICH_WORDS = frozenset({"this", "last", "previous", "past", "next", "coming", "upcoming", "current"})
OF_DAY = r"(?P<part>morning|afternoon|evening|night)\b"


def unit_at(clock: Clock, unit: str, steps: int) -> Local | None:
    """Give the calendar day, week, weekend, month, year or decade that is `steps` away from the reference's own."""
    today = clock.today
    if unit == "day":
        return cal.day(today + timedelta(days=steps))
    if unit == "week":
        return cal.week(clock.monday + timedelta(weeks=steps))
    if unit == "weekend":
        return cal.weekend(clock.monday + timedelta(weeks=steps))
    if unit == "month":
        first = today.replace(day=1) + relativedelta(months=steps)
        return cal.month(first.year, first.month)
    if unit == "year":
        return cal.year(today.year + steps)
    if unit == "decade":
        return cal.decade(today.year // 10 * 10 + 10 * steps)
    return None


def part_of(day: Local, part: str) -> Local:
    """Give the morning, afternoon, evening or night of the day that starts `day`; its precision stays a day."""
    first, last = DAY_PARTS[part.lower()]
    return Local(day.start + timedelta(hours=first), day.start + timedelta(hours=last), Precision.DAY)


def _named_day(hit: Hit) -> Local | None:
    word = hit["word"].lower()
    steps = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}.get(word)
    if steps is None:
        steps = -2 if "yesterday" in word else 2
    day = cal.day(hit.clock.today + timedelta(days=steps))
    if word == "tonight":
        return part_of(day, "night")
    return part_of(day, hit["part"]) if hit["part"] else day


def _day_part(hit: Hit) -> Local | None:
    """ "last night" is the night that began yesterday; other parts with "last" are yesterday's as well."""
    which = hit["which"].lower()
    steps = {"last": -1, "this": 0, "next": 1}[which]
    return part_of(cal.day(hit.clock.today + timedelta(days=steps)), hit["part"])


def _which_unit(hit: Hit) -> Local | None:
    which, unit = " ".join(hit["which"].lower().split()), hit["unit"].lower()
    whole = unit_at(hit.clock, unit, _SIGN[which])
    if whole is None:
        return None
    if which.startswith("earlier"):
        return Local(whole.start, max(hit.clock.now, whole.start + timedelta(minutes=1)), whole.precision)
    if which.startswith("later"):
        return Local(min(hit.clock.now, whole.end - timedelta(minutes=1)), whole.end, whole.precision)
    return whole


def _which_weekday(hit: Hit) -> Local | None:
    today, weekday, which = hit.clock.today, weekday_number(hit["weekday"]), " ".join(hit["which"].lower().split())
    if _SIGN[which]:
        day = cal.day(cal.weekday_near(today, weekday, after=_SIGN[which] > 0))
    else:
        day = cal.day(today + timedelta(days=(weekday - today.weekday()) % 7))
    return part_of(day, hit["part"]) if hit["part"] else day


def _which_period(hit: Hit) -> Local | None:
    """A month or season by name: "last" has ended before the reference, "next" starts after it."""
    groups, now = hit.match.groupdict(), hit.clock.now
    if groups.get("month") in {"may", "march"}:
        return None  # "this may be", "the last march"
    sign = _SIGN[" ".join(hit["which"].lower().split())]

    def of(year: int) -> Local:
        if groups.get("month"):
            return cal.month(year, month_number(hit["month"]))
        return cal.season(year, SEASONS[hit["season"].lower()])

    candidates = [of(now.year + step) for step in (-2, -1, 0, 1)]
    if sign < 0:
        return [span for span in candidates if span.end <= now][-1]
    if sign > 0:
        return next((span for span in candidates if span.start > now), None)
    return next((span for span in candidates if span.start <= now < span.end), of(now.year))


def _around(clock: Clock, unit: str, steps: int) -> Local | None:
    """Give what "steps units ago" (negative) or "in steps units" means."""
    if unit in {"minute", "min"}:
        return cal.minute(clock.now + timedelta(minutes=steps))
    if unit == "hour":
        return cal.hour(clock.now + timedelta(hours=steps))
    if unit == "week":
        return cal.week(clock.today + timedelta(days=7 * steps - 3))
    if unit == "decade":
        return cal.year(clock.today.year + 10 * steps)
    return unit_at(clock, unit, steps)


def _ago(hit: Hit) -> Local | None:
    return _distance(hit, -1)


def _ahead(hit: Hit) -> Local | None:
    if _DURATION.search(hit.before):
        return None  # "we have not talked in two weeks" is a length of time
    return _distance(hit, 1)


def _seasons_ago(hit: Hit) -> Local | None:
    """ "two summers ago": the last one that ended is one summer ago."""
    which, now = SEASONS[hit["season"].lower()], hit.clock.now
    last = next(year for year in (now.year, now.year - 1, now.year - 2) if cal.season(year, which).end <= now)
    return cal.season(last - number(hit["number"]) + 1, which)


def _distance(hit: Hit, sign: int) -> Local | None:
    unit = hit["unit"].lower()
    if hit["half"]:
        smaller = {"year": ("month", 6), "hour": ("minute", 30), "day": ("hour", 12), "decade": ("year", 5)}.get(unit)
        return _around(hit.clock, smaller[0], sign * smaller[1]) if smaller else None
    if not hit["vague"]:
        return _around(hit.clock, unit, sign * number(hit["number"]))
    least, most = _vague(hit["vague"])
    near, far = _around(hit.clock, unit, sign * least), _around(hit.clock, unit, sign * most)
    if near is None or far is None:
        return None
    precision = COARSE["minute" if unit == "min" else unit]
    return Local(min(near.start, far.start), max(near.end, far.end), precision)


def _vague(words: str) -> tuple[int, int]:
    return next(bounds for word, bounds in VAGUE.items() if word in words.lower())


def delta(unit: str, count: int) -> relativedelta | timedelta:
    """Give the length of `count` units."""
    lengths: dict[str, relativedelta | timedelta] = {
        "min": timedelta(minutes=count),
        "minute": timedelta(minutes=count),
        "hour": timedelta(hours=count),
        "day": timedelta(days=count),
        "week": timedelta(weeks=count),
        "weekend": timedelta(weeks=count),
        "month": relativedelta(months=count),
        "year": relativedelta(years=count),
        "decade": relativedelta(years=10 * count),
    }
    return lengths[unit]


_DURATION = re.compile(r"\b(?:not|never|first|best|worst|longest|only|once|twice)\b|n['\u2019]t\b", re.IGNORECASE)
_RANGE_PRECISION = {
    "min": Precision.MINUTE,
    "minute": Precision.MINUTE,
    "hour": Precision.HOUR,
    "weekend": Precision.WEEK,
}


def _running(hit: Hit) -> Local | None:
    """ "in the last 3 days": from three days before the reference up to it; "the next 3 days" the other way."""
    unit, now = hit["unit"].lower(), hit.clock.now
    count = _vague(hit["vague"])[1] if hit["vague"] else number(hit["number"]) if hit["number"] else 1
    length = delta(unit, count)
    precision = _RANGE_PRECISION.get(unit) or Precision(unit)
    if hit["which"].lower() in {"next", "coming", "following"}:
        return Local(now, now + length, precision)
    return Local(now - length, now + timedelta(microseconds=1), precision)


def _two_away(hit: Hit) -> Local | None:
    """ "the week before last", "the month after next"."""
    return unit_at(hit.clock, hit["unit"].lower(), -2 if hit["which"].lower() == "before last" else 2)


def _other_day(hit: Hit) -> Local | None:
    unit = hit["unit"].lower()
    if unit == "day":
        return cal.days(hit.clock.today - timedelta(days=7), 7, Precision.WEEK)
    if unit == "week":
        return cal.days(hit.clock.monday - timedelta(weeks=4), 28, Precision.MONTH)
    return None


def _weekend(hit: Hit) -> Local | None:
    """ "over the weekend": this week's once it has begun or when the future is meant, else the one before."""
    begun = hit.clock.today.weekday() >= 5
    return cal.weekend(hit.clock.monday - timedelta(weeks=0 if begun or hit.future else 1))


def _weekend_beside(hit: Hit) -> Local | None:
    return unit_at(hit.clock, "weekend", 1 if hit["side"].lower() == "after" else -1)


_SEASONS_AGO = rf"{NUMBER}{SP}(?P<season>spring|summer|autumn|fall|winter)s?{SP}ago"
_ONE_UNIT = r"(?P<unit>weekend|week|month|year|decade)\b"

RULES: tuple[Rule, ...] = (
    rule(
        frozenset({"yesterday", "today", "tonight", "tomorrow"}),
        rf"(?P<word>(?:the{SP})?day{SP}(?:before{SP}yesterday|after{SP}tomorrow)|yesterday|today|tonight|tomorrow)"
        rf"(?:{SP}{OF_DAY})?",
        _named_day,
    ),
    rule(PART_WORDS, rf"(?P<which>last|this|next){SP}{OF_DAY}", _day_part),
    rule(UNIT_WORDS, rf"(?:the{SP})?{_WHICH}{SP}{_ONE_UNIT}", _which_unit, needs=_WHICH_WORDS),
    rule(
        WEEKDAY_WORDS,
        rf"(?:on{SP})?(?:the{SP})?{_WHICH}{SP}(?:week(?:['\u2019]s)?{SP})?{FULL_WEEKDAY}(?:{SP}{OF_DAY})?",
        _which_weekday,
        needs=_WHICH_WORDS,
    ),
    rule(MONTH_WORDS, rf"{_WHICH}{SP}{FULL_MONTH}(?![ ][0-9])", _which_period, needs=_WHICH_WORDS),
    rule(SEASON_WORDS, rf"(?:the{SP})?{_WHICH}{SP}{SEASON}", _which_period, needs=_WHICH_WORDS),
    rule(
        frozenset({"ago"}),
        rf"(?:(?:about|around|almost|nearly|over){SP})?{COUNT}{SP}{UNIT}{SP}ago",
        _ago,
        needs=UNIT_WORDS,
    ),
    rule(SEASON_WORDS | {"summers", "winters", "springs", "autumns", "falls"}, _SEASONS_AGO, _seasons_ago),
    rule(frozenset({"back"}), rf"{COUNT}{SP}{UNIT}{SP}back(?!{SP}(?:to|in|from|and|with)\b)", _ago, needs=UNIT_WORDS),
    rule(
        UNIT_WORDS,
        rf"in{SP}(?:(?:about|around){SP})?{COUNT}{SP}{UNIT}(?!{SP}of\b)(?:{SP}(?:time|from{SP}now))?",
        _ahead,
        needs=frozenset({"in"}),
    ),
    rule(frozenset({"now"}), rf"{COUNT}{SP}{UNIT}{SP}from{SP}now", _ahead, needs=UNIT_WORDS),
    rule(
        UNIT_WORDS,
        rf"(?:(?:in|over|during|for|within|throughout){SP})?(?:the{SP})?(?P<which>last|past|next|coming|previous|following)"
        rf"{SP}(?:{COUNT}{SP}){UNIT}",
        _running,
        needs=frozenset({"last", "past", "next", "coming", "previous", "following"}),
    ),
    rule(
        UNIT_WORDS,
        rf"(?:in|over|during|for|within|throughout){SP}the{SP}(?P<which>last|past|next|coming){SP}"
        rf"(?P<number>(?!))?(?P<vague>(?!))?{UNIT}",
        _running,
        needs=frozenset({"last", "past", "next", "coming"}),
    ),
    rule(
        frozenset({"last", "next"}),
        rf"(?:the{SP})?{_ONE_UNIT}{SP}(?P<which>before{SP}last|after{SP}next)",
        _two_away,
    ),
    rule(frozenset({"other"}), rf"the{SP}other{SP}(?P<unit>day|week)", _other_day),
    rule(frozenset({"weekend"}), rf"(?:over|on|at|during|for){SP}the{SP}weekend", _weekend),
    rule(frozenset({"weekend"}), rf"the{SP}weekend{SP}(?P<side>before|after)(?={SP}?(?:[.,;!?]|$))", _weekend_beside),
)
