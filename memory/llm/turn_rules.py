"""Causes between turns: what points back, what acts on a word or a state, and what is well after it was mended.

A turn that opens with a pronoun, a verdict or a fragment cannot stand alone: it lives on the turn before. A deed right
behind a word that lets or asks, or behind a state that names the same thing, follows from it.
"""

from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.values import values
from memory.llm.words import shared, shared_names

#: How many events back a sign of trouble or a remedy is looked for.
SIGN_REACH = 3
CURE_REACH = 4
#: Topic words that a deed and the word before it have in common when that word asks for nothing.
COMMON_WORDS = 2

_NEWS = frozenset({EventKind.ERROR, EventKind.OBSERVATION, EventKind.TOOL_RESULT, EventKind.STATE_CHANGE})
_MOVES = frozenset({EventKind.TOOL_CALL, EventKind.STATE_CHANGE, EventKind.DECISION})


def turn_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give what this event points back to, acts on, notices, or is well by."""
    if not scene.before:
        return
    yield from _points_back(scene)
    yield from _asks_on(scene)
    yield from _acts_on_word(scene)
    yield from _acts_on_state(scene)
    yield from _trouble_noticed(scene)
    yield from _well_again(scene)


def _points_back(scene: Scene) -> Iterator[FoundCause]:
    """Turn or news → another's turn that cannot stand alone: "Lovely.", "That one flickers.", "Tomorrow, please."."""
    event, last = scene.event, scene.before[-1]
    if event.kind not in {EventKind.MESSAGE, EventKind.DECISION} or speech.voice(last) == speech.voice(event):
        return
    if last.kind is EventKind.TOOL_CALL or not soon(last, event) or speech.calls_another(event.text, last):
        return
    if speech.asks(last.text) and speech.calls_another(last.text, event):
        return
    if turns.shifts(event.text) or turns.shifts(last.text) or _goes_on(scene) or turns.called_before(scene):
        return
    if last.kind is EventKind.OBSERVATION and not (turns.is_trouble(last) or _about(last, event)):
        return
    if speech.speaks_to_all(event.text) and last.kind is not EventKind.MESSAGE:
        return
    if turns.points_back(event.text) or turns.judges(event.text) or turns.is_elliptic(event.text):
        yield found(last, event, "points-back", 0.75, "a turn that lives on the one before")


def _goes_on(scene: Scene) -> bool:
    """Say whether a turn goes on with its speaker's own from before: "And they gave me their number"."""
    own = any(speech.voice(each) == speech.voice(scene.event) for each in scene.back(2))
    return own and turns.adds(scene.event.text)


def _asks_on(scene: Scene) -> Iterator[FoundCause]:
    """Statement → another's question or offer that takes up what it said: "Whose is that?"."""
    event, last = scene.event, scene.before[-1]
    if event.kind is not EventKind.MESSAGE or last.kind is EventKind.TOOL_CALL or not soon(last, event):
        return
    if speech.voice(last) == speech.voice(event) or turns.shifts(event.text) or speech.only_asks(last.text):
        return
    if speech.calls_another(event.text, last):
        return
    if speech.asks(event.text) and turns.asks_about_it(event.text):
        yield found(last, event, "asks-on", 0.75, "asks about what was just said")


def _acts_on_word(scene: Scene) -> Iterator[FoundCause]:
    """Go-ahead, proposal or request → another's deed right behind it."""
    event, last = scene.event, scene.before[-1]
    if event.kind not in _MOVES or last.kind is not EventKind.MESSAGE or not soon(last, event):
        return
    if speech.voice(last) == speech.voice(event) or turns.shifts(last.text):
        return
    about = _about(last, event)
    moves = turns.lets(last.text) or speech.requests(last.text) or turns.proposes(last.text)
    if (moves and not speech.only_asks(last.text)) or len(about) >= COMMON_WORDS:
        yield found(last, event, "word-acted-on", 0.75, "acts on what was just said")


def _acts_on_state(scene: Scene) -> Iterator[FoundCause]:
    """State or result → the deed or state of the same thing right behind it; failure → the same agent's next call."""
    event, last = scene.event, scene.before[-1]
    if event.kind not in {EventKind.TOOL_CALL, EventKind.STATE_CHANGE} or last.kind not in _NEWS:
        return
    if not soon(last, event):
        return
    about = _about(last, event)
    own = last.agent == event.agent
    if event.kind is EventKind.TOOL_CALL:
        if last.kind is EventKind.ERROR and own:
            yield found(last, event, "failure-call", 0.75, "the call that follows its failure")
        elif last.kind is EventKind.STATE_CHANGE and (about or own):
            yield found(last, event, "state-call", 0.75, f"about {', '.join(sorted(about)[:4])}")
    elif (about and (own or shared_names(last, event) or values(last) & values(event))) or (
        own and last.kind is EventKind.STATE_CHANGE
    ):
        yield found(last, event, "state-state", 0.75, f"about {', '.join(sorted(about)[:4])}")


def _trouble_noticed(scene: Scene) -> Iterator[FoundCause]:
    """Sign of trouble → the alarm, decision or word about it of another, who names it or what it names."""
    event = scene.event
    if event.kind not in {EventKind.ERROR, EventKind.DECISION, EventKind.MESSAGE} or telemetry.call_id(event):
        return
    for distance, sign in enumerate(scene.back(SIGN_REACH), start=1):
        if sign.kind not in {EventKind.ERROR, EventKind.OBSERVATION} or not soon(sign, event):
            continue
        about = _about(sign, event)
        if event.kind is EventKind.ERROR:
            fits = distance == 1 and sign.agent != event.agent and speech.names_agent(event.text, sign)
        elif event.kind is EventKind.DECISION:
            fits = distance == 1 and turns.is_trouble(sign)
        else:
            fits = turns.is_trouble(sign) and bool(about)
        if fits:
            yield found(sign, event, "trouble-noticed", 0.75, "takes notice of the trouble")
            return


def _well_again(scene: Scene) -> Iterator[FoundCause]:
    """Deed that mends something → the sign or word that it is well again."""
    event = scene.event
    if event.kind not in {EventKind.OBSERVATION, EventKind.MESSAGE, EventKind.STATE_CHANGE, EventKind.TOOL_RESULT}:
        return
    if not turns.is_well(event) or speech.asks(event.text):
        return
    for distance, deed in enumerate(scene.back(CURE_REACH), start=1):
        if deed.kind is EventKind.TOOL_CALL or telemetry.failed(deed) or not turns.mends(deed):
            continue
        about = _about(deed, event)
        if about or (
            distance == 1 and (deed.agent == event.agent or event.kind is EventKind.MESSAGE) and soon(deed, event)
        ):
            yield found(deed, event, "well-again", 0.75, "well again after it was mended")
            return


def _about(first: EventNode, second: EventNode) -> frozenset[str]:
    return shared(first, second) | shared_names(first, second) | (values(first) & values(second))
