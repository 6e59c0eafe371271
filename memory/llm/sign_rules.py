"""Causes in the signs of machines and agents: what an agent reports of its own result, and what another goes on with.

An agent follows its own signs at once; another's need a word, a name or a value in common, or the call that brought
them.
"""

from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import courses, speech, telemetry, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.values import values
from memory.llm.words import shared, shared_names

#: Longest time between two signs of one agent that need no word in common, in microseconds: five minutes.
AT_ONCE_US = 5 * 60 * 1_000_000

_SAID = frozenset({EventKind.MESSAGE, EventKind.NOTE, EventKind.DECISION})
_SEEN = frozenset({EventKind.TOOL_RESULT, EventKind.OBSERVATION})
_MADE = frozenset({EventKind.TOOL_RESULT, EventKind.STATE_CHANGE})


def sign_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give the result, sign or word right before that this event follows from."""
    if scene.before:
        yield from _next_of_own(scene)
        yield from _read_by_other(scene)
        yield from _state_after_word(scene)


def _about(first: EventNode, second: EventNode) -> bool:
    if shared(first, second) or shared_names(first, second) or values(first) & values(second):
        return True
    return bool(courses.marks(first) & courses.marks(second))


def _next_of_own(scene: Scene) -> Iterator[FoundCause]:
    """Result, sign or word → what the same agent sees or reports of it next."""
    event, last = scene.event, scene.before[-1]
    if last.agent != event.agent or telemetry.failed(last):
        return
    about = _about(last, event)
    at_once = event.occurred_us - last.occurred_us <= AT_ONCE_US
    if event.kind is EventKind.OBSERVATION and last.kind in _MADE and about and soon(last, event):
        yield found(last, event, "own-sight", 0.75, "sees what came of it")
    elif event.kind is EventKind.STATE_CHANGE and last.kind in _SAID and about:
        yield found(last, event, "own-state", 0.75, "comes of what it said")
    elif event.kind is EventKind.STATE_CHANGE and last.kind in _SEEN and at_once:
        yield found(last, event, "own-state", 0.72, "reports at once what was reached")


def _read_by_other(scene: Scene) -> Iterator[FoundCause]:
    """Result → another agent's call about the same thing right behind it."""
    event, last = scene.event, scene.before[-1]
    if event.kind is not EventKind.TOOL_CALL or last.kind is not EventKind.TOOL_RESULT or last.agent == event.agent:
        return
    call = _call_of(scene)
    if soon(last, event) and not telemetry.failed(last) and (_about(last, event) or (call and _about(call, event))):
        yield found(last, event, "result-passed", 0.72, "goes on with another's result")


def _call_of(scene: Scene) -> EventNode | None:
    """Give the call whose result the last event is."""
    ident = telemetry.call_id(scene.before[-1])
    for each in scene.back():
        if each.kind is EventKind.TOOL_CALL and ident and telemetry.call_id(each) == ident:
            return each
    return None


def _state_after_word(scene: Scene) -> Iterator[FoundCause]:
    """Another's word that something is well, or may be → the state that it lets come at once."""
    event, last = scene.event, scene.before[-1]
    if event.kind is not EventKind.STATE_CHANGE or last.kind is not EventKind.MESSAGE or last.agent == event.agent:
        return
    if event.occurred_us - last.occurred_us > AT_ONCE_US or speech.asks(last.text):
        return
    if _about(last, event) or turns.lets(last.text) or speech.consents(last.text):
        yield found(last, event, "word-state", 0.72, "let come by what was said")
