"""English weekdays that stand alone: "on Friday", "by Wednesday", "from Thursday to Sunday night".

Rules for what speakers leave open (tested): the words of the same clause say whether the past or the future is meant.
Without such a sign, "for", "by" and "until" a weekday mean the coming one, the reference's own day included; any other
weekday is the nearest one before the reference's day, and on that very weekday it is no date, as today is as likely as
a week ago. "I will see her on Friday" said on a Friday is today, and no date in the evening. A range of weekdays lies
in the reference's own week (one that runs over a Sunday starts in it) unless the clause says otherwise: one that is
past has ended. "Monday to Friday" by itself is a habit, not a date.
"""

import re
from datetime import date, timedelta

from memory.dates import clock as cal
from memory.dates.clock import Local
from memory.dates.english_relative import OF_DAY, part_of
from memory.dates.english_rules import Hit, Meaning, Rule, rule
from memory.dates.english_words import ALL_WEEKDAYS, FULL_WEEKDAY, SP, WEEKDAY_WORDS, weekday_number
from memory.dates.grammar import Sort
from memory.dates.spans import Precision

#: How far behind a phrase, in characters, its clause is looked at.
_REACH = 70
#: From this hour on, "I will see her on Friday" said on a Friday is as likely the next one.
_EVENING = 17
_COMING = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plan(?:s|ning|ned)?|planned|upcoming|see you|let's|scheduled"
    r"|due(?! to)|(?:due|agreed|promised|decided) to (?:be|go|meet|ship|start|run|open|close|launch|come|end)|starts?"
    r"|looking forward|can't wait|appointment|remind(?:er)?|deadline|must|needs? to|ha(?:ve|s) to"
    r"|should(?! have)|please|booked|reserved|expected|happens|takes place|go(?:es)? live"
    r"|(?:am|are|is|m|re|s) (?:going|coming|meeting|leaving|flying))\b"
    r"|['\u2019]ll\b",
    re.IGNORECASE,
)
#: Past tense: the common irregular verbs, and words in -ed that are neither names of plans nor no verbs at all.
_GONE = re.compile(
    r"\b(?:was|were|had|did|didn't|went|saw|met|got|came|took|made|felt|found|broke|fell|rose|ran|began|kept|left|lost|ate"
    r"|spoke|wrote|gave|bought|brought|built|held|sent|spent|slept|won|ago|yesterday|last|already|earlier"
    r"|(?!(?:need|embed|exceed|speed|feed|indeed|hundred|sacred|proceed|succeed|plann|schedul|book|reserv|expect|"
    r"suppos|announc|confirm|agre|promis|ask|decid|relat|unrelat|clos|limit|fix)(?:ed)?\b)[a-z]{2,}ed)\b",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(r"[;:](?=\s)|\bbut\b")
_CLAUSE_END = re.compile(r"[.!?;:,\n]")
_LEAD = re.compile(rf"\b(?:(?P<wait>for|by|until|till)|is|are){SP}(?:the{SP})?$", re.IGNORECASE)
_SINCE = re.compile(rf"\bsince{SP}$", re.IGNORECASE)
_FINISHED = re.compile(r"\b(?:fixed|closed|decided|agreed|finished)\b", re.IGNORECASE)


def _tense(hit: Hit) -> int:
    """Give -1 when the clause speaks of the past, 1 of what is to come, 0 when it does not say."""
    before = hit.before
    breaks = [each.end() for each in _CLAUSE_START.finditer(before)]
    before = before[breaks[-1] if breaks else 0 :]
    if _COMING.search(before):
        return 1
    if _GONE.search(before):
        return -1
    after = hit.text[hit.match.end() : hit.match.end() + _REACH]
    stop = _CLAUSE_END.search(after)
    after = after[: stop.start()] if stop else after
    coming = _COMING.search(after)
    gone = _GONE.search(after) or _FINISHED.search(after)
    if coming and gone:
        return 1 if coming.start() < gone.start() else -1
    return 1 if coming else -1 if gone or _FINISHED.search(before) else 0


def _coming(today: date, weekday: int) -> date:
    return today + timedelta(days=(weekday - today.weekday()) % 7)


def _weekday(hit: Hit) -> Meaning:
    today, weekday, tense = hit.clock.today, weekday_number(hit["weekday"]), _tense(hit)
    lead = _LEAD.search(hit.before)
    if not tense:
        tense = 1 if lead else -1 if _SINCE.search(hit.before) else 0
    if weekday == today.weekday() and tense >= 0:
        waited = lead is not None and bool(lead["wait"])
        if not tense or (not waited and hit.clock.now.hour >= _EVENING):
            return Sort.UNDATED
    day = cal.day(_coming(today, weekday) if tense > 0 else cal.weekday_near(today, weekday, after=False))
    return part_of(day, hit["part"]) if hit["part"] else day


def _weekday_range(hit: Hit) -> Meaning:
    first, last, today = weekday_number(hit["first"]), weekday_number(hit["weekday"]), hit.clock.today
    length, tense = (last - first) % 7, _tense(hit)
    if not length:
        return None
    if not tense and not hit["open"] and (first, last) == (0, 4):
        return Sort.UNDATED
    start = hit.clock.monday + timedelta(days=first)
    if tense > 0 and start + timedelta(days=length) < today:
        start += timedelta(weeks=1)
    elif tense < 0 and start + timedelta(days=length) > today:
        start -= timedelta(weeks=1)
    begin, end = cal.day(start), cal.day(start + timedelta(days=length))
    begin = part_of(begin, hit["firstpart"]) if hit["firstpart"] else begin
    end = part_of(end, hit["part"]) if hit["part"] else end
    return Local(begin.start, end.end, Precision.DAY)


_FIRST_PART = OF_DAY.replace("<part>", "<firstpart>")

RULES: tuple[Rule, ...] = (
    rule(WEEKDAY_WORDS, rf"(?:on{SP})?{FULL_WEEKDAY}(?:{SP}{OF_DAY})?(?!['\u2019]?s\b)", _weekday),
    rule(
        WEEKDAY_WORDS,
        rf"(?P<open>(?:from|(?P<between>between)){SP})?(?:the{SP})?(?P<core>(?P<first>{ALL_WEEKDAYS})(?:{SP}{_FIRST_PART})?"
        rf"(?:{SP}(?:to|until|till|through|(?(between)and|(?!))){SP}|{SP}?[-\u2013\u2014]{SP}?)"
        rf"{FULL_WEEKDAY}(?:{SP}{OF_DAY})?)(?!['\u2019]?s\b)",
        _weekday_range,
    ),
)
