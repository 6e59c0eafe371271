"""Whether one spelling may be a shorter or other one of another: looks at the words only, so it is pure."""

from dataclasses import dataclass
from functools import lru_cache

from memory.identity.nicknames import COMPLETE, FULL_OF

#: Shortest beginning of a first name that counts, and how much longer the name must be: "Dan" is not "Dana".
MIN_PREFIX = 3
MIN_REST = 2
#: Shortest word in which one letter may differ: "Lindqvist", "Lindquist".
MIN_SIMILAR = 7
MAX_INITIALS = 5
#: Shortest first part of an address that is taken for a name: "petpantry.example", "junseo.park".
MIN_LABEL = 4
LEGAL = frozenset(
    {"ltd", "limited", "inc", "llc", "gmbh", "ag", "bv", "nv", "corp", "co", "plc", "sa", "srl", "oy", "ab"}
)
_DIRECTIONS = frozenset(
    {"new", "north", "south", "east", "west", "san", "los", "saint", "old", "upper", "lower", "great"}
)


@dataclass(frozen=True, slots=True)
class Fit:
    """How a spelling fits a fuller one. `tier`: lower tiers are looked at first; `person`: only a person's name can."""

    rule: str
    confidence: float
    tier: int
    person: bool = True
    first: bool = False  # a whole first name or a nickname of it: what somebody is called by


@lru_cache(maxsize=65_536)
def fit(short: str, full: str) -> Fit | None:
    """Say how `short` may stand for `full` (both normal forms); None when it cannot. Never both ways round."""
    if short == full or not short or not full:
        return None
    if letters(short) == letters(full):
        return Fit("alias-spacing", 0.95, 0, person=False) if _before(full, short) else None
    if "." in short and " " not in short and len(label := short.partition(".")[0]) >= MIN_LABEL and "." not in full:
        if label == letters(full):
            return Fit("alias-address", 0.8, 0, person=False)
        return None
    a, b = short.split(" "), full.split(" ")
    if b[-1] in LEGAL and b[:-1] == a:
        return Fit("alias-legal-form", 0.85, 1, person=False)
    if len(a) == 1 and len(b) > 1:
        return _part(a[0], b)
    if len(a) == 1 == len(b):
        return _nickname(a[0], b[0]) or _beginning(a[0], b[0])
    if len(a) > 1 and len(b) > 1:
        return _both_full(a, b)
    return None


def letters(form: str) -> str:
    """Give what is left of a form when it is not spaced, nor dotted as in an address; the dots of numbers stay."""
    return (
        form.replace(" ", "") if form[:1].isdigit() or form[1:2].isdigit() else form.replace(" ", "").replace(".", "")
    )


def _part(word: str, full: list[str]) -> Fit | None:
    """One word beside a name of several: its first or last, a nickname, a beginning, its initials."""
    if word == full[0]:
        return Fit("alias-part", 0.8, 1, first=True)
    if word == full[-1]:
        return Fit("alias-part", 0.8, 1, person=full[0] in _DIRECTIONS)
    if (found := _nickname(word, full[0]) or _beginning(word, full[0])) is not None:
        return found
    if 2 <= len(word) <= MAX_INITIALS and word == "".join(part[0] for part in full):
        return Fit("alias-initials", 0.7, 4)
    return None


def _nickname(word: str, first: str) -> Fit | None:
    return Fit("alias-nickname", 0.8, 2, first=True) if first in FULL_OF.get(word, ()) else None


def _beginning(word: str, first: str) -> Fit | None:
    enough = len(word) >= MIN_PREFIX and len(first) - len(word) >= MIN_REST
    if enough and first.startswith(word) and word not in COMPLETE and word not in FULL_OF.get(first, ()):
        return Fit("alias-prefix", 0.75, 3)
    return None


def _both_full(a: list[str], b: list[str]) -> Fit | None:
    if a[-1] == b[-1] and len(a) == 2 == len(b):
        if len(a[0]) == 1 and b[0].startswith(a[0]) and len(b[0]) > 1:
            return Fit("alias-initial", 0.8, 1)
        if _nickname(a[0], b[0]) is not None:
            return Fit("alias-nickname", 0.85, 1)
    if len(a) == 2 and len(b) > 2 and (a[0], a[-1]) == (b[0], b[-1]):
        return Fit("alias-middle", 0.85, 1)
    if len(a) == len(b):
        different = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        if len(different) == 1 and _one_letter(*different[0]) and _before(" ".join(b), " ".join(a)):
            return Fit("alias-similar", 0.7, 5)
    return None


def _one_letter(one: str, other: str) -> bool:
    """Say whether two long words differ in one letter: another, one more, one less; digits never."""
    if min(len(one), len(other)) < MIN_SIMILAR or not (one + other).isalpha() or one[0] != other[0]:
        return False
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    return short[at + (len(short) == len(long)) :] == long[at + 1 :]


def _before(full: str, short: str) -> bool:
    """Of two equal spellings the one with more words, then the smaller, is the full one."""
    return (-full.count(" "), full) < (-short.count(" "), short)
