"""Which entity a spelling means: exact first, then what is sure; never a guess among several.

Order (magma.md, section 2): the normal form itself, a nickname, the beginning of a name ("Mel"), a first or last name,
initials; each only when exactly one person of the tenant fits.
"""

from collections.abc import Iterable
from dataclasses import dataclass

#: Shortest beginning of a name that counts.
MIN_PREFIX = 3

_NICKNAMES: dict[str, tuple[str, ...]] = {
    "alex": ("alexander", "alexandra", "alexis"),
    "andy": ("andrew", "andrea"),
    "beth": ("elizabeth",),
    "bill": ("william",),
    "bob": ("robert",),
    "bobby": ("robert",),
    "dick": ("richard",),
    "ed": ("edward", "edwin", "edgar"),
    "jack": ("john",),
    "jake": ("jacob",),
    "jen": ("jennifer",),
    "jenny": ("jennifer",),
    "jim": ("james",),
    "jimmy": ("james",),
    "kate": ("katherine", "catherine", "kathryn"),
    "kathy": ("katherine", "catherine"),
    "liz": ("elizabeth",),
    "lizzie": ("elizabeth",),
    "maggie": ("margaret",),
    "meg": ("margaret", "megan"),
    "mike": ("michael",),
    "nick": ("nicholas", "nicolas"),
    "peggy": ("margaret",),
    "rick": ("richard",),
    "rob": ("robert",),
    "sandy": ("alexandra", "sandra"),
    "steve": ("steven", "stephen"),
    "sue": ("susan", "suzanne"),
    "ted": ("edward", "theodore"),
    "tom": ("thomas",),
    "tony": ("anthony",),
    "tori": ("victoria",),
    "vicky": ("victoria",),
    "will": ("william",),
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """The key that a spelling stands for, and the rule that said so; `exact` when it stands for itself."""

    key: str
    rule: str
    confidence: float


class Aliases:
    """Resolves normal forms against the people that a tenant's memory knows."""

    def __init__(self, people: Iterable[str]) -> None:
        self._people = frozenset(people)
        self._by_word: dict[str, set[str]] = {}
        self._by_initials: dict[str, set[str]] = {}
        for person in self._people:
            words = person.split(" ")
            for word in words:
                self._by_word.setdefault(word, set()).add(person)
            if len(words) > 1:
                self._by_initials.setdefault("".join(word[0] for word in words), set()).add(person)

    def resolve(self, key: str) -> Resolved:
        """Give what a person's spelling stands for; itself when nothing else is sure."""
        if key in self._people or not key:
            return Resolved(key, "exact", 1.0)
        words = key.split(" ")
        if len(words) == 1:
            return self._single(key)
        first, last = words[0], words[-1]
        if len(first) == 1:
            fitting = {person for person in self._by_word.get(last, set()) if person.startswith(first)}
            if (one := _only({person for person in fitting if " " in person})) is not None:
                return Resolved(one, "alias-initial", 0.8)
        return Resolved(key, "exact", 1.0)

    def _single(self, key: str) -> Resolved:
        if (one := _only(self._by_word.get(key, set()))) is not None:
            return Resolved(one, "alias-part", 0.8)
        full = {person for name in _NICKNAMES.get(key, ()) for person in self._by_word.get(name, set())}
        if (one := _only(full)) is not None:
            return Resolved(one, "alias-nickname", 0.8)
        if len(key) >= MIN_PREFIX:
            fitting = {person for person in self._people if person.startswith(key) and person.split(" ")[0] != key}
            if (one := _only(fitting)) is not None:
                return Resolved(one, "alias-prefix", 0.75)
        elif len(key) >= 2 and (one := _only(self._by_initials.get(key, set()))) is not None:
            return Resolved(one, "alias-initials", 0.7)
        return Resolved(key, "exact", 1.0)


def _only(found: set[str]) -> str | None:
    return next(iter(found)) if len(found) == 1 else None
