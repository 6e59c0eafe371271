"""English phrases that count on the calendar: "Q1 2023", "three Fridays ago", "on the 20th", "the end of the month"."""

from datetime import timedelta

from dateutil.relativedelta import relativedelta

from memory.dates import clock as cal
from memory.dates.clock import Local
from memory.dates.english_relative import unit_at
from memory.dates.english_rules import Hit, Rule, rule
from memory.dates.english_words import ALL_WEEKDAYS, NUMBER, ORDINAL, SP, WEEKDAYS, YEAR, number, weekday_number
from memory.dates.spans import Precision


def _quarter(hit: Hit) -> Local | None:
    return cal.months(int(hit["year"]), 3 * int(hit["quarter"]) - 2, 3, Precision.SEASON)


def _weekdays_ago(hit: Hit) -> Local | None:
    """ "three Fridays ago": the nearest Friday before the reference is one Friday ago."""
    nearest = cal.weekday_near(hit.clock.today, weekday_number(hit["weekday"]), after=False)
    return cal.day(nearest - timedelta(weeks=number(hit["number"]) - 1))


def _day_of_month(hit: Hit) -> Local | None:
    """ "on the 20th": of this month, else of the one before, or after when the future is meant."""
    wanted, today = int(hit["day"]), hit.clock.today
    month = today.replace(day=1)
    if hit.future and wanted < today.day:
        month += relativedelta(months=1)
    elif not hit.future and wanted > today.day:
        month -= relativedelta(months=1)
    return cal.day(month.replace(day=wanted))


def _edge_of_this(hit: Hit) -> Local | None:
    whole = unit_at(hit.clock, hit["unit"].lower(), 0)
    if whole is None:
        return None
    edge = hit["edge"].lower()
    return cal.third(whole, 2 if edge == "end" else 1 if edge == "middle" else 0)


RULES: tuple[Rule, ...] = (
    rule(frozenset({"q"}), rf"Q(?P<quarter>[1-4]),?{SP}(?:of{SP})?{YEAR}", _quarter, needs=frozenset({"YEAR"})),
    rule(
        frozenset(name + ending for name in WEEKDAYS for ending in ("", "s")),
        rf"{NUMBER}{SP}(?P<weekday>{ALL_WEEKDAYS})s?{SP}ago",
        _weekdays_ago,
        needs=frozenset({"ago"}),
    ),
    rule(
        frozenset({"st", "nd", "rd", "th"}),
        rf"on{SP}the{SP}(?P<day>[0-9]{{1,2}}){ORDINAL}(?={SP}?(?:[.,;!?)]|$)|{SP}(?:at|and|we|i|they|he|she|it)\b)",
        _day_of_month,
        needs=frozenset({"on"}),
    ),
    rule(
        frozenset({"week", "month", "year", "decade"}),
        rf"(?:(?:at|by|towards){SP})?the{SP}(?P<edge>end|start|beginning|middle){SP}of{SP}the{SP}"
        rf"(?P<unit>week|month|year|decade)(?!{SP}(?:of|before|after)\b)",
        _edge_of_this,
        needs=frozenset({"end", "start", "beginning", "middle"}),
    ),
)
