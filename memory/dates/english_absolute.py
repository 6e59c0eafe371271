"""English phrases that name a date by themselves: "8 May 2023", "2023-05-08", "summer 2022", "in 2021"."""

from datetime import date, datetime, timedelta

from memory.dates import clock as cal
from memory.dates.clock import Local
from memory.dates.english_rules import Hit, Rule, rule
from memory.dates.english_words import (
    ALL_MONTHS,
    DATED_WEEKDAY,
    DECADES,
    FEASTS,
    FULL_MONTH,
    MONTH,
    MONTH_WORDS,
    ORDINAL,
    SEASON,
    SEASON_WORDS,
    SEASONS,
    SP,
    YEAR,
    month_number,
)
from memory.dates.spans import Precision

#: Months that are also words or first names: alone they are read as a month only after a clear preposition.
_AMBIGUOUS = frozenset({"may", "march", "april", "june", "august"})
_LOWER_AMBIGUOUS = ("may", "march", "mar", "dec", "sep", "jan")

_ISO = (
    r"(?P<y>[0-9]{4})(?P<sep>[-/])(?P<m>[0-9]{2})(?P=sep)(?P<d>[0-9]{2})"
    r"(?:(?:T|[ ])(?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,][0-9]{1,9})?)?"
    r"[ ]?(?P<zone>Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?(?![-/][0-9])"
)


def _iso(hit: Hit) -> Local | None:
    on = date(int(hit["y"]), int(hit["m"]), int(hit["d"]))
    if not hit["H"]:
        return cal.day(on)
    at = cal.midnight(on) + timedelta(hours=int(hit["H"]), minutes=int(hit["M"]))
    if int(hit["H"]) > 23 or int(hit["M"]) > 59:
        return None
    zone = hit["zone"].upper()
    if zone in {"Z", "UTC"}:
        return cal.minute(hit.clock.wall(datetime.fromisoformat(at.isoformat() + "+00:00")))
    if zone:
        digits = zone[1:].replace(":", "")
        return cal.minute(hit.clock.wall(datetime.fromisoformat(f"{at.isoformat()}{zone[0]}{digits[:2]}:{digits[2:]}")))
    return cal.minute(at)


def _iso_month(hit: Hit) -> Local | None:
    return cal.month(int(hit["y"]), int(hit["m"]))


def _numeric(hit: Hit) -> Local | None:
    """5/8/2023 is month/day/year as in American English, day/month/year when only that is a date; 8.5.2023 is d.m.y."""
    first, second, year = int(hit["a"]), int(hit["b"]), int(hit["y"])
    if len(hit["y"]) == 2:
        year += 2000 if year < 70 else 1900
    day_first = hit["sep"] == "." or first > 12
    month, number = (second, first) if day_first else (first, second)
    return cal.day(date(year, month, number))


def _certain(hit: Hit) -> bool:
    """Say whether a day and month are surely a date: "you may 10" and "march 5 miles" are not."""
    word = hit["month"]
    return word.lower() not in _LOWER_AMBIGUOUS or word[0].isupper() or bool(hit["year"] or hit["ordinal"])


def _dated(hit: Hit) -> Local | None:
    if not _certain(hit):
        return None
    return cal.day(date(_year(hit), month_number(hit["month"]), int(hit["day"])))


def _day_range(hit: Hit) -> Local | None:
    if not _certain(hit):
        return None
    year, month = _year(hit), month_number(hit["month"])
    first, last = date(year, month, int(hit["day"])), date(year, month, int(hit["last"]))
    return cal.days(first, (last - first).days + 1, Precision.DAY) if first < last else None


def _year(hit: Hit) -> int:
    """Give the year said, else the one that brings the day nearest to the reference on the side that is meant."""
    if hit["year"]:
        return int(hit["year"])
    now, month = hit.clock.today, month_number(hit["month"])
    number = int(hit.match.groupdict().get("day") or 1)
    if hit.future:
        return now.year if (month, number) >= (now.month, now.day) else now.year + 1
    return now.year if (month, number) <= (now.month, now.day) else now.year - 1


