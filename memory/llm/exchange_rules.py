"""Causes between neighbouring turns of talk whose opening shows that the second answers the first.

A turn right behind another's within a few minutes follows from it when it opens as replies do, takes up its first word,
guesses at a trouble that was told, takes on what somebody has to do, or answers a feeling. That it stands there is not
enough: a turn that says of itself that it turns to another matter, or opens like news, has no cause here.
"""

from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import exchanges, speech, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.values import values
from memory.llm.words import shared, shared_names, stems

#: Words of a reply in which it takes up what was said.
FIRST_WORDS = 2
_TOLD = frozenset({EventKind.MESSAGE, EventKind.NOTE, EventKind.DECISION, EventKind.ERROR})


def exchange_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give the turn right before that this one answers."""
    if not scene.before:
        return
    event, last = scene.event, scene.before[-1]
    if event.kind is not EventKind.MESSAGE or last.kind not in _TOLD or speech.voice(last) == speech.voice(event):
        return
    if not soon(last, event) or turns.shifts(event.text) or speech.calls_another(event.text, last):
        return
    if turns.called_before(scene) or (speech.asks(last.text) and speech.calls_another(last.text, event)):
        return
    if turns.adds(event.text) and any(speech.voice(each) == speech.voice(event) for each in scene.back(2)):
        return  # it goes on with its own
    interjected = turns.shifts(last.text)
    why = _reason(last, event)
    if why and (not interjected or shared(last, event) or speech.requests(last.text)):
        yield found(last, event, "turn-answers", 0.72, why)


def _reason(last: EventNode, event: EventNode) -> str:
    """Give why a turn answers the one before, "" when nothing shows it."""
    text = event.text
    if exchanges.exclaims(text) or exchanges.closes_as_reply(text):
        return "opens as a reply does"
    if exchanges.opens_with_place(text) or exchanges.turns_to_you(text):
        return "says nothing without what was said"
    if exchanges.orders_it(text):
        return "orders something about what was said"
    if _takes_up(last, event):
        return "takes up what was said"
    troubled = turns.is_trouble(last)
    if troubled and (exchanges.guesses(text) or _asks_closely(last, event)):
        return "goes into the trouble that was told"
    if (speech.requests(last.text) or troubled) and exchanges.takes_on(text):
        return "takes it on"
    if exchanges.feels(last.text) and exchanges.comforts(text):
        return "answers a feeling"
    return ""


def _takes_up(last: EventNode, event: EventNode) -> bool:
    """Say whether the first words of a turn are words, names or values of the turn before."""
    first = " ".join(event.text.split()[:FIRST_WORDS])
    common = shared(last, event) | (values(last) & values(event))
    if common & stems(first):
        return True
    folded = first.casefold()
    return any(name.split()[0] in folded for name in shared_names(last, event) if name)


def _asks_closely(last: EventNode, event: EventNode) -> bool:
    """Say whether a turn opens with a question, to whoever told the trouble rather than to anyone."""
    asked = speech.questions_of(event.text)[:1]
    first = speech.sentences_of(event.text)[:1]
    return bool(asked) and asked == first and not turns.asks_anyone(asked[0]) and not speech.only_asks(last.text)
