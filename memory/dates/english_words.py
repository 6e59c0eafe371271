"""The English words of time, as tables and as pieces of patterns."""

from memory.dates.clock import Season
from memory.dates.spans import Precision

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}

WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "mon"),
            ("tuesday", "tues", "tue"),
            ("wednesday", "wed"),
            ("thursday", "thurs", "thur", "thu"),
            ("friday", "fri"),
            ("saturday", "sat"),
            ("sunday", "sun"),
        )
    )
    for name in names
}

SEASONS = {
    "spring": Season.SPRING,
    "summer": Season.SUMMER,
    "autumn": Season.AUTUMN,
    "fall": Season.AUTUMN,
    "winter": Season.WINTER,
}

NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
}

#: Vague counts, as the least and the most that is meant.
VAGUE = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}

#: Hours [from, to) of a part of a day; a night is counted to the day that it starts on.
DAY_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24)}

DECADES = {"fifties": 1950, "sixties": 1960, "seventies": 1970, "eighties": 1980, "nineties": 1990}

#: Feasts with a fixed day: only read as a date next to last, this, next, on or a year.
FEASTS = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
}

#: The precision that a vague count of a unit has: one unit coarser.
COARSE = {
    "minute": Precision.HOUR,
    "hour": Precision.DAY,
    "day": Precision.WEEK,
    "week": Precision.MONTH,
    "weekend": Precision.MONTH,
    "month": Precision.SEASON,
    "year": Precision.YEAR,
    "decade": Precision.DECADE,
}

ALL_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SHORT_MONTHS = r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
ALL_WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
SHORT_WEEKDAYS = r"(?:Mon|Tues|Tue|Wed|Thurs|Thur|Thu|Fri|Sat|Sun)\b\.?"

SP = r"(?:[ \t\n\r\u00a0]{1,3})"
MONTH = rf"(?P<month>(?:{ALL_MONTHS})\b|{_SHORT_MONTHS})"
FULL_MONTH = rf"(?P<month>(?:{ALL_MONTHS})\b)"
WEEKDAY = rf"(?P<weekday>(?:{ALL_WEEKDAYS})\b|{SHORT_WEEKDAYS})"
FULL_WEEKDAY = rf"(?P<weekday>(?:{ALL_WEEKDAYS})\b)"
DATED_WEEKDAY = rf"(?:(?:{ALL_WEEKDAYS}|{SHORT_WEEKDAYS}),?{SP})?"
SEASON = r"(?P<season>spring|summer|autumn|fall|winter)\b"
YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?![0-9]|[.,:/-][0-9])"
ORDINAL = r"(?:st|nd|rd|th)"
NUMBER = rf"(?P<number>[0-9]{{1,4}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
COUNT = (
    rf"(?:(?P<vague>(?:a{SP})?couple(?:{SP}of)?|(?:a{SP}|the{SP})?few|several)"
    rf"|(?P<half>half{SP}an?)|{NUMBER})"
)
UNIT = r"(?P<unit>minute|min|hour|day|weekend|week|month|year|decade)s?\b"

MONTH_WORDS = frozenset(MONTHS)
WEEKDAY_WORDS = frozenset(WEEKDAYS)
SEASON_WORDS = frozenset(SEASONS)
UNIT_WORDS = frozenset(
    word + ending for word in ("minute", "min", "hour", "day", "weekend", "week", "month", "year", "decade")
    for ending in ("", "s")
)  # fmt: skip
PART_WORDS = frozenset(DAY_PARTS)


def month_number(word: str) -> int:
    """Give 1 to 12 for a name or abbreviation that `MONTH` matched."""
    return MONTHS[word.lower().rstrip(".")]


def weekday_number(word: str) -> int:
    """Give 0 (Monday) to 6 for a name or abbreviation that `WEEKDAY` matched."""
    return WEEKDAYS[word.lower().rstrip(".")]


def number(word: str) -> int:
    """Give the count that `NUMBER` matched."""
    return int(word) if word[0].isdigit() else NUMBERS[word.lower()]
