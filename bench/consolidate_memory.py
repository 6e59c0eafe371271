"""What a memory holds of a document once it is consolidated, read from the graph and in the producer's ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.dates import DateSpan
from memory.graph import Graph, NeighbourEdge
from memory.relations import EdgeType, Origin

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class MadeCause:
    """A CAUSES edge. `rule`: the rule or model that inferred it; pairs joined by several kinds appear once."""

    cause: str
    effect: str
    origin: Origin
    rule: str


@dataclass(frozen=True, slots=True)
class MadeMention:
    """A MENTIONS edge; `names`: every spelling that its entity is known by, this event's first."""

    event: str
    entity: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consolidated:
    """A document as the memory holds it. `dates`: by event, what its phrases of time were resolved to."""

    events: tuple[str, ...]
    causes: tuple[MadeCause, ...]
    mentions: tuple[MadeMention, ...]
    dates: dict[str, tuple[DateSpan, ...]]


async def read_consolidated(graph: Graph, tenant: str) -> Consolidated:
    """Read a tenant's events, causes and mentions; raises as the graph does."""
    reader = graph.reader(tenant)
    stored: list[str] = []
    async for page in reader.all_event_ids(page=_PAGE):
        stored += page
    nodes = await reader.events(stored)
    called = {id_: node.ref for id_, node in nodes.items()}
    edges = (await reader.neighbours(stored, hub_limit=0)).edges
    mentions = [edge for edge in await reader.mentions(stored) if not edge.spoken]
    entities = await reader.entities([edge.key for edge in mentions])
    made = []
    for edge in mentions:
        entity = entities[edge.key]
        names = dict.fromkeys((edge.surface, entity.name, *entity.aliases, edge.key))
        made.append(MadeMention(called[edge.event], edge.key, tuple(names)))
    ordered = sorted(nodes.values(), key=lambda node: node.order)
    return Consolidated(
        events=tuple(node.ref for node in ordered),
        causes=_causes(edges, called),
        mentions=tuple(made),
        dates={node.ref: node.dates for node in ordered},
    )


def _causes(edges: Sequence[NeighbourEdge], called: dict[str, str]) -> tuple[MadeCause, ...]:
    found: dict[tuple[str, str], MadeCause] = {}
    for edge in edges:
        if edge.edge is not EdgeType.CAUSES or not edge.forward:
            continue
        pair = called[edge.source], called[edge.target]
        found.setdefault(pair, MadeCause(*pair, edge.origin, edge.rule))
    return tuple(found[pair] for pair in sorted(found))
