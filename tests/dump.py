"""Everything that both stores hold of a tenant, read by clients of our own and not by Magma's reading."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from neo4j import GraphDatabase
from pymilvus import MilvusClient

from memory.settings import Settings

#: What counts writes and locks, and says nothing about the memory.
COUNTERS = frozenset({"rev", "edge_rev", "born"})
_LABELS = ("Event", "Session", "Agent", "Stint", "Entity", "Episode", "Awaited", "Name", "Slot")
#: Locks, and what depends on the order in which a memory came together: where names are looked for, and history.
_BESIDE = ("Lock", "Block", "EntityChange")
_DECIMALS = 5


@dataclass(frozen=True)
class Dump:
    """Nodes, edges and vectors, each as one line of JSON, sorted."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]
    vectors: tuple[str, ...]

    def nodes_of(self, label: str) -> list[dict[str, Any]]:
        """Give the properties of the nodes with a label."""
        return [found for name, found in map(json.loads, self.nodes) if name == label]

    def edges_of(self, *types: str) -> list[str]:
        """Give the lines of the edges of some types."""
        return [line for line in self.edges if json.loads(line)[1] in types]


def dump(settings: Settings, tenant: str, *, without: Iterable[str] = ()) -> Dump:
    """Read a tenant's whole memory, without the properties that are counters or in `without`."""
    left_out = COUNTERS | frozenset(without)
    nodes: list[str] = []
    edges: list[str] = []
    bounds = {"low": f"{tenant}|", "high": f"{tenant}}}"}
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    with (
        GraphDatabase.driver(settings.graph_uri, auth=auth) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        for label in _LABELS:
            query = f"MATCH (n:{label}) WHERE n.uid > $low AND n.uid < $high RETURN properties(n)"
            nodes += [_line(left_out, label, row[0]) for row in session.run(query, bounds)]
        query = (
            "MATCH (n:Event)-[r]->(m) WHERE n.uid > $low AND n.uid < $high RETURN n.uid, type(r), m.uid, properties(r)"
        )
        edges += [_line(left_out, *row) for row in session.run(query, bounds)]
        query = query.replace("Event", "Stint")
        edges += [_line(left_out, *row) for row in session.run(query, bounds)]
    return Dump(tuple(sorted(nodes)), tuple(sorted(edges)), tuple(sorted(_vectors(settings, tenant, left_out))))


def stored_events(settings: Settings, tenant: str) -> int:
    """Count a tenant's events in the graph."""
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    query = "MATCH (n:Event) WHERE n.uid > $low AND n.uid < $high RETURN count(n)"
    with (
        GraphDatabase.driver(settings.graph_uri, auth=auth) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        return int(session.run(query, {"low": f"{tenant}|", "high": f"{tenant}}}"}).single(strict=True)[0])


def empty_stores(settings: Settings, tenant: str) -> None:
    """Remove a tenant from both stores behind Magma's back."""
    auth = (settings.graph_user, settings.graph_password.get_secret_value())
    bounds = {"low": f"{tenant}|", "high": f"{tenant}}}"}
    with (
        GraphDatabase.driver(settings.graph_uri, auth=auth) as driver,
        driver.session(database=settings.graph_database) as session,
    ):
        for label in (*_LABELS, *_BESIDE):
            query = f"MATCH (n:{label}) WHERE n.uid > $low AND n.uid < $high DETACH DELETE n"
            session.execute_write(lambda transaction, query=query: transaction.run(query, bounds).consume())
    client = MilvusClient(uri=settings.milvus_uri, timeout=20)
    try:
        client.delete(settings.milvus_collection, filter=f'tenant == "{tenant}"', timeout=20)
    finally:
        client.close()


def _vectors(settings: Settings, tenant: str, left_out: frozenset[str]) -> Iterable[str]:
    client = MilvusClient(uri=settings.milvus_uri, timeout=20)
    try:
        rows = client.query(settings.milvus_collection, filter=f'tenant == "{tenant}"', output_fields=["*"], timeout=20)
    finally:
        client.close()
    for row in rows:
        yield _line(left_out | {"sparse"}, {**row, "vector": [round(float(x), _DECIMALS) for x in row["vector"]]})


def _line(left_out: frozenset[str], *parts: Any) -> str:
    bare = [
        {name: value for name, value in part.items() if name not in left_out} if isinstance(part, dict) else part
        for part in parts
    ]
    return json.dumps(bare, sort_keys=True, default=list)
