"""Spellings by what another must look like to fit them: looking one up costs what fits it, not what is known.

A pair of spellings that fit has a key in common: one that the shorter has as the short one, and the fuller as the full
one. A word that ten thousand names begin with is looked at by the word alone, not by each of the ten thousand.
"""

from collections.abc import Iterable, Iterator

from memory.identity.fits import LEGAL, MAX_INITIALS, MIN_PREFIX, MIN_REST, MIN_SIMILAR, fit, letters
from memory.identity.nicknames import FULL_OF

Key = tuple[str, ...]


class Spellings:
    """A set of normal forms that gives the shorter and the fuller ones of a form, which need not be among them."""

    def __init__(self, forms: Iterable[str] = ()) -> None:
        self._forms: set[str] = set()
        self._short: dict[Key, list[str]] = {}
        self._full: dict[Key, list[str]] = {}
        for form in forms:
            self.add(form)

    def add(self, form: str) -> None:
        """Add a form; a second time changes nothing."""
        if form in self._forms:
            return
        self._forms.add(form)
        for key in as_short(form):
            self._short.setdefault(key, []).append(form)
        for key in as_full(form):
            self._full.setdefault(key, []).append(form)

    def fuller(self, form: str) -> list[str]:
        """Give the forms that this one may stand for, sorted."""
        near = {other for key in as_short(form) for other in self._full.get(key, ())}
        return sorted(other for other in near if fit(form, other))

    def shorter(self, form: str) -> list[str]:
        """Give the forms that may stand for this one, sorted."""
        near = {other for key in as_full(form) for other in self._short.get(key, ())}
        return sorted(other for other in near if fit(other, form))


def as_short(form: str) -> Iterator[Key]:
    """Give the keys of a form as the shorter one of a pair: one for each way in which it may fit another."""
    yield "letters", letters(form)
    yield "legal", form
    words = form.split(" ")
    if len(words) == 1:
        if "." in form:
            yield "letters", form.partition(".")[0]
        yield "part", form
        for full in FULL_OF.get(form, ()):
            yield "nickname", full
        if len(form) >= MIN_PREFIX:
            yield "beginning", form
        if 2 <= len(form) <= MAX_INITIALS:
            yield "initials", form
    elif len(words) == 2:
        first, last = words
        yield "middle", first, last
        if len(first) == 1:
            yield "initial", first, last
        for full in FULL_OF.get(first, ()):
            yield "nickname", full, last
    yield from _similar(words)


def as_full(form: str) -> Iterator[Key]:
    """Give the keys of a form as the fuller one of a pair."""
    yield "letters", letters(form)
    words = form.split(" ")
    first, last = words[0], words[-1]
    if last in LEGAL:
        yield "legal", " ".join(words[:-1])
    yield "nickname", first
    for end in range(MIN_PREFIX, len(first) - MIN_REST + 1):
        yield "beginning", first[:end]
    if len(words) > 1:
        yield "part", first
        if last != first:
            yield "part", last
        if len(words) <= MAX_INITIALS:
            yield "initials", "".join(word[:1] for word in words)
    if len(words) == 2:
        yield "initial", first[:1], last
        yield "nickname", first, last
    elif len(words) > 2:
        yield "middle", first, last
    yield from _similar(words)


def _similar(words: list[str]) -> Iterator[Key]:
    """Give a key for each word in which another form may differ by a letter, of all the others and its first letter."""
    if len(words) == 1:
        return
    for place, word in enumerate(words):
        if len(word) >= MIN_SIMILAR and word.isalpha():
            yield "similar", str(place), word[0], *words[:place], *words[place + 1 :]
