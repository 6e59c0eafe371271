"""Causes in talk: a question and its answer, a request and what is done about it, a statement and what it makes ask.

A reply as such has no cause here: that two utterances follow each other shows nothing.
"""

from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import exchanges, speech, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.values import values
from memory.llm.words import shared, shared_names, telling
from memory.relations import CausalKind

#: How many events back a question waits for its answer, and a request for the one it names or for anyone.
ANSWER_REACH = 4
NAMED_REACH = 6
DEED_REACH = 2
#: With more voices than this in a scene, a request without a name is met only by what has its words.
FEW_VOICES = 3
#: Two utterances further apart than this, in microseconds, are not one exchange: a day.
_EXCHANGE_US = 24 * 3600 * 1_000_000

_DEEDS = frozenset({EventKind.TOOL_CALL, EventKind.DECISION, EventKind.HANDOFF, EventKind.STATE_CHANGE, EventKind.NOTE})
_ACTS = _DEEDS - {EventKind.NOTE}


def dialogue_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give what in the talk before made this event be said or done."""
    yield from _answer(scene)
    yield from _compliance(scene)
    yield from _answer_used(scene)
    yield from _drawn(scene)
    yield from _asked_back(scene)
    yield from _moved_by_problem(scene)


def _answer(scene: Scene) -> Iterator[FoundCause]:
    """Question → the first utterance about it by another: by the one it names when it names one."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE or speech.only_asks(event.text):
        return
    me = speech.voice(event)
    between: list[EventNode] = []
    solves = speech.solves(event.text)
    for asked in scene.back(ANSWER_REACH):
        if not _one_exchange(asked, event) or (speech.voice(asked) == me and asked.kind is EventKind.MESSAGE):
            return  # what this voice said before is what answered anything older
        if asked.kind is EventKind.MESSAGE and speech.asks(asked.text):
            others = [each for each in (*scene.before, event) if speech.voice(each) != speech.voice(asked)]
            named = {speech.voice(each) for each in others if speech.names_agent(_asked_part(asked), each)}
            taken = any(
                each.kind is EventKind.MESSAGE and speech.voice(each) != speech.voice(asked) for each in between
            )
            if speech.calls_another(_asked_part(asked), event) or speech.calls_another(asked.text, event):
                return
            if not named and _left_open(asked, event):
                return
            if speech.calls(asked.text, event) or (
                (me in named) if named else not taken or solves or bool(shared(asked, event))
            ):
                yield found(asked, event, "question-answer", 0.8, f"answers: {_asked_part(asked)}")
            return
        between.append(asked)


def _compliance(scene: Scene) -> Iterator[FoundCause]:
    """Request → the first thing that the one it names says or does; without a name, what follows at once."""
    event, me = scene.event, speech.voice(scene.event)
    seen_mine = False
    for distance, asked in enumerate(scene.back(NAMED_REACH), start=1):
        mine = speech.voice(asked) == me
        if speech.speaks(asked) and not mine and _one_exchange(asked, event) and speech.requests(asked.text):
            if not seen_mine and speech.names_agent(asked.text, event) and (distance == 1 or _fits(asked, event)):
                yield found(asked, event, "request-done", 0.85, f"{event.agent} is asked for it")
                return
            unnamed = not speech.calls_another(asked.text, event) and not any(
                speech.names_agent(asked.text, each)
                for each in (*scene.before, event)
                if speech.voice(each) != speech.voice(asked)
            )
            about = bool(shared(asked, event) or shared_names(asked, event))
            few = len({speech.voice(each) for each in (*scene.before, event)}) <= FEW_VOICES
            fits = about or (few and distance == 1) or (event.kind is EventKind.MESSAGE and speech.consents(event.text))
            if unnamed and not seen_mine and distance <= DEED_REACH and fits and _fits(asked, event):
                yield found(asked, event, "request-done", 0.8, "what was asked for")
                return
        seen_mine = seen_mine or mine
        if seen_mine and distance >= DEED_REACH:
            return


def _fits(asked: EventNode, event: EventNode) -> bool:
    """Say whether an event looks like what a request asked for."""
    if event.kind in _ACTS:
        return True
    if speech.only_forbids(asked.text) and not speech.consents(event.text):
        return False
    about = bool(shared(asked, event) or shared_names(asked, event))
    if event.kind is EventKind.MESSAGE:
        return speech.consents(event.text) or (about and not speech.only_asks(event.text))
    return event.kind is EventKind.NOTE and about


