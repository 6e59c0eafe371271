"""Pairs of entities that somebody should look at: cheap and bounded, pure, and only ever a question.

The rules of `memory.identity.fits` join what they are sure of. What is left and looks alike is a candidate: a spelling
that fits another (a nickname, initials, a part) and was ambiguous, words in common, letters nearly equal, or vectors of
the names that are near.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from memory.identity.blocks import blocks_of
from memory.identity.fits import fit
from memory.relations import EntityType

#: Entities of one block that are compared with each other: a word in more names than this says nothing.
MAX_BLOCK = 40
#: Least likeness of letters, and least cosine of names' vectors.
MIN_LETTERS = 0.8
MIN_COSINE = 0.6
#: Nearest names by vector that are looked at of each.
NEAREST = 3
_VAGUE = frozenset({"", EntityType.OTHER.value})
#: Types of which each spelling is another thing: `R-11` is not `R-12`, however alike.
_EXACT = frozenset({EntityType.IDENTIFIER.value, EntityType.VERSION.value, EntityType.PATH.value})


@dataclass(frozen=True, slots=True)
class Named:
    """An entity as candidates are chosen by: its key, its type, its spellings' normal forms, how often it is named."""

    key: str
    type: str
    forms: tuple[str, ...]
    events: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two keys that may be one: the rarer `name` would be `into`. `likeness` in [0, 1] orders candidates only."""

    name: str
    into: str
    likeness: float


def candidates(named: Sequence[Named], vectors: NDArray[np.float32] | None = None) -> list[Candidate]:
    """Give candidates, the most alike first; depends on the set of entities alone. `vectors`: of the keys, unit."""
    found: dict[tuple[int, int], float] = {}
    for one, other in _looked_at(named, vectors):
        low, high = min(one, other), max(one, other)
        if (low, high) not in found and may_be_one(named[low].type, named[high].type):
            cosine = float(vectors[low] @ vectors[high]) if vectors is not None else 0.0
            found[low, high] = likeness(named[low], named[high], cosine)
    chosen = [_candidate(named[low], named[high], like) for (low, high), like in found.items() if like > 0]
    return sorted(chosen, key=lambda one: (-one.likeness, one.name, one.into))


def may_be_one(one: str, other: str) -> bool:
    """Say whether entities of these types may be one thing."""
    if _EXACT & {one, other}:
        return False
    people = {EntityType.PERSON.value, EntityType.AGENT.value}
    return one == other or bool(_VAGUE & {one, other}) or people == {one, other}


def likeness(one: Named, other: Named, cosine: float) -> float:
    """Give how alike two entities are, 0 for not at all: by spelling, by words, by letters, by vector."""
    best = cosine if cosine >= MIN_COSINE else 0.0
    for a in one.forms:
        for b in other.forms:
            if (found := fit(a, b) or fit(b, a)) is not None:
                best = max(best, found.confidence)
            letters = SequenceMatcher(None, a, b, autojunk=False)
            if letters.quick_ratio() >= MIN_LETTERS and (ratio := letters.ratio()) >= MIN_LETTERS:
                best = max(best, ratio)
            words, others = set(a.split()), set(b.split())
            if shared := sum(len(word) > 2 for word in words & others):
                best = max(best, 0.5 * shared / min(len(words), len(others)))
    return best


def _looked_at(named: Sequence[Named], vectors: NDArray[np.float32] | None) -> Iterator[tuple[int, int]]:
    blocks: defaultdict[str, set[int]] = defaultdict(set)
    for at, entity in enumerate(named):
        for form in entity.forms:
            for block in blocks_of(form):
                blocks[block].add(at)
            for word in form.split():
                blocks[f"b {word[:3]}"].add(at)
    for block in sorted(blocks):
        if len(blocks[block]) <= MAX_BLOCK:
            yield from combinations(sorted(blocks[block]), 2)
    if vectors is not None and len(named) > 1:
        for at, row in enumerate(vectors):
            near = vectors @ row
            near[at] = -1.0
            for other in np.argsort(-near, kind="stable")[:NEAREST]:
                if near[other] >= MIN_COSINE:
                    yield at, int(other)


def _candidate(one: Named, other: Named, like: float) -> Candidate:
    into, name = sorted((one, other), key=lambda each: (-each.events, -len(each.key), each.key))
    return Candidate(name.key, into.key, round(min(1.0, like), 4))
