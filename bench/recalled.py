"""Stores that answer the same question once: for measurements that put it to the same memory many times.

Every variant of Magma and every policy that is tried searches with the same words and vectors and walks the same edges;
what differs is what is made of them. Nothing may be written meanwhile. What a store said is given again as it was said,
so a measurement changes in nothing but its time; times are therefore taken on the plain stores.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory.embedding import Encoder
from memory.events import EventNode
from memory.graph import EntityNode, Graph, GraphReader, Hub, NeighbourEdge, Neighbourhood, Window
from memory.graph.driver import Bolt
from memory.graph.model import SupersededBy
from memory.settings import Settings
from memory.vectors import Hit, VectorReader, Vectors
from memory.vectors.connection import Connection

T = TypeVar("T")


class RecalledGraph(Graph):
    """A graph whose readers remember, one for each tenant."""

    def __init__(self, bolt: Bolt) -> None:
        super().__init__(bolt)
        self._readers: dict[str, RecalledGraphReader] = {}

    def reader(self, tenant: str) -> GraphReader:
        """Give the tenant's reader, always the same one."""
        if tenant not in self._readers:
            self._readers[tenant] = RecalledGraphReader(self._bolt, tenant)
        return self._readers[tenant]


class RecalledGraphReader(GraphReader):
    """Remembers by event what surrounds it; asks for what it does not know in one round trip."""

    def __init__(self, bolt: Bolt, tenant: str) -> None:
        super().__init__(bolt, tenant)
        self._around: dict[tuple[str, int], Neighbourhood] = {}
        self._windows: dict[tuple[str, int, int], Window | None] = {}
        self._entities: dict[str, EntityNode | None] = {}
        self._events: dict[str, EventNode | None] = {}
        self._superseding: dict[str, list[SupersededBy]] = {}

    async def events(self, ids: Sequence[str]) -> dict[str, EventNode]:
        """See `GraphReader.events`."""
        missing = [id_ for id_ in ids if id_ not in self._events]
        found = await super().events(missing) if missing else {}
        self._events.update((id_, found.get(id_)) for id_ in missing)
        return {id_: node for id_ in ids if (node := self._events[id_]) is not None}

    async def neighbours(self, ids: Sequence[str], *, hub_limit: int) -> Neighbourhood:
        """See `GraphReader.neighbours`: both orders begin with the event, so those of several events join to it."""
        missing = [id_ for id_ in ids if (id_, hub_limit) not in self._around]
        found = await super().neighbours(missing, hub_limit=hub_limit)
        edges: dict[str, list[NeighbourEdge]] = {id_: [] for id_ in missing}
        hubs: dict[str, list[Hub]] = {id_: [] for id_ in missing}
        for edge in found.edges:
            edges[edge.source].append(edge)
        for hub in found.hubs:
            hubs[hub.event].append(hub)
        for id_ in missing:
            self._around[id_, hub_limit] = Neighbourhood(tuple(edges[id_]), tuple(hubs[id_]))
        known = [self._around[id_, hub_limit] for id_ in sorted(set(ids))]
        return Neighbourhood(
            tuple(edge for one in known for edge in one.edges), tuple(hub for one in known for hub in one.hubs)
        )

    async def window(self, ids: Sequence[str], before: int, after: int) -> dict[str, Window]:
        """See `GraphReader.window`."""
        missing = [id_ for id_ in ids if (id_, before, after) not in self._windows]
        found = await super().window(missing, before, after)
        self._windows.update(((id_, before, after), found.get(id_)) for id_ in missing)
        known = ((id_, self._windows[id_, before, after]) for id_ in ids)
        return {id_: window for id_, window in known if window is not None}

    async def entities(self, keys: Sequence[str]) -> dict[str, EntityNode]:
        """See `GraphReader.entities`."""
        missing = [key for key in keys if key not in self._entities]
        found = await super().entities(missing) if missing else {}
        self._entities.update((key, found.get(key)) for key in missing)
        return {key: node for key in keys if (node := self._entities[key]) is not None}

    async def superseding(self, ids: Sequence[str]) -> dict[str, list[SupersededBy]]:
        """See `GraphReader.superseding`."""
        missing = [id_ for id_ in ids if id_ not in self._superseding]
        found = await super().superseding(missing) if missing else {}
        self._superseding.update((id_, found.get(id_, [])) for id_ in missing)
        return {id_: list(newer) for id_ in ids if (newer := self._superseding[id_])}


class RecalledVectors(Vectors):
    """A collection whose readers remember, one for each tenant."""

    def __init__(self, connection: Connection, dim: int) -> None:
        super().__init__(connection, dim)
        self._readers: dict[str, RecalledVectorReader] = {}

    def reader(self, tenant: str) -> VectorReader:
        """Give the tenant's reader, always the same one."""
        if tenant not in self._readers:
            self._readers[tenant] = RecalledVectorReader(self._connection, tenant)
        return self._readers[tenant]


class RecalledVectorReader(VectorReader):
    """Remembers searches by all that they were asked with."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        super().__init__(connection, tenant)
        self._hits: dict[Hashable, tuple[Hit, ...]] = {}
        self._stored: dict[str, NDArray[np.float32] | None] = {}

    async def vectors(self, ids: Sequence[str], *, fresh: bool = False) -> dict[str, NDArray[np.float32]]:
        """See `VectorReader.vectors`."""
        missing = [id_ for id_ in ids if id_ not in self._stored]
        found = await super().vectors(missing, fresh=fresh) if missing else {}
        self._stored.update((id_, found.get(id_)) for id_ in missing)
        return {id_: row for id_ in ids if (row := self._stored[id_]) is not None}

    async def nearest(self, vector: NDArray[np.float32], k: int, **options: Any) -> list[Hit]:
        """See `VectorReader.nearest`."""
        search = super().nearest
        return await self._once((vector.tobytes(), k, _key(options)), lambda: search(vector, k, **options))

    async def keywords(self, terms: str, k: int, **options: Any) -> list[Hit]:
        """See `VectorReader.keywords`."""
        search = super().keywords
        return await self._once((terms, k, _key(options)), lambda: search(terms, k, **options))

    async def _once(self, key: Hashable, ask: Callable[[], Awaitable[list[Hit]]]) -> list[Hit]:
        if key not in self._hits:
            self._hits[key] = tuple(await ask())
        return list(self._hits[key])


def _key(options: dict[str, Any]) -> Hashable:
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in sorted(options.items()))


class RecalledEncoder:
    """Encodes a text once (implements `Encoder`); the encoder beneath is closed by whoever opened it."""

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self.dim = encoder.dim
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    async def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Encoder.encode`."""
        missing = list(_unknown(texts, self._known))
        if missing:
            self._known.update(zip(missing, await self._encoder.encode(missing), strict=True))
        return np.stack([self._known[text] for text in texts])

    async def close(self) -> None:
        """Forget."""
        self._known.clear()


def _unknown(texts: Iterable[str], known: dict[str, NDArray[np.float32]]) -> dict[str, None]:
    return dict.fromkeys(text for text in texts if text not in known)


@dataclass(frozen=True, slots=True)
class OpenStores:
    """The stores and the encoder, plain or remembering."""

    graph: Graph
    vectors: Vectors
    encoder: Encoder


@asynccontextmanager
async def open_recalled(settings: Settings, encoder: Encoder) -> AsyncIterator[OpenStores]:
    """Open connections of their own; raises as `Graph.open` and `Vectors.open` do."""
    async with (
        RecalledGraph.open(settings) as graph,
        RecalledVectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
    ):
        yield OpenStores(graph, vectors, RecalledEncoder(encoder))