def _answer_used(scene: Scene) -> Iterator[FoundCause]:
    """Answer, or a problem told → what the one who asked, or was told, does at once."""
    event, me = scene.event, speech.voice(scene.event)
    orders = event.kind is EventKind.MESSAGE and speech.requests(event.text)
    if not scene.before or not (event.kind in _ACTS | {EventKind.TOOL_RESULT} or orders):
        return
    told = scene.before[-1]
    if told.kind is not EventKind.MESSAGE or speech.voice(told) == me or not _one_exchange(told, event):
        return
    asked = next((each for each in list(scene.back(ANSWER_REACH))[1:] if speech.voice(each) == me), None)
    wanted = asked is not None and speech.speaks(asked)
    if wanted and asked is not None and speech.requests(asked.text) and speech.consents(told.text):
        kind = CausalKind.ENABLES if event.kind is EventKind.TOOL_RESULT else CausalKind.LEADS_TO
        yield found(told, event, "consent-used", 0.8, "goes on once its request is met", kind)
    elif (
        event.kind is EventKind.TOOL_RESULT
        or orders
        or (event.kind is EventKind.STATE_CHANGE and not (shared(told, event) or shared_names(told, event)))
    ):
        return
    elif wanted and asked is not None and speech.asks(asked.text):
        yield found(told, event, "answer-used", 0.8, "acts on the answer to its question")
    elif speech.consents(told.text) and speech.settles(told.text):
        yield found(told, event, "consent-used", 0.75, "goes on once it is done")
    elif speech.reports_problem(told.text):
        yield found(told, event, "problem-handled", 0.75, "acts on the problem that was told")


def _asked_back(scene: Scene) -> Iterator[FoundCause]:
    """Statement → the question that draws on it: short, or with its words or names."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE or not scene.before or not speech.asks(event.text):
        return
    told = scene.before[-1]
    if speech.voice(told) == speech.voice(event) or not _one_exchange(told, event):
        return
    if told.kind not in {EventKind.MESSAGE, EventKind.NOTE, EventKind.ERROR, EventKind.DECISION}:
        return
    if told.kind is EventKind.MESSAGE and speech.only_asks(told.text):
        return
    asked = speech.questions_of(event.text)
    first = speech.sentences_of(event.text)[:1]
    short = bool(asked) and asked[:1] == first and speech.is_fragment(asked[0])
    drawn = any(telling(part) & telling(told.text) for part in asked)
    if told.kind is EventKind.ERROR or speech.reports_problem(told.text):
        drawn = drawn or not speech.asks(told.text)
    if (
        not (telling(event.text) & telling(told.text))
        and asked
        and (turns.asks_anyone(asked[0]) or turns.shifts(event.text))
    ):
        return  # put to whoever knows, of another matter
    if short or drawn or speech.reacts(event.text):
        yield found(told, event, "asked-back", 0.75, f"asks about it: {asked[0] if asked else ''}")


def _drawn(scene: Scene) -> Iterator[FoundCause]:
    """Utterance, decision or result → the reply that draws on it: with a word of it, and a turn that says so."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE or not scene.before or speech.only_asks(event.text):
        return
    told = scene.before[-1]
    if speech.voice(told) == speech.voice(event) or not _one_exchange(told, event):
        return
    if told.kind in {EventKind.TOOL_CALL, EventKind.HANDOFF} or speech.only_asks(told.text):
        return
    about = shared(told, event) | shared_names(told, event) | (values(told) & values(event))
    replies = speech.replies(event.text)
    hails = (
        replies and told.kind is not EventKind.MESSAGE and soon(told, event) and not speech.speaks_to_all(event.text)
    )
    hails = (
        hails or (speech.responds(event.text) and not speech.speaks_to_all(event.text)) or speech.takes_up(event.text)
    )
    if hails or (replies and (about or speech.reacts(event.text))) or len(about) >= 2:
        yield found(told, event, "reply-draws", 0.72, f"draws on it: {', '.join(sorted(about)[:4])}")


def _moved_by_problem(scene: Scene) -> Iterator[FoundCause]:
    """Problem told → the request, offer or decision about the same thing soon after."""
    event = scene.event
    wanted = event.kind is EventKind.DECISION or (event.kind is EventKind.MESSAGE and speech.requests(event.text))
    if not wanted:
        return
    for told in scene.back(NAMED_REACH):
        if told.kind in {EventKind.TOOL_CALL, EventKind.DECISION} or not _one_exchange(told, event):
            continue
        about = shared(told, event)
        names = shared_names(told, event)
        bound = bool(about - {stem for name in names for stem in telling(name)}) or (bool(names) and bool(about))
        if bound and speech.reports_problem(told.text) and not speech.asks(told.text):
            yield found(told, event, "problem-request", 0.75, f"about {', '.join(sorted(about | names)[:4])}")
            return


def _left_open(asked: EventNode, event: EventNode) -> bool:
    """Say whether a question of another matter, or one of long ago, is left open by what has no word of it."""
    aside = turns.shifts(asked.text) or not soon(asked, event)
    if not aside or shared(asked, event) or shared_names(asked, event) or values(asked) & values(event):
        return False
    text = event.text
    if speech.consents(text) or exchanges.exclaims(text) or exchanges.opens_with_place(text) or turns.is_elliptic(text):
        return False
    return not exchanges.opens_with_it(text)


def _asked_part(event: EventNode) -> str:
    return " ".join(speech.questions_of(event.text)) or event.text[:200]


def _one_exchange(first: EventNode, second: EventNode) -> bool:
    return second.occurred_us - first.occurred_us <= _EXCHANGE_US
