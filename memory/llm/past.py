"""What an event without a cause goes back to, when what stands right before it is of another matter or another agent.

Several talk and work in one session at once. So a rule that looks at the event right before is asked again with what
stands between left out: an interjection, the work of others, or a call made together with this one.
"""

from collections.abc import Iterator, Sequence

from memory.events import EventKind, EventNode
from memory.llm import telemetry, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Rule, Scene
from memory.llm.values import values
from memory.llm.words import shared, shared_names

#: Most events that are looked past: of another matter, of others, and calls made together.
MAX_SKIPPED = 2
MAX_OTHERS = 3
MAX_SIBLINGS = 4
#: Calls at most this far apart are made together, in microseconds: two minutes.
TOGETHER_US = 2 * 60 * 1_000_000

_ADDRESSED = frozenset({EventKind.MESSAGE, EventKind.HANDOFF, EventKind.DECISION})


def found_past(scene: Scene, rules: Sequence[Rule]) -> dict[tuple[str, str], FoundCause]:
    """Give the first cause that a rule finds when what stands between is left out."""
    for past, ends in _pasts(scene):
        for rule in rules:
            for cause in rule(past):
                if cause.cause == ends.id and cause.effect == scene.event.id:
                    return {(cause.cause, cause.effect): cause}
    return {}


def _pasts(scene: Scene) -> Iterator[tuple[Scene, EventNode]]:
    """Give the scenes with less before them, and the event that each then ends with."""
    for skipped in (*_siblings(scene), *_interjections(scene), *_others(scene)):
        yield Scene(scene.event, scene.before[:-skipped]), scene.before[-1 - skipped]


def _interjections(scene: Scene) -> Iterator[int]:
    """Give how many events to skip because they share no word with the event nor with what stands before them.

    What the event goes back to must share one, so that not every event finds something behind; behind a turn that says
    of itself that it is of another matter, nothing need be shared.
    """
    for skipped in range(1, MAX_SKIPPED + 1):
        if len(scene.before) <= skipped or related(scene.before[-skipped], scene.event):
            return
        if related(scene.before[-1 - skipped], scene.event):
            yield skipped
        elif not turns.shifts(scene.before[-skipped].text):
            continue
        elif skipped == 1 and scene.before[-2].agent != scene.event.agent:
            yield skipped


def _others(scene: Scene) -> Iterator[int]:
    """Give how many events of other agents stand since this agent's last, when none of them is put to anybody."""
    for skipped, each in enumerate(scene.back(MAX_OTHERS + 1)):
        if each.agent == scene.event.agent:
            if skipped:
                yield skipped
            return
        if each.kind in _ADDRESSED:
            return


def _siblings(scene: Scene) -> Iterator[int]:
    """Give how many calls stand right before this one, which is made together with them."""
    event, skipped = scene.event, 0
    if event.kind is not EventKind.TOOL_CALL:
        return
    for each in scene.back(MAX_SIBLINGS):
        same = each.agent == event.agent or (telemetry.tool(each) and telemetry.tool(each) == telemetry.tool(event))
        together = event.occurred_us - each.occurred_us <= TOGETHER_US
        if each.kind is not EventKind.TOOL_CALL or not same or not together:
            break
        skipped += 1
    if 0 < skipped < len(scene.before):
        yield skipped


def related(one: EventNode, other: EventNode) -> bool:
    """Say whether two events share a topic word, a name or a value."""
    return bool(shared(one, other) or shared_names(one, other) or values(one) & values(other))
