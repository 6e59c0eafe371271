"""What a rule of the English grammar is, and what it may ask about the text around a phrase."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from memory.dates.clock import Clock, Local
from memory.dates.grammar import Sort

#: How far back, in characters, the words before a phrase may say that the future is meant.
_TENSE_REACH = 70
_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plan(?:s|ning|ned)?|upcoming|see you|let's|scheduled|due|"
    r"starts?|looking forward|can't wait|appointment|remind|until|till|by|deadline)\b|'ll\b|\u2019ll\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\n]")


@dataclass(frozen=True, slots=True)
class Hit:
    """One match of a rule, with what it needs to be resolved."""

    match: re.Match[str]
    clock: Clock
    text: str

    def __getitem__(self, group: str) -> str:
        """Give a group's text, "" when it did not take part."""
        return self.match[group] or ""

    @property
    def before(self) -> str:
        """The words of the same sentence in front of the phrase, as far as they are looked at."""
        before = self.text[max(0, self.match.start() - _TENSE_REACH) : self.match.start()]
        ends = [end.end() for end in _SENTENCE_END.finditer(before)]
        return before[ends[-1] if ends else 0 :]

    @property
    def future(self) -> bool:
        """Say whether the words before the phrase speak of what is to come; without a sign, the past is meant."""
        return _FUTURE.search(self.before) is not None


Meaning = Local | Literal[Sort.UNDATED] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and the meaning of a match.

    None is no phrase of time: shorter phrases in its place may still be one. `Sort.UNDATED` is a phrase of time without
    a date: what stands in its place is none either. The rule is only tried on a text that has one of `triggers` and one
    of `needs`; `sort` is what its intervals are.
    """

    triggers: frozenset[str]
    needs: frozenset[str]
    pattern: re.Pattern[str]
    resolve: Callable[[Hit], Meaning]
    sort: Sort


def rule(
    triggers: frozenset[str],
    pattern: str,
    resolve: Callable[[Hit], Meaning],
    *,
    needs: frozenset[str] | None = None,
    sort: Sort = Sort.DATE,
) -> Rule:
    """Compile a rule: whole words only, any case."""
    compiled = re.compile(rf"(?<![\w/-])(?:{pattern})(?!\w)", re.IGNORECASE)
    return Rule(triggers, needs or triggers, compiled, resolve, sort)
