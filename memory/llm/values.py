"""The values in a text that are unlikely to come twice by chance: ids, numbers, versions, paths, quoted strings."""

import re
from functools import lru_cache

from memory.events import EventNode

#: How much of a text is read, in characters, and how many values of it are kept.
_READ_CHARS = 20_000
_MAX_VALUES = 200

_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w|\.\d)|(?<![\w.-])\d+(?:\.\d+)?(?!\w|\.\d)")
_VERSION = re.compile(r"(?<![\w.])v?(\d{1,6}\.\d{1,6}\.\d{1,6}(?:\.\d{1,6})?)(?![\w.]*\w)")
_CODE = re.compile(r"\b(?=[\w/.:-]{0,60}\d)(?=[\w/.:-]{0,60}[A-Za-z_])[A-Za-z0-9][\w/.:-]{2,60}\b")
_FILE = re.compile(
    r"\b[\w-]{2,60}\.(?:csv|json|xlsx?|pdf|txt|py|sql|ya?ml|png|jpe?g|md|log|docx?|html?)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"[\"\u201c\u2018]([^\"\u201c\u201d\u2019\n]{4,60})[\"\u201d\u2019]")
_YEAR = re.compile(r"(?:19|20)\d\d")


def values(event: EventNode) -> frozenset[str]:
    """Give the values of an event's text; numbers without their separators, years and small numbers left out."""
    return values_of(event.text)


@lru_cache(maxsize=8_192)
def values_of(text: str) -> frozenset[str]:
    """Give the values of a text; see `values`."""
    read = text[:_READ_CHARS]
    kept: dict[str, None] = {}
    for match in _NUMBER.finditer(read):
        number = match.group().replace(",", "")
        digits = number.replace(".", "")
        long = len(digits) >= (3 if "." in number else 4)
        if long and digits.strip("0") and not _YEAR.fullmatch(number):
            kept[number] = None
    for match in _VERSION.finditer(read):
        kept[match[1]] = None
    for pattern in (_CODE, _FILE):
        for match in pattern.finditer(read):
            kept[match.group().casefold().strip(".:/-")] = None
            if len(kept) > _MAX_VALUES:
                return frozenset(kept)
    for match in _QUOTED.finditer(read):
        kept[" ".join(match[1].casefold().split())] = None
        if len(kept) > _MAX_VALUES:
            break
    return frozenset(kept)
