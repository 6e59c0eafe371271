"""What an entity says of itself, from its edges: counts, times, spellings, type, name. Pure, the same in any order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memory.graph.chain import time_key

#: Spellings kept on an entity: the shortest ones.
MAX_ALIASES = 32


@dataclass(frozen=True, slots=True)
class Edge:
    """One mention as it is stored."""

    form: str
    surface: str
    type: str
    weight: float
    occurred_us: int
    event: str


@dataclass(frozen=True, slots=True)
class Totals:
    """The properties of an entity's node that follow from its edges. `named`: the mention that named it."""

    name: str = ""
    named: str = ""
    type: str = ""
    weight: float = 0.0
    aliases: tuple[str, ...] = ()
    events: int = 0
    first_us: int | None = None
    last_us: int | None = None

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> "Totals":
        """Read what stands behind the uid in a row of `ENTITIES_LOCK`."""
        name, named, kind, weight, aliases, events, first_us, last_us = row
        return cls(name, named or "", kind or "", weight or 0.0, tuple(aliases or ()), events or 0, first_us, last_us)

    def with_edges(self, key: str, edges: Iterable[Edge]) -> "Totals":
        """Give the totals with more edges."""
        name, named, kind, weight, events = self.name, self.named, self.type, self.weight, self.events
        aliases, first_us, last_us = set(self.aliases), self.first_us, self.last_us
        for edge in edges:
            # the entity is called as its own key is spelled first, in event time; by another spelling only without it
            place = f"{int(edge.form != key)}|{time_key(edge.occurred_us)}|{edge.event}|{edge.surface}"
            if not named or place < named:
                name, named = edge.surface, place
            if (edge.weight, edge.type) > (weight, kind) or not kind:
                kind, weight = edge.type, edge.weight
            aliases.add(edge.surface)
            events += 1
            first_us = edge.occurred_us if first_us is None else min(first_us, edge.occurred_us)
            last_us = edge.occurred_us if last_us is None else max(last_us, edge.occurred_us)
        kept = sorted(aliases, key=lambda surface: (len(surface), surface))[:MAX_ALIASES]
        return Totals(name, named, kind, weight, tuple(kept), events, first_us, last_us)

    def row(self, entity_uid: str) -> dict[str, Any]:
        """Give the properties to set."""
        entity = {
            "name": self.name,
            "named": self.named,
            "type": self.type,
            "weight": self.weight,
            "aliases": list(self.aliases),
            "events": self.events,
            "first_us": self.first_us,
            "last_us": self.last_us,
        }
        return {"uid": entity_uid, "entity": entity}
