"""Short chains of events for the tests of rules, and what the rules find in them."""

from typing import Any

from memory.events import EventKind, EventNode
from memory.llm.model import Window
from memory.llm.rules import all_causes
from tests.consolidators.memory import node

KINDS = {
    "call": EventKind.TOOL_CALL,
    "result": EventKind.TOOL_RESULT,
    "error": EventKind.ERROR,
    "says": EventKind.MESSAGE,
    "notes": EventKind.NOTE,
    "decides": EventKind.DECISION,
    "hands": EventKind.HANDOFF,
    "state": EventKind.STATE_CHANGE,
    "sees": EventKind.OBSERVATION,
}


def chain(*lines: str, **attributes: dict[str, Any]) -> list[EventNode]:
    """Make a chain of "agent kind: text", a minute apart, named 0, 1, 2 ...; `e3={...}` are attributes of the third."""
    events = []
    for at, line in enumerate(lines):
        head, _, text = line.partition(": ")
        agent, _, kind = head.rpartition(" ")
        given = attributes.get(f"e{at}", {})
        events.append(node(str(at), text, agent=agent, kind=KINDS[kind], at=at, attributes=given))
    return events


def found(events: list[EventNode]) -> dict[tuple[int, int], str]:
    """Give the rule that found each pair, by the numbers of cause and effect."""
    names = {event.id: int(event.ref) for event in events}
    window = Window("t", "s1", tuple(events), frozenset(names))
    return {(names[cause.cause], names[cause.effect]): cause.rule for cause in all_causes(window)}
