"""Where a walk starts: reciprocal rank fusion of ranked lists (arXiv 2601.03236, eq. 4).

score(n) = Σ over lists of weight / (k + rank of n), ranks from 1; a node that a list lacks gets nothing from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class ListName(StrEnum):
    """The lists that are fused."""

    VECTOR = "vector"
    KEYWORD = "keyword"
    TIME = "time"
    ENTITY = "entity"


@dataclass(frozen=True, slots=True)
class Ranked:
    """One place in a list: the store's own score, higher is better."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class RankedList:
    """One list, best first, ids distinct; `weight` 0 leaves it out."""

    name: ListName
    places: tuple[Ranked, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Share:
    """What one list gave one node: its rank (from 1), the list's own score, and the term of the sum."""

    rank: int
    score: float
    term: float


@dataclass(frozen=True, slots=True)
class Anchor:
    """A fused node; `rrf` is the sum of its shares' terms."""

    id: str
    rrf: float
    shares: Mapping[ListName, Share]


def fuse(lists: Sequence[RankedList], k: int) -> list[Anchor]:
    """Fuse the lists, best first; equal scores are ordered by id, so the order of the lists does not matter."""
    shares: dict[str, dict[ListName, Share]] = {}
    for ranked in sorted(lists, key=lambda ranked: ranked.name):
        if ranked.weight <= 0:
            continue
        for rank, place in enumerate(ranked.places, start=1):
            terms = shares.setdefault(place.id, {})
            # a list given twice (two named entities) counts once a node, with its better rank
            share = Share(rank, place.score, ranked.weight / (k + rank))
            if ranked.name not in terms or terms[ranked.name].rank > rank:
                terms[ranked.name] = share
    anchors = [Anchor(id_, sum(share.term for share in terms.values()), terms) for id_, terms in shares.items()]
    return sorted(anchors, key=lambda anchor: (-anchor.rrf, anchor.id))


def best_first(scores: Mapping[str, float], limit: int) -> tuple[Ranked, ...]:
    """Make a list of scored nodes: highest score first, equal ones by id."""
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Ranked(id_, score) for id_, score in ordered[:limit])


def keep(ranked: RankedList, admit: Callable[[str], bool]) -> RankedList:
    """Give the list without the nodes that are not admitted; ranks close up."""
    return RankedList(ranked.name, tuple(place for place in ranked.places if admit(place.id)), ranked.weight)
