"""Events for the graph's tests, and what a chain looks like from outside."""

import uuid
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from memory.dates import DateSpan, Precision
from memory.events import EventKind, EventNode
from memory.graph import GraphReader
from memory.relations import CausalEdge, CausalKind, Origin, Provenance

T0 = 1_700_000_000_000_000


def event_id(name: object) -> str:
    """Give a stored id for a name."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(name)))


def event(tenant: str, name: object, *, at: int = 0, session: str = "s", sequence: int = -1, **more: Any) -> EventNode:
    """Build an event `at` microseconds after a fixed moment."""
    ident = event_id(name)
    values: dict[str, Any] = {
        "ref": str(name),
        "source": "test",
        "agent": "agent",
        "kind": EventKind.MESSAGE,
        "text": f"event {name}",
        "speaker": "ann",
        "offset_minutes": 0,
        "ingested_us": T0,
        "arrival": 0,
        "digest": f"digest of {name}",
    }
    values.update(more)
    return EventNode(tenant=tenant, id=ident, session=session, occurred_us=T0 + at, sequence=sequence, **values)


def day(start: int, end: int) -> DateSpan:
    """A resolved phrase between two moments, in microseconds after the fixed one."""
    return DateSpan("then", T0 + start, T0 + end, Precision.DAY)


def cause(
    one: object,
    other: object,
    confidence: float = 0.9,
    *,
    kind: CausalKind = CausalKind.LEADS_TO,
    origin: Origin = Origin.RULE,
) -> CausalEdge:
    """An edge between two named events."""
    return CausalEdge(event_id(one), event_id(other), kind, Provenance(origin, confidence, T0, rule="test"))


async def chain_of(reader: GraphReader, ids: Iterable[str]) -> dict[str, str]:
    """Follow the stored NEXT edges: every edge among `ids` as earlier -> later; fails on a branch."""
    found: dict[str, str] = {}
    around = await reader.window(list(ids), 1, 1)
    for ident, window in around.items():
        assert len(window.after) <= 1, "branch forward"
        assert len(window.before) <= 1, "branch backward"
        for later in window.after:
            found[ident] = later
    return found


def sorted_chain(nodes: Sequence[EventNode]) -> dict[str, str]:
    """What the chain must be: each session sorted, neighbours linked."""
    expected: dict[str, str] = {}
    for session in {node.session for node in nodes}:
        unique = {node.id: node for node in nodes if node.session == session}
        ordered = sorted(unique.values(), key=lambda node: node.order)
        expected.update({one.id: other.id for one, other in pairwise(ordered)})
    return expected
