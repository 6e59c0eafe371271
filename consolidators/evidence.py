"""Recalled text is no evidence: an event with `derived_from` repeats what the memory knew, and must not confirm it.

What its producer says in fields (parent, caused_by, entities, speaker) stands: that is about the step, not recalled.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from memory.events import EventKind, EventNode
from memory.relations import CausalEdge

_Key = TypeVar("_Key")


def is_recalled(event: EventNode) -> bool:
    """Tell whether an event only repeats what was in the memory."""
    return bool(event.derived_from)


def silenced(event: EventNode) -> EventNode:
    """Give a recalled event without a word in it: it keeps its place in the chain, and no rule or model reads it.

    Leaving it out would move its neighbours nearer to each other, and what rules find would depend on who came first.
    """
    return replace(event, text="", kind=EventKind.NOTE, attributes={}, dates=()) if is_recalled(event) else event


def readable(events: Mapping[_Key, EventNode]) -> dict[_Key, EventNode]:
    """Give the events as extractors may read them."""
    return {key: silenced(event) for key, event in events.items()}


def evidenced(edges: Iterable[CausalEdge], nodes: Mapping[str, EventNode]) -> list[CausalEdge]:
    """Keep the edges that neither join nor rest on a recalled event."""
    recalled = {ident for ident, event in nodes.items() if is_recalled(event)}
    return [edge for edge in edges if recalled.isdisjoint((edge.cause, edge.effect, *edge.provenance.evidence))]
