"""The events nearest to a question, asked for once and used for everything that wants "the best events of ...".

The nearest events of an entity are, in the same order, those of its events that stand among the nearest of all. So one
search answers for every frequent entity; only one that hardly occurs near the question needs a search of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.vectors import Hit
from query_api.remembered import Known

#: Events asked for: enough to hold the best of frequent entities and most cosines that a walk needs.
POOL_SIZE = 60
#: An entity with fewer events in the pool is asked for by a search of its own.
ENOUGH = 1


@dataclass(frozen=True, slots=True)
class Pool:
    """Nearest events, best first. `whole`: there are no others within the question's scope."""

    hits: tuple[Hit, ...] = ()
    whole: bool = True
    _by_entity: dict[str, list[Hit]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, hits: Sequence[Hit], events: Mapping[str, Known]) -> "Pool":
        """Make the pool of a search for `POOL_SIZE` events; `events`: what is stored of them, for their entities."""
        by_entity: dict[str, list[Hit]] = {}
        for hit in hits:
            for key in events[hit.id].entities if hit.id in events else ():
                by_entity.setdefault(key, []).append(hit)
        return cls(tuple(hits), len(hits) < POOL_SIZE, by_entity)

    def best_of(self, entity: str, limit: int) -> list[Hit] | None:
        """Give the best events of an entity, at most `limit`; None when the pool knows too few to say."""
        found = self._by_entity.get(entity, [])
        if len(found) < min(limit, ENOUGH) and not self.whole:
            return None
        return found[:limit]
