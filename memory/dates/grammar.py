"""The seam for languages: a grammar finds phrases of time, the rest of the memory does not know how."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from memory.dates.clock import Clock, Local


class Sort(Enum):
    """What a phrase of time names by itself.

    `DATE`: its own interval. `TIME`: a time of day; its day was not said but taken from the reference. `HOURS`:
    times only when there is a day ("between 9 and 10", "after midnight"). `UNDATED`: no date at all ("every
    Friday"); a grammar does not give it out.
    """

    DATE = "date"
    TIME = "time"
    HOURS = "hours"
    UNDATED = "undated"


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase at [`start`, `end`) of the text and what it means.

    `yearless`: a day and month whose year was not said but taken from the reference. `opens`: the words in front open
    the phrase to the past ("before", "until": -1) or to the future ("after", "since": 1); 0 when they do not.
    `inclusive`: the phrase itself belongs to the opened window ("until", "since"). `sort`: whether it names a day.
    """

    start: int
    end: int
    local: Local
    yearless: bool = False
    opens: int = 0
    inclusive: bool = False
    sort: Sort = Sort.DATE


class Grammar(Protocol):
    """Finds phrases of time in one language: never raises on any text, in time linear in its length."""

    def find(self, text: str, clock: Clock) -> list[Found]:
        """Give the phrases in order of their place, none overlapping another."""
        ...


class Languages:
    """The grammars that are known, by ISO 639-1 code."""

    def __init__(self, grammars: Mapping[str, Grammar]) -> None:
        self._grammars = dict(grammars)

    def register(self, language: str, grammar: Grammar) -> None:
        """Add or replace a language."""
        self._grammars[language] = grammar

    def get(self, language: str) -> Grammar:
        """Give a language's grammar; raises KeyError naming those that exist."""
        try:
            return self._grammars[language]
        except KeyError:
            raise KeyError(f"no grammar of dates for {language!r}; there are {sorted(self._grammars)}") from None