def _month_year(hit: Hit) -> Local | None:
    return cal.month(int(hit["year"]), month_number(hit["month"]))


def _bare_month(hit: Hit) -> Local | None:
    word, lead = hit["month"].lower(), hit["lead"].lower()
    if word in _AMBIGUOUS and (not hit["month"][0].isupper() or lead in {"by", "from", "before", "after"}):
        # "from April", "by June": a person as likely as a month
        return None
    return cal.month(_year(hit), month_number(hit["month"]))


def _month_range(hit: Hit) -> Local | None:
    """ "between May and July 2023": both ends are part of it; without a year, the nearest on the side that is meant."""
    if not hit["open"] and not hit["year"]:
        return None
    last = cal.month(_year(hit), month_number(hit["month"]))
    month = month_number(hit["first"])
    year = int(hit["firstyear"] or (last.start.year if month <= last.start.month else last.start.year - 1))
    first = cal.month(year, month)
    return Local(first.start, last.end, Precision.MONTH) if first.start < last.start else None


def _year_range(hit: Hit) -> Local | None:
    first, last = int(hit["first"]), int(hit["year"])
    return Local(cal.year(first).start, cal.year(last).end, Precision.YEAR) if first < last else None


def _bare_season(hit: Hit) -> Local | None:
    which, now = SEASONS[hit["season"].lower()], hit.clock.now
    if hit["year"]:
        return cal.season(int(hit["year"]), which)
    for year in (now.year + 1, now.year, now.year - 1):
        whole = cal.season(year, which)
        if not hit.future and whole.start <= now:
            return whole
    return next(s for s in (cal.season(now.year, which), cal.season(now.year + 1, which)) if s.end > now)


def _year_alone(hit: Hit) -> Local | None:
    return cal.year(int(hit["year"]))


def _decade(hit: Hit) -> Local | None:
    if hit["name"]:
        return cal.decade(DECADES[hit["name"].lower()])
    if hit["full"]:
        return cal.decade(int(hit["full"]))
    tens = int(hit["tens"])
    return cal.decade((1900 if tens >= 30 else 2000) + tens)


def _feast(hit: Hit) -> Local | None:
    month, number = FEASTS[hit["feast"].lower().replace("\u2019", "'")]
    today, which = hit.clock.today, hit["which"].lower()
    if hit["year"]:
        return cal.day(date(int(hit["year"]), month, number))
    this_year = date(today.year, month, number)
    if which == "last" or (which not in {"this", "next"} and not hit.future):
        return cal.day(this_year if this_year < today else this_year.replace(year=today.year - 1))
    return cal.day(this_year if this_year >= today else this_year.replace(year=today.year + 1))


_LEAD = (
    r"(?P<lead>in|since|until|till|by|during|before|after|from|early|mid|late|around|throughout"
    r"|end of|start of|beginning of)"
)
_LAST_DAY = rf"{SP}?(?:to|-|\u2013|\u2014|and|until|till|through){SP}?"
_NOT_COUNT = (
    r"(?![ ]?(?:ms|s|kb|mb|gb|requests|events|users|rows|times|people|items|tokens|errors|dollars"
    r"|km|miles|metres|meters|feet)\b)"
)

