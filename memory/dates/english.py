"""The English grammar: a cheap look for words of time, then the rules they call for, then the joining of neighbours."""

import re
from itertools import islice

from memory.dates import clock as cal
from memory.dates.clock import Clock
from memory.dates.english_absolute import RULES as ABSOLUTE
from memory.dates.english_calendar import RULES as CALENDAR
from memory.dates.english_links import link
from memory.dates.english_recurrences import RULES as RECURRENCES
from memory.dates.english_relative import RULES as RELATIVE
from memory.dates.english_rules import Hit, Rule
from memory.dates.english_times import RULES as TIMES
from memory.dates.english_weekdays import RULES as WEEKDAYS
from memory.dates.grammar import Found, Sort

#: Most phrases that are kept of one text.
MAX_FOUND = 64
#: Most matches of one rule that are resolved: a text that is one long list of dates must not hold up a batch.
MAX_MATCHES = 2 * MAX_FOUND

_RULES: tuple[Rule, ...] = (*ABSOLUTE, *TIMES, *RELATIVE, *WEEKDAYS, *CALENDAR, *RECURRENCES)
_TRIGGERS = frozenset[str]().union(*(rule.triggers | rule.needs for rule in _RULES))
_WORD = re.compile(r"[a-z]+|[0-9]+")
_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}")
_SIGNS = (("-", re.compile(r"[0-9]-[0-9]")), ("/", re.compile(r"[0-9]/[0-9]")), (".", re.compile(r"[0-9]\.[0-9]")),
          (":", re.compile(r"[0-9]:[0-9]")))  # fmt: skip
#: Signs only beside a digit; alone they are words like any other.
_DIGIT_WORDS = frozenset({"am", "pm", "m", "s"})


class English:
    """Finds English phrases of time. Rules: see the modules `english_*`, one for each kind."""

    def find(self, text: str, clock: Clock) -> list[Found]:
        """Give the phrases in order, none overlapping another, at most `MAX_FOUND`."""
        signs = _signs(text)
        if not signs:
            return []
        candidates: list[Found] = []
        for rule in _RULES:
            if not (signs.isdisjoint(rule.triggers) or signs.isdisjoint(rule.needs)):
                candidates.extend(_matches(rule, text, clock))
        return link(text, _longest(candidates), clock)[:MAX_FOUND]


def _signs(text: str) -> set[str]:
    """Give the words and shapes in the text that some rule needs."""
    words = set(_WORD.findall(text.lower()))
    signs = words & _TRIGGERS
    if any(word[0].isdigit() for word in words):
        signs.update(sign for sign, shape in _SIGNS if sign in text and shape.search(text))
        if _YEAR.search(text):
            signs.add("YEAR")
    else:
        signs -= _DIGIT_WORDS
    return signs


def _matches(rule: Rule, text: str, clock: Clock) -> list[Found]:
    found = []
    for match in islice(rule.pattern.finditer(text), MAX_MATCHES):
        try:
            local = rule.resolve(Hit(match, clock, text))
        except (ValueError, OverflowError, IndexError):
            continue  # not in the calendar: 31 February, a year beyond 9999
        sort = Sort.UNDATED if local is Sort.UNDATED else rule.sort
        if local is Sort.UNDATED:
            local = cal.minute(clock.now)  # never read: the phrase only keeps its place
        if local is not None and local.start < local.end:
            core = "core" if match.re.groupindex.get("core") else 0
            groups = match.groupdict()
            yearless = bool(groups.get("month") and groups.get("day") and not groups.get("year"))
            found.append(Found(match.start(core), match.end(core), local, yearless=yearless, sort=sort))
    return found


def _longest(candidates: list[Found]) -> list[Found]:
    """Keep the longer of two phrases that overlap."""
    kept: list[Found] = []
    for found in sorted(candidates, key=lambda each: (each.start, -each.end)):
        if kept and found.start < kept[-1].end:
            if found.end - found.start > kept[-1].end - kept[-1].start:
                kept[-1] = found
            continue
        kept.append(found)
    return kept
