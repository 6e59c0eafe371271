"""The text as recognisers read it: without what is invisible, in plain digits and signs; and the way back.

`4111\u200b1111…` or full-width digits are read by people and models as the plain number is, so they are searched as it.
"""

import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

#: Letters that show nothing (Hangul fillers, Braille blank) although Unicode does not call them format characters.
_INVISIBLE = "\u115f\u1160\u3164\uffa0\u2800"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"


@dataclass(frozen=True, slots=True)
class Folded:
    """`text`: what is searched. `places`: for each of its characters the index in the original; None: the same."""

    text: str
    places: tuple[int, ...] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Give the span of the original text that a non-empty span of the folded one stands for."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Fold a text; plain ASCII is given back as it is."""
    if text.isascii():
        return Folded(text)
    table = _table()
    plain = unicodedata.normalize("NFKC", text.translate(table))
    if plain == text:
        return Folded(text)
    folded: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        piece = char if char.isascii() else _plain(char)
        folded.append(piece)
        places.extend([place] * len(piece))
    return Folded("".join(folded), tuple(places))


@lru_cache(maxsize=4_096)
def _plain(char: str) -> str:
    return unicodedata.normalize("NFKC", char.translate(_table())).translate(_table())


@lru_cache(maxsize=1)
def _table() -> dict[int, str | None]:
    """Give what is dropped (formats, marks, fillers) and what is written plainly (digits of all scripts, dashes)."""
    table: dict[int, str | None] = {ord(char): None for char in _INVISIBLE}
    for code in range(128, sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in ("Cf", "Mn", "Me"):
            table[code] = None
        elif category == "Nd":
            table[code] = str(unicodedata.decimal(chr(code)))
    table.update({ord(char): "-" for char in _DASHES})
    return table