RULES: tuple[Rule, ...] = (
    rule(frozenset({"-", "/"}), _ISO, _iso),
    rule(frozenset({"-"}), r"(?P<y>(?:19|20)[0-9]{2})-(?P<m>0[1-9]|1[0-2])(?!-)", _iso_month),
    rule(
        frozenset({"/", "."}),
        r"(?P<a>[0-9]{1,2})(?P<sep>[/.])(?P<b>[0-9]{1,2})(?P=sep)(?P<y>[0-9]{4}|(?<=/)[0-9]{2})(?![/.][0-9])",
        _numeric,
    ),
    rule(
        MONTH_WORDS,
        rf"(?:the{SP})?(?P<day>[0-9]{{1,2}})(?P<ordinal>{ORDINAL})?{_LAST_DAY}(?:the{SP})?(?P<last>[0-9]{{1,2}}){ORDINAL}?"
        rf"{SP}(?:of{SP})?{MONTH}(?:,?{SP}{YEAR})?",
        _day_range,
    ),
    rule(
        MONTH_WORDS,
        rf"{MONTH}{SP}(?P<day>[0-9]{{1,2}})(?P<ordinal>{ORDINAL})?{_LAST_DAY}(?P<last>[0-9]{{1,2}}){ORDINAL}?(?![0-9:])"
        rf"(?:,?{SP}{YEAR})?",
        _day_range,
    ),
    rule(
        MONTH_WORDS,
        rf"{DATED_WEEKDAY}(?:the{SP})?(?P<day>[0-9]{{1,2}})(?P<ordinal>{ORDINAL})?(?:{SP}of)?(?:{SP}|-){MONTH}"
        rf"(?:(?:,?{SP}|-){YEAR})?",
        _dated,
    ),
    rule(
        MONTH_WORDS,
        rf"{DATED_WEEKDAY}{MONTH}{SP}(?:the{SP})?(?P<day>[0-9]{{1,2}})(?P<ordinal>{ORDINAL})?(?![0-9:%]|[.][0-9])"
        rf"(?:,?{SP}{YEAR})?",
        _dated,
    ),
    rule(MONTH_WORDS, rf"(?:mid-)?(?P<core>{MONTH},?{SP}(?:of{SP})?{YEAR})", _month_year),
    rule(
        SEASON_WORDS,
        rf"(?:(?:the|in|over|during|of){SP}){{0,2}}{SEASON}(?:{SP}of)?{SP}{YEAR}{_NOT_COUNT}",
        _bare_season,
    ),
    rule(SEASON_WORDS, rf"(?:in|over|during|since|until){SP}the{SP}{SEASON}(?P<year>(?!))?(?!{SP}of\b)", _bare_season),
    rule(
        frozenset({"christmas", "new", "halloween", "valentine"}),
        rf"(?:(?P<which>last|this|next|on){SP})?(?P<feast>christmas(?:{SP}(?:eve|day))?|new{SP}year['\u2019]s{SP}(?:eve|day)"
        rf"|halloween|valentine['\u2019]s{SP}day)(?:(?:,?{SP}(?:of{SP})?){YEAR})?(?(which)|(?(year)|(?!)))",
        _feast,
    ),
    rule(
        frozenset({"YEAR"}),
        rf"(?:in|since|until|till|during|before|after|from|early|mid|late|year|(?:end|start|beginning|middle|half|month){SP}of)(?:{SP}|-)"
        rf"(?P<core>{YEAR}){_NOT_COUNT}",
        _year_alone,
    ),
    rule(
        frozenset({"YEAR"}),
        rf"(?P<open>from|between){SP}(?P<first>(?:19|20)[0-9]{{2}}){SP}?(?:to|and|until|-|\u2013){SP}?{YEAR}{_NOT_COUNT}",
        _year_range,
    ),
    rule(
        frozenset({"s"} | set(DECADES)),
        rf"the{SP}(?P<core>(?P<full>(?:19|20)[0-9]0)s|['\u2019](?P<tens>[3-9]0)s|(?P<name>{'|'.join(DECADES)}))",
        _decade,
    ),
    rule(
        MONTH_WORDS,
        rf"(?P<open>(?:from|between){SP})?(?P<first>(?:{ALL_MONTHS})\b)(?:{SP}(?P<firstyear>(?:19|20)[0-9]{{2}}))?"
        rf"(?:{SP}(?:to|and|until|through|till){SP}|{SP}?[-\u2013]{SP}?){FULL_MONTH}(?:,?{SP}{YEAR})?",
        _month_range,
    ),
    rule(MONTH_WORDS, rf"{_LEAD}(?:{SP}|-)(?P<core>{FULL_MONTH})(?P<year>(?!))?(?![ ][0-9])", _bare_month),
)
