"""English phrases of what comes again: "on Thursdays at 02:00", "every Friday", "daily at 9", "weekly on Monday".

They name no date, and neither do the weekdays and times of day that belong to them.
"""

import re

from memory.dates.english_rules import Hit, Meaning, Rule, rule
from memory.dates.english_words import ALL_MONTHS, ALL_WEEKDAYS, NUMBER, SP, WEEKDAYS
from memory.dates.grammar import Found, Sort

_PLURALS = frozenset(name + "s" for name in WEEKDAYS)
_ADVERBS = frozenset(
    {"hourly", "daily", "nightly", "weekly", "biweekly", "fortnightly", "monthly", "quarterly", "yearly", "annually",
     "weekdays", "weekends", "workdays", "always", "usually", "normally", "typically", "generally", "regularly"}
)  # fmt: skip
_EACH = frozenset({"every", "each", "any", "most", "alternate"})
_UNITS = (
    rf"(?:{ALL_WEEKDAYS}|{ALL_MONTHS}|minute|hour|day|night|morning|afternoon|evening|weekday|weekend|workday|week|month"
    r"|quarter|year)s?"
)
_PARTS = r"(?:morning|afternoon|evening|night)"


def _undated(_hit: Hit) -> Meaning:
    return Sort.UNDATED


RULES: tuple[Rule, ...] = (
    rule(_PLURALS, rf"(?:on{SP})?(?:{ALL_WEEKDAYS})s(?:{SP}{_PARTS}s?)?", _undated),
    rule(
        frozenset(WEEKDAYS),
        rf"(?:on{SP})?(?:{ALL_WEEKDAYS}){SP}{_PARTS}s",
        _undated,
        needs=frozenset({"mornings", "afternoons", "evenings", "nights"}),
    ),
    rule(
        _EACH,
        rf"(?:every|each|any|most|alternate){SP}(?:(?:single|other|second|third|last|first|few|{NUMBER}){SP})?"
        rf"{_UNITS}(?:{SP}{_PARTS}s?)?(?!{SP}ago\b)",
        _undated,
    ),
    rule(
        frozenset({"every", "each"}),
        rf"(?:every|each){SP}(?:[0-9]{{1,2}}(?:st|nd|rd|th)?{SP}(?:of{SP})?(?:{ALL_MONTHS})|(?:{ALL_MONTHS}){SP}[0-9]{{1,2}})",
        _undated,
    ),
    rule(
        frozenset({"once", "twice", "times"}),
        rf"(?:once|twice|{NUMBER}{SP}times){SP}(?:an?|per|every|each){SP}(?:hour|day|night|week|month|year)(?!{SP}ago\b)",
        _undated,
    ),
    rule(_ADVERBS, rf"(?:(?:at|on){SP})?(?:{'|'.join(sorted(_ADVERBS))})", _undated),
)

_WEEKDAY = re.compile(rf"(?:on\s+)?(?:{ALL_WEEKDAYS})\b", re.IGNORECASE)
_LIST = re.compile(rf"(?:on\s+)?(?:{ALL_WEEKDAYS})s?\b|(?:every|each|any|most)\s+(?:{ALL_WEEKDAYS})", re.IGNORECASE)
_YEARLY = re.compile(r"month|year|annual|quarter", re.IGNORECASE)
_CALENDAR = re.compile(rf"(?:on\s+the\s+)?[0-9]{{1,2}}(?:st|nd|rd|th)|(?:{ALL_MONTHS})", re.IGNORECASE)
_BESIDE = re.compile(r",?\s+(?:(?:on|in|at|from|between|of)\s+)?(?:the\s+)?", re.IGNORECASE)
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+)?(?:on\s+)?|\s+(?:and|or|to|through|till)\s+(?:on\s+)?", re.IGNORECASE)
_OF = re.compile(r"\s+(?:of\s+)?", re.IGNORECASE)
_DETERMINER = re.compile(r"\b(?:the|an?|this|that|my|our|your|his|her|its|their)\s+$", re.IGNORECASE)
#: Longest run of words between "every Friday" and the time of day that is its own.
_CLAUSE = re.compile(r"[^.,;:!?\n]{0,40}")
_HAPPENED = re.compile(r"\b(?:but|was|were|did|went|broke|began|fell|ran|had|came|ended|[a-z]{3,}ed)\b", re.IGNORECASE)


def without_recurrences(text: str, atoms: list[Found]) -> list[Found]:
    """Drop the phrases without a date, and the weekdays and times that belong to one."""
    gone = [found.sort is Sort.UNDATED for found in atoms]
    if not any(gone):
        return atoms
    for index in range(1, len(atoms)):
        gone[index] = gone[index] or (gone[index - 1] and _follows(text, atoms[index - 1], atoms[index]))
    for index in reversed(range(len(atoms) - 1)):
        gone[index] = gone[index] or (gone[index + 1] and _leads(text, atoms[index], atoms[index + 1]))
    return [found for found, out in zip(atoms, gone, strict=True) if not out]


def _follows(text: str, cue: Found, found: Found) -> bool:
    gap = text[cue.end : found.start]
    if _of_cue(text, cue, found):
        return _BESIDE.fullmatch(gap) is not None or (_listed(text, cue, found) and _AND.fullmatch(gap) is not None)
    return _timed(found, gap)


def _leads(text: str, found: Found, cue: Found) -> bool:
    gap = text[found.end : cue.start]
    if _of_cue(text, cue, found):
        return _OF.fullmatch(gap) is not None or (_listed(text, cue, found) and _AND.fullmatch(gap) is not None)
    # "at 02:13 the nightly job failed": there the cue is the name of a thing
    return _timed(found, gap) and _DETERMINER.search(gap) is None


def _of_cue(text: str, cue: Found, found: Found) -> bool:
    """Say whether a phrase is of the kind that a recurrence is made of: a weekday, or a day or month of each year."""
    if _WEEKDAY.match(text, found.start, found.end):
        return True
    yearly = _YEARLY.search(text, cue.start, cue.end) is not None
    return yearly and (found.yearless or _CALENDAR.fullmatch(text, found.start, found.end) is not None)


def _listed(text: str, cue: Found, found: Found) -> bool:
    return bool(_LIST.match(text, cue.start, cue.end) and _WEEKDAY.match(text, found.start, found.end))


def _timed(found: Found, gap: str) -> bool:
    """Say whether a time of day is that of the recurrence: in its clause, and not of something that happened."""
    timed = found.sort in {Sort.TIME, Sort.HOURS}
    return timed and _CLAUSE.fullmatch(gap) is not None and _HAPPENED.search(gap) is None
