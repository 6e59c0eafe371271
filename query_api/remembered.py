"""What was read of the stores and cannot change, remembered: events and their vectors, by tenant and id.

A stored event is never rewritten (the first write wins) and neither is its vector, so this changes how fast an answer
comes and never the answer. What is erased must be forgotten here too: `forget`.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from memory.events import EventNode
from memory.graph import GraphReader
from memory.names import normal_form
from memory.vectors import VectorReader
from query_api.ranking.model import Vector

#: Bounds: entries, and characters of text or numbers of vectors.
MAX_EVENTS = 50_000
MAX_CHARACTERS = 50_000_000
MAX_NUMBERS = 20_000_000

T = TypeVar("T")
Key = tuple[str, str]


@dataclass(frozen=True)
class Known:
    """An event as it is remembered."""

    node: EventNode

    @cached_property
    def entities(self) -> tuple[str, ...]:
        """Normal forms of its provisional names and of its speaker."""
        return tuple(dict.fromkeys((*self.node.mentions, normal_form(self.node.speaker))))


class Bounded(Generic[T]):
    """The most recently used values, by key, within a number of entries and a total weight."""

    def __init__(self, most: int, most_weight: int, weight: Callable[[T], int]) -> None:
        self._most = most
        self._most_weight = most_weight
        self._weight = weight
        self._held: OrderedDict[Key, T] = OrderedDict()
        self._total = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Key) -> T | None:
        """Give a value and count it as used."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def put(self, key: Key, value: T) -> None:
        """Hold a value; the least recently used ones give way."""
        self.drop(key)
        self._held[key] = value
        self._total += self._weight(value)
        while len(self._held) > self._most or (self._total > self._most_weight and len(self._held) > 1):
            _, gone = self._held.popitem(last=False)
            self._total -= self._weight(gone)

    def drop(self, key: Key) -> None:
        """Let go of a value, if it is held."""
        if key in self._held:
            self._total -= self._weight(self._held.pop(key))

    def drop_tenant(self, tenant: str) -> None:
        """Let go of everything of a tenant."""
        for key in [key for key in self._held if key[0] == tenant]:
            self.drop(key)


class Remembered:
    """Events and vectors by tenant and id. For one event loop."""

    def __init__(self) -> None:
        self._events: Bounded[Known] = Bounded(MAX_EVENTS, MAX_CHARACTERS, lambda known: len(known.node.text) + 500)
        self._vectors: Bounded[Vector] = Bounded(MAX_EVENTS, MAX_NUMBERS, len)

    async def events(self, graph: GraphReader, ids: Collection[str]) -> dict[str, Known]:
        """Give the stored events among `ids`, in their order; asks the graph for those not known in one round trip."""
        known = {id_: found for id_ in ids if (found := self._events.get((graph.tenant, id_))) is not None}
        missing = sorted(id_ for id_ in ids if id_ not in known)
        if missing:
            for id_, node in (await graph.events(missing)).items():
                known[id_] = Known(node)
                self._events.put((graph.tenant, id_), known[id_])
        return {id_: known[id_] for id_ in ids if id_ in known}

    async def vectors(self, vectors: VectorReader, ids: Collection[str]) -> dict[str, Vector]:
        """Give the stored vectors among `ids`; asks the store for those not known in one call."""
        known = {id_: found for id_ in ids if (found := self._vectors.get((vectors.tenant, id_))) is not None}
        missing = sorted(id_ for id_ in ids if id_ not in known)
        if missing:
            for id_, vector in (await vectors.vectors(missing)).items():
                known[id_] = vector
                self._vectors.put((vectors.tenant, id_), vector)
        return known

    def forget(self, tenant: str, ids: Iterable[str] | None = None) -> None:
        """Forget erased events of a tenant; without ids, all of them."""
        if ids is None:
            self._events.drop_tenant(tenant)
            self._vectors.drop_tenant(tenant)
            return
        for id_ in ids:
            self._events.drop((tenant, id_))
            self._vectors.drop((tenant, id_))
