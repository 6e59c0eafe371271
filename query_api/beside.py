"""What stands beside the best hits in time: the runs of their sessions around them, and the way from a hit to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memory.events import EventNode
from memory.graph import Window
from memory.relations import EdgeType, Origin
from query_api.ranking.pool import REACH
from query_api.traversal import Hop

#: Hits whose neighbours in time are fetched, and how they are chosen: shares of words and of meaning.
STRONG = 15
_WORDS = 0.75
_MEANING = 0.25
_SPREADS = 3.0


@dataclass(frozen=True, slots=True)
class Beside:
    """`runs`: consecutive events, ids in order; `ways`: for each neighbour the hops from the nearest hit to it;

    `nodes`: the neighbours.
    """

    runs: tuple[tuple[str, ...], ...] = ()
    ways: Mapping[str, tuple[Hop, ...]] = field(default_factory=dict)
    nodes: Mapping[str, EventNode] = field(default_factory=dict)


def strong_hits(words: Mapping[str, float], cosines: Mapping[str, float]) -> list[str]:
    """Give the hits worth looking around, best first; equal ones by id."""
    best_words = max(words.values(), default=0.0)
    values = list(cosines.values())
    mean, spread = (float(np.mean(values)), float(np.std(values)) or 1.0) if values else (0.0, 1.0)

    def strength(id_: str) -> float:
        matched = words.get(id_, 0.0) / best_words if best_words > 0 else 0.0
        near = max(0.0, (cosines[id_] - mean) / spread) / _SPREADS if id_ in cosines else 0.0
        return _WORDS * matched + _MEANING * near

    return sorted({*words, *cosines}, key=lambda id_: (-strength(id_), id_))[:STRONG]


def around(windows: Mapping[str, Window]) -> list[str]:
    """Give the ids that windows lead to, the hits not included, sorted."""
    return sorted({id_ for window in windows.values() for id_ in (*window.before, *window.after)} - windows.keys())


def beside(hits: Sequence[str], windows: Mapping[str, Window], nodes: Mapping[str, EventNode]) -> Beside:
    """Lay out the windows of hits, best first, inside their sessions; a chain goes on from session to session."""
    runs = []
    ways: dict[str, tuple[Hop, ...]] = {}
    for hit in hits:
        if hit not in windows or hit not in nodes:
            continue
        window, session = windows[hit], nodes[hit].session
        before = _inside(window.before, session, nodes)
        after = _inside(window.after, session, nodes)
        runs.append((*reversed(before), hit, *after))
        for side, forward in ((before, False), (after, True)):
            way: tuple[Hop, ...] = ()
            for source, target in zip((hit, *side), side, strict=False):
                way = (*way, Hop(source, target, EdgeType.NEXT, forward, origin=Origin.RULE))
                if target not in ways or len(way) < len(ways[target]):
                    ways[target] = way
    return Beside(tuple(runs), ways, {id_: nodes[id_] for id_ in ways})


def _inside(ids: Sequence[str], session: str, nodes: Mapping[str, EventNode]) -> list[str]:
    found = []
    for id_ in ids[:REACH]:
        if id_ not in nodes or nodes[id_].session != session:
            break
        found.append(id_)
    return found
