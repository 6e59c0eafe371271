"""English times of day and their joining with a day: "14:05", "9 am to 11 am", "on 4 March between 9:00 and 10:00".

Rules for what is left open (tested): hours without am or pm are those of the 24-hour clock, and one am or pm counts for
both ends ("from 9 to 11 am"); an end that is not after its start lies half a day or a day later ("9 to 5", "22:00 to
02:00", "noon to midnight"). A range ends with the minute it names; when both ends carry am or pm, with that hour. Two
bare numbers ("between 9 and 10") are times only beside a day, and from 7 on: before that, morning or afternoon is open.
A time of day with "UTC", "GMT" or "Z" is on that clock, any other on the reference's.
"""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from memory.dates import clock as cal
from memory.dates.clock import Clock, Local
from memory.dates.english_rules import Hit, Rule, rule
from memory.dates.english_words import ALL_MONTHS, ALL_WEEKDAYS, SP
from memory.dates.grammar import Found, Sort
from memory.dates.spans import Precision

#: Words and shapes that say a time of day may stand in a text.
TIME_SIGNS = frozenset({":", "am", "pm", "m", "noon", "midnight"})
#: First hour of the day that two bare numbers may name.
_FIRST_BARE_HOUR = 7
#: First hour of an evening or night, and the hour up to which its small hours run on the next day.
_EVENING, _SMALL_HOURS = 17, 6
_ONE = {Precision.MINUTE: timedelta(minutes=1), Precision.HOUR: timedelta(hours=1)}

_HALF = r"[ap]\.?m\b\.?"
_ZONE = rf"(?:{SP}?(?P<zone>UTC|GMT|Z)\b)?"


def _pattern(tag: str) -> str:
    """Give the pattern of a time of day whose groups end in `tag`."""
    return (
        rf"(?:(?P<hour{tag}>[01]?[0-9]|2[0-3]):(?P<minute{tag}>[0-5][0-9])(?::[0-5][0-9])?(?:{SP}?(?P<half{tag}>{_HALF}))?"
        rf"|(?P<hour12{tag}>1[0-2]|0?[1-9]){SP}?(?P<half12{tag}>{_HALF})|(?P<named{tag}>noon|midnight))"
    )


_DASH = r"-|\u2013|\u2014"
_TO = rf"(?:{SP}(?:to|until|till|through|(?(between)and|(?!))){SP}|{SP}?(?:{_DASH}){SP}?)"
_OPENING = rf"(?:(?:(?P<between>between)|(?P<from>from)){SP})?"
_BARE = r"(?P<bare{tag}>[01]?[0-9]|2[0-3])(?![:.%]?[0-9])"
_FIRST = rf"(?:{_pattern('')}|{_BARE.format(tag='')})"
_SECOND = _pattern("2")
_MARKED_RANGE = rf"{_OPENING}(?P<core>{_FIRST}{_TO}{_SECOND}{_ZONE})(?![:.][0-9])"
_OPENED_RANGE = rf"{_OPENING}(?(between)|(?(from)|(?!)))(?P<core>{_pattern('')}{_TO}{_BARE.format(tag='2')})"
#: What may follow two bare numbers: the day, a word that starts another phrase, or the end; not "9 and 10 people".
_NEXT_WORD = (
    rf"(?={SP}?(?:[.,;:!?)]|$)|{SP}(?:o'clock|on|in|at|did|do|does|was|were|is|are|had|has|the|for|with|by|what|who|"
    rf"why|when|where|which|how|we|i|they|he|she|it|you|yesterday|today|tomorrow|last|this|next|{ALL_WEEKDAYS}"
    rf"|[0-9]{{1,2}}(?:st|nd|rd|th)?{SP}(?:{ALL_MONTHS})|(?:{ALL_MONTHS}){SP}[0-9]|[0-9]{{4}}-)(?:\b|(?<=-)))"
)
_BARE_RANGE = (
    rf"{_OPENING}(?(between)|(?(from)|(?!)))(?P<core>{_BARE.format(tag='')}{_TO}{_BARE.format(tag='2')}){_NEXT_WORD}"
)
#: "rose from 9 to 10 yesterday" tells of a count.
_COUNTED = re.compile(
    r"\b(?:ris|rose|gr[eo]w|fall|fell|dropp?|went|go|gone|rais|increas|decreas|reduc|chang|scal|mov|bump|set|up|down"
    r"|upgrad|version|jump|climb)\w*\W+$",
    re.IGNORECASE,
)


def _hour(half: str | None, hour: int) -> int | None:
    if not half:
        return hour
    return hour % 12 + (12 if half.lower().startswith("p") else 0) if 1 <= hour <= 12 else None


def _time_today(hit: Hit) -> Local | None:
    precision = Precision.MINUTE if hit["minute"] else Precision.HOUR
    if hit["named"]:
        hour: int | None = 12 if hit["named"].lower() == "noon" else 0
    else:
        hour = _hour(hit["half"] or hit["half12"], int(hit["hour"] or hit["hour12"]))
    if hour is None:
        return None
    at = cal.midnight(hit.clock.today) + timedelta(hours=hour, minutes=int(hit["minute"] or 0))
    local = Local(at, at + _ONE[precision], precision)
    return _moved(local, hit.clock.offset) if hit["zone"] else local


def _moved(local: Local, by: timedelta) -> Local:
    return Local(local.start + by, local.end + by, local.precision)


