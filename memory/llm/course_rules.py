"""Causes in the course of talk and work: who answers a call for a person, and what is done once a word was taken."""

from collections.abc import Iterator

from memory.events import EventKind
from memory.llm import courses, speech, telemetry, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon

#: How many events back a call for somebody is looked for.
CALLED_REACH = 4
#: The word that was said and the word that took it, right before the deed.
TAKEN_WORDS = 2


def course_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give the call that this event answers, or the word that it acts on."""
    if scene.before:
        yield from _called_answers(scene)
        yield from _deed_after_assent(scene)


def _called_answers(scene: Scene) -> Iterator[FoundCause]:
    """Call that puts something to a person → that person's next word."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE:
        return
    for distance, call in enumerate(scene.back(CALLED_REACH), start=1):
        if call.kind is not EventKind.TOOL_CALL or call.agent == event.agent or not courses.addresses(call):
            continue
        between = scene.before[len(scene.before) - distance + 1 :]
        named = speech.names_agent(call.text, event)
        quiet = all(each.kind is EventKind.TOOL_RESULT and not telemetry.failed(each) for each in between)
        heard = any(speech.voice(each) == speech.voice(event) for each in between)
        if (quiet or named) and not heard:
            yield found(call, event, "called-answers", 0.75, "answers what was put to it")
            return


def _deed_after_assent(scene: Scene) -> Iterator[FoundCause]:
    """Word of another, taken with a short word of one's own → what one then does."""
    event = scene.event
    if (
        event.kind not in {EventKind.TOOL_CALL, EventKind.STATE_CHANGE, EventKind.DECISION}
        or len(scene.before) < TAKEN_WORDS
    ):
        return
    said, mine = scene.before[-2:]
    if speech.voice(mine) != speech.voice(event) or speech.voice(said) == speech.voice(event):
        return
    if said.kind is EventKind.MESSAGE and courses.assents(mine) and soon(said, event) and not turns.shifts(said.text):
        yield found(said, event, "assent-deed", 0.75, "does what it took from what was said")
