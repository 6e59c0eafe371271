"""Joins neighbouring English phrases: "between A and B", "the week before A", "end of A", "since A", "A at 14:05"."""

import re
from dataclasses import replace
from datetime import MAXYEAR, timedelta

from dateutil.relativedelta import relativedelta

from memory.dates import clock as cal
from memory.dates.clock import Clock, Local
from memory.dates.english_recurrences import without_recurrences
from memory.dates.english_relative import delta, part_of
from memory.dates.english_times import is_midnight, join_times
from memory.dates.english_words import COUNT, FULL_WEEKDAY, SP, number, weekday_number
from memory.dates.grammar import Found, Sort
from memory.dates.spans import Precision

#: Longest run of words in front of a phrase that can belong to it, in characters.
_REACH = 48

_BETWEEN = re.compile(rf"{SP}?(?:to|and|until|till|through|-|\u2013|\u2014){SP}?(?:the{SP})?", re.IGNORECASE)
_FROM = re.compile(rf"\b(?:from|between){SP}(?:the{SP})?$", re.IGNORECASE)
_PART = re.compile(rf"{SP}(?:in{SP}the{SP}|at{SP})?(?P<part>morning|afternoon|evening|night)\b", re.IGNORECASE)
_EDGE = re.compile(
    rf"\b(?:(?P<early>early|(?:at{SP})?(?:the{SP})?(?:start|beginning){SP}of|first{SP}part{SP}of)"
    rf"|(?P<mid>mid|(?:the{SP})?middle{SP}of)|(?P<late>late|(?:at{SP})?(?:the{SP})?end{SP}of))(?:{SP}|-)(?:in{SP})?$",
    re.IGNORECASE,
)
_ORDINAL_OF = re.compile(
    rf"\b(?:(?:in|on|during|over){SP})?the{SP}(?P<which>first|second|third|fourth|last){SP}"
    rf"(?P<unit>weekend|week|half|day|month){SP}(?:of|in){SP}(?:the{SP})?$",
    re.IGNORECASE,
)
_ORDINALS = ("first", "second", "third", "fourth")
_BESIDE = re.compile(
    rf"(?:\b(?:on{SP})?(?:the{SP})?(?P<which>{FULL_WEEKDAY}|weekend)"
    rf"|\b(?:(?:in|on|during){SP})?(?:(?:the{SP})?{COUNT}|the){SP}(?P<unit>weekend|day|week|month|year|hour|minute)s?)"
    rf"{SP}(?P<side>before|prior{SP}to|preceding|after|following|of){SP}(?:the{SP})?$",
    re.IGNORECASE,
)
_OPEN = re.compile(
    rf"\b(?:(?P<since>(?:ever{SP})?since|starting(?:{SP}(?:in|on|from))?)|(?P<until>until|till|up{SP}to|by)"
    rf"|(?P<before>before|prior{SP}to|earlier{SP}than)|(?P<after>after|later{SP}than))"
    rf"{SP}(?:the{SP})?$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"noon|midnight", re.IGNORECASE)
_TIMES = frozenset({Precision.MINUTE, Precision.HOUR})


def link(text: str, atoms: list[Found], clock: Clock) -> list[Found]:
    """Join the phrases, which stand in order and do not overlap; the result does not overlap either."""
    joined: list[Found] = []
    for found in without_recurrences(text, join_times(text, atoms, clock)):
        before = max(0, found.start - _REACH)
        grown = found
        try:
            grown = _part(text, grown)
            grown = _edge(text, before, grown)
            grown = _ordinal_of(text, before, grown)
            grown = _beside(text, before, grown)
        except (ValueError, OverflowError):
            grown = found
        while joined and joined[-1].start >= grown.start:
            joined.pop()  # "the Sunday before 25 May": the Sunday is part of the longer phrase
        if joined and joined[-1].end > grown.start:
            grown = found
        if (
            joined
            and joined[-1].yearless
            and not grown.yearless
            and _BETWEEN.fullmatch(text, joined[-1].end, grown.start)
        ):
            joined[-1] = _dated_like(joined[-1], grown)
        if joined and _range(text, joined[-1], grown):
            first = joined.pop()
            start = first.start
            joined.append(Found(start, grown.end, Local(first.local.start, grown.local.end, grown.local.precision)))
        else:
            joined.append(_opened(text, before, grown))
    return [replace(found, sort=Sort.HOURS) if _any_day(text, found) else found for found in joined]


def _part(text: str, found: Found) -> Found:
    whole = found.local.precision is Precision.DAY and found.local.end - found.local.start == timedelta(days=1)
    match = _PART.match(text, found.end) if whole else None
    return replace(found, end=match.end(), local=part_of(found.local, match["part"])) if match else found


def _edge(text: str, before: int, found: Found) -> Found:
    match = _EDGE.search(text[before : found.start])
    if match is None:
        return found
    index = 0 if match["early"] else 1 if match["mid"] else 2
    return replace(found, start=before + match.start(), local=cal.third(found.local, index))


def _ordinal_of(text: str, before: int, found: Found) -> Found:
    """ "the first week of June": seven days counted from its first day or, for the last, from its last."""
    match = _ORDINAL_OF.search(text[before : found.start])
    if match is None:
        return found
    local = _counted(found.local, match["unit"].lower(), match["which"].lower())
    return replace(found, start=before + match.start(), local=local) if local else found


def _counted(whole: Local, unit: str, which: str) -> Local | None:
    place, size = (-1 if which == "last" else _ORDINALS.index(which)), (whole.end - whole.start).days
    if unit == "half":
        middle = whole.start + timedelta(days=size // 2)
        if place == 0:
            return Local(whole.start, middle, whole.precision)
        return Local(middle, whole.end, whole.precision) if place in {1, -1} else None
    if unit == "month":
        if size < 60:
            return None
        first = whole.start.date() + delta("month", place) if place >= 0 else whole.end.date() + delta("month", -1)
        return cal.month(first.year, first.month)
    length = 1 if unit == "day" else 7
    if size < 2 * length:
        return None
    if unit == "weekend":
        edge = whole.start.date() - timedelta(days=1) if place >= 0 else whole.end.date()
        saturday = cal.weekday_near(edge, 5, after=place >= 0) + timedelta(weeks=max(0, place))
        return cal.weekend(saturday - timedelta(days=5))
    start = whole.start + timedelta(days=length * place) if place >= 0 else whole.end - timedelta(days=length)
    return cal.days(start.date(), length, Precision.WEEK if length == 7 else Precision.DAY)


def _beside(text: str, before: int, found: Found) -> Found:
    """ "the Sunday before 25 May", "two weekends before 17 July", "three days after 8 May", "the week of 9 June"."""
    match = _BESIDE.search(text[before : found.start])
    if match is None:
        return found
    side = match["side"].lower()
    sign = 0 if side == "of" else -1 if side[0] in "bp" else 1
    which = (match["which"] or match["unit"]).lower()
    count = number(match["number"]) if match["number"] else 1
    if match["vague"] or match["half"]:
        return found
    local = _neighbour(found.local, which, sign, count, exact=bool(match["number"]))
    return replace(found, start=before + match.start(), local=local) if local else found


def _neighbour(anchor: Local, which: str, sign: int, count: int, *, exact: bool) -> Local | None:
    first, last = anchor.start.date(), (anchor.end - timedelta(microseconds=1)).date()
    monday = first - timedelta(days=first.weekday())
    if which == "weekend":
        if sign == 0:
            return cal.weekend(monday)
        saturday = cal.weekday_near(last if sign > 0 else first, 5, after=sign > 0)
        return cal.weekend(saturday - timedelta(days=5) + timedelta(weeks=sign * (count - 1)))
    if which in {"hour", "minute"}:
        at = (anchor.start if sign < 0 else anchor.end) if sign else None
        if at is None:
            return None
        return cal.minute((anchor.start if anchor.precision in _TIMES else at) + delta(which, sign * count))
    if which not in {"day", "week", "month", "year"}:
        if sign == 0:
            return cal.day(monday + timedelta(days=weekday_number(which)))
        return cal.day(cal.weekday_near(last if sign > 0 else first, weekday_number(which), after=sign > 0))
    if which == "day":
        moved = first - timedelta(days=count) if sign < 0 else last + timedelta(days=count)
        return cal.day(moved) if sign else None
    if which == "week":
        if sign == 0:
            return cal.week(monday)
        if exact:
            return cal.week((first if sign < 0 else last) + timedelta(days=7 * sign * count - 3))
        return cal.week(first - timedelta(days=7) if sign < 0 else last + timedelta(days=1))
    return _calendar_neighbour(anchor, which, sign, count)


def _calendar_neighbour(anchor: Local, which: str, sign: int, count: int) -> Local:
    if which == "month":
        at = anchor.start.date().replace(day=1) + delta("month", sign * count)
        return cal.month(at.year, at.month)
    return cal.year(anchor.start.year + sign * count)


def _dated_like(first: Found, second: Found) -> Found:
    """Give "8 May" of "8 May to 3 June 2023" the year of the second, or the one before when it would come after it."""
    shift = second.local.start.year - first.local.start.year
    for years in (shift, shift - 1):
        length = relativedelta(years=years)
        local = Local(first.local.start + length, first.local.end + length, first.local.precision)
        if local.start < second.local.end:
            return replace(first, local=local, yearless=False)
    return first


def _range(text: str, first: Found, second: Found) -> bool:
    """Say whether "from A to B" or "A - B" joins the two; "A and B" only after "between"."""
    gap = _BETWEEN.fullmatch(text, first.end, second.start)
    if gap is None or first.local.start >= second.local.end or first.opens or second.local.end <= first.local.end:
        return False
    opened = _FROM.search(text[max(0, first.start - 16) : first.start]) is not None
    return opened or "and" not in gap.group().lower()


def _opened(text: str, before: int, found: Found) -> Found:
    match = _OPEN.search(text[before : found.start])
    if match is None:
        return found
    if match["since"] or match["after"]:
        return replace(found, opens=1, inclusive=bool(match["since"]))
    if is_midnight(text, found) and found.sort is Sort.DATE:
        # "until midnight on 4 March" is the midnight that ends the day, "after" is the one that starts it
        local, length = found.local, timedelta(days=1)
        if local.end.year < MAXYEAR:
            found = replace(found, local=Local(local.start + length, local.end + length, local.precision))
    return replace(found, opens=-1, inclusive=bool(match["until"]))


def _any_day(text: str, found: Found) -> bool:
    """Say that "after midnight", "before noon" and "until midnight" are of any day while none is named."""
    open_day = found.sort is Sort.TIME and found.opens != 0 and not (found.opens > 0 and found.inclusive)
    return open_day and _NAMED.fullmatch(text, found.start, found.end) is not None
