"""The graph store: Memgraph (or the local server) over Bolt. Schema, writes, reads.

`Graph.open(settings)` connects; `Graph.writer()` writes, `Graph.reader(tenant)` reads one tenant's memory.
"""

from memory.graph.budgets import Budgets, next_day
from memory.graph.editing import Decision, EntityEditor
from memory.graph.extractions import Claimed, Extractions
from memory.graph.graph import Graph
from memory.graph.model import (
    Beside,
    Counts,
    Done,
    EntityNode,
    EpisodeNode,
    EventsWritten,
    Hub,
    Mark,
    NameChange,
    NeighbourEdge,
    Neighbourhood,
    SessionNode,
    SupersededBy,
    Totals,
    Window,
)
from memory.graph.name_writes import Why
from memory.graph.reader import GraphReader
from memory.graph.session_order import SessionLink
from memory.graph.writer import GraphWriter

__all__ = [
    "Beside",
    "Budgets",
    "Claimed",
    "Counts",
    "Decision",
    "Done",
    "EntityEditor",
    "EntityNode",
    "EpisodeNode",
    "EventsWritten",
    "Extractions",
    "Graph",
    "GraphReader",
    "GraphWriter",
    "Hub",
    "Mark",
    "NameChange",
    "NeighbourEdge",
    "Neighbourhood",
    "SessionLink",
    "SessionNode",
    "SupersededBy",
    "Totals",
    "Why",
    "Window",
    "next_day",
]