def _time_range(hit: Hit) -> Local | None:
    groups = hit.match.groupdict()
    halves = [groups.get("half" + tag) or groups.get("half12" + tag) for tag in ("", "2")]
    minutes: list[int] = []
    for tag, half in zip(("", "2"), halves, strict=True):
        if named := groups.get("named" + tag):
            minutes.append(720 if named.lower() == "noon" else 0)
            continue
        hour = _hour(half, int(groups.get("hour" + tag) or groups.get("hour12" + tag) or groups["bare" + tag]))
        if hour is None:
            return None
        minutes.append(60 * hour + int(groups.get("minute" + tag) or 0))
    first, last = minutes
    if groups.get("bare") and halves[1] and first <= 720:
        # "from 2 to 4 pm" and "from 11 to 2 pm": the latest start in front of the end
        first = max((each for each in (first % 720, first % 720 + 720) if each < last), default=first)
    unsaid = not halves[1] and not groups.get("named2")
    if last <= first:
        last += 720 if unsaid and (groups.get("bare2") or halves[0]) and first < last + 720 <= 1440 else 1440
    whole_hour = all(halves) and not groups.get("minute2")
    start = cal.midnight(hit.clock.today)
    local = Local(
        start + timedelta(minutes=first),
        start + timedelta(minutes=last + (60 if whole_hour else 1)),
        Precision.MINUTE if groups.get("minute") or groups.get("minute2") else Precision.HOUR,
    )
    return _moved(local, hit.clock.offset) if groups.get("zone") else local


def _bare_range(hit: Hit) -> Local | None:
    if int(hit["bare"]) < _FIRST_BARE_HOUR or _COUNTED.search(hit.before):
        return None
    return _time_range(hit)


RULES: tuple[Rule, ...] = (
    rule(TIME_SIGNS, rf"(?:at{SP})?{_pattern('')}{_ZONE}(?![:.][0-9])", _time_today, sort=Sort.TIME),
    rule(TIME_SIGNS, _MARKED_RANGE, _time_range, sort=Sort.TIME),
    rule(TIME_SIGNS, _OPENED_RANGE, _time_range, needs=frozenset({"between", "from"}), sort=Sort.TIME),
    rule(frozenset({"between", "from"}), _BARE_RANGE, _bare_range, sort=Sort.HOURS),
)

_BESIDE = re.compile(
    rf",?{SP}(?:(?:only|just|sometime|somewhere){SP})?(?:at{SP}|around{SP}|about{SP}|on{SP}|of{SP}|in{SP}the{SP}"
    rf"|between{SP}|from{SP})?|[,:]?{SP}?\(?",
    re.IGNORECASE,
)
_CLIPPED = re.compile(
    rf",?{SP}(?:only{SP}|just{SP})?(?:(?P<after>after|since|from|starting{SP}at)|(?:before|until|till|by|up{SP}to)){SP}",
    re.IGNORECASE,
)
_MIDNIGHT = re.compile(r"midnight", re.IGNORECASE)


def is_midnight(text: str, found: Found) -> bool:
    """Say whether a phrase is "midnight", with or without its day, and not a range of times."""
    return is_moment(found.local) and _MIDNIGHT.search(text, found.start, found.end) is not None


def is_moment(local: Local) -> bool:
    """Say whether an interval is one minute or one hour: a time of day, not a range of them."""
    return local.precision in _ONE and local.end - local.start <= _ONE[local.precision]


def join_times(text: str, atoms: list[Found], clock: Clock) -> list[Found]:
    """Join a day with the time of day beside it, on either side."""
    joined: list[Found] = []
    for found in atoms:
        try:
            both = _both(text, joined[-1], found, clock) if joined else None
        except OverflowError:
            both = None  # beyond the calendar: the two stay apart
        if both is not None:
            joined.append(replace(both, start=joined.pop().start, end=found.end))
        else:
            joined.append(found)
    return joined


def _both(text: str, first: Found, second: Found, clock: Clock) -> Found | None:
    if _is_day(first) and _is_time(second):
        clipped = _CLIPPED.fullmatch(text, first.end, second.start)
        if clipped is not None and is_moment(second.local):
            return _clip(text, first, second, clock, after=bool(clipped["after"]))
        day, time = first, second
    elif _is_time(first) and _is_day(second):
        day, time = second, first
    else:
        return None
    if _BESIDE.fullmatch(text, first.end, second.start) is None:
        return None
    return replace(day, local=on_day(time.local, day.local, clock))


def _is_day(found: Found) -> bool:
    local = found.local
    return found.sort is Sort.DATE and local.precision is Precision.DAY and local.end - local.start <= timedelta(days=1)


def _is_time(found: Found) -> bool:
    return found.sort in {Sort.TIME, Sort.HOURS}


def on_day(time: Local, day: Local, clock: Clock) -> Local:
    """Move a time of the reference's own day to another; the small hours of an evening or night are the next day's."""
    shift = cal.midnight(day.start.date()) - cal.midnight(clock.today)
    if day.start.hour >= _EVENING and time.start.date() == clock.today and time.start.hour < _SMALL_HOURS:
        shift += timedelta(days=1)
    return _moved(time, shift)


def _clip(text: str, day: Found, time: Found, clock: Clock, *, after: bool) -> Found:
    """ "yesterday after 14:00", "on 4 March before noon": the rest of that day, or what is in front."""
    at: datetime = on_day(time.local, day.local, clock).start
    if not after and is_midnight(text, time):
        at = day.local.end
    rest = day.local.end
    if day.local.start.hour >= _EVENING:
        rest = cal.midnight(day.local.start.date()) + timedelta(days=1, hours=_SMALL_HOURS)
    start, end = (at, rest) if after else (day.local.start, at)
    local = Local(start, end, time.local.precision) if start < end else day.local
    return replace(day, local=local)
