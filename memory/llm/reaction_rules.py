"""Causes in reactions: what is done or said at once about an alarm, a decision, a piece of news or a question.

A reaction stands right behind what it reacts to, or a little further on with words of it, and within a quarter of an
hour. Who reacts matters: an agent follows its own findings, others show by a shared word that they mean the same.
"""

from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry, turns
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.values import values
from memory.llm.words import shared, shared_names

#: How many events back a reaction with a word in common looks, and one with two.
NEAR_REACH = 3
FAR_REACH = 6
#: With more voices than this in a scene, a request or a question is met only by what has its words.
FEW_VOICES = 3

_NEWS = frozenset({EventKind.ERROR, EventKind.OBSERVATION, EventKind.TOOL_RESULT, EventKind.STATE_CHANGE})
_TALK = frozenset({EventKind.MESSAGE, EventKind.NOTE})
_CHOICES = frozenset({EventKind.DECISION, EventKind.HANDOFF})


def reaction_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give what this event reacts to."""
    if scene.before:
        yield from _next_call(scene)
        yield from _choice_after_news(scene)
        yield from _word_after_decision(scene)
        yield from _word_after_news(scene)
        yield from _help_offered(scene)
        yield from _request_met(scene)
        yield from _alarm_after_alarm(scene)


def _next_call(scene: Scene) -> Iterator[FoundCause]:
    """Result, failure or announcement → the same agent's next call with another tool; alarm → a call about it."""
    event = scene.event
    if event.kind is not EventKind.TOOL_CALL:
        return
    last = scene.before[-1]
    if last.agent == event.agent and soon(last, event):
        if last.kind in {EventKind.TOOL_RESULT, EventKind.ERROR} and _other_tool(last, event):
            yield found(last, event, "next-call", 0.75, "the call that follows from the result")
            return
        noticed = last.kind is EventKind.OBSERVATION and speech.reports_problem(last.text)
        said = last.kind is EventKind.MESSAGE or (last.kind is EventKind.NOTE and speech.reports_problem(last.text))
        if noticed or (said and not speech.only_asks(last.text)) or telemetry.announces(last):
            yield found(last, event, "announced-call", 0.75, "does what it spoke of")
            return
    for alarm in scene.back(NEAR_REACH):
        bad = alarm.kind is EventKind.ERROR or (alarm.kind in _NEWS and speech.reports_problem(alarm.text))
        if bad and alarm.agent != event.agent and _about(alarm, event):
            yield found(alarm, event, "alarm-call", 0.75, f"looks into {_what(alarm, event)}")
            return


def _choice_after_news(scene: Scene) -> Iterator[FoundCause]:
    """News → the decision or handoff about it."""
    event = scene.event
    if event.kind not in _CHOICES:
        return
    last = scene.before[-1]
    if last.kind is EventKind.MESSAGE and speech.voice(last) != speech.voice(event) and soon(last, event):
        yield found(last, event, "news-decision", 0.75, "decides on what was just said")
        return
    for distance, news in enumerate(scene.back(FAR_REACH), start=1):
        if news.kind not in _NEWS | _TALK or not soon(news, event) or speech.only_asks(news.text):
            continue
        if news.kind is EventKind.NOTE and news.agent != event.agent:
            continue
        common = shared(news, event) | shared_names(news, event)
        if len(common) >= 2 or (distance <= NEAR_REACH and common):
            yield found(news, event, "news-decision", 0.75, f"decides about {_what(news, event)}")
            return


def _word_after_decision(scene: Scene) -> Iterator[FoundCause]:
    """Decision → the word, note or state about the same thing soon after."""
    event = scene.event
    if event.kind not in _TALK | {EventKind.STATE_CHANGE, EventKind.OBSERVATION}:
        return
    for distance, decision in enumerate(scene.back(FAR_REACH), start=1):
        if decision.kind is not EventKind.DECISION:
            continue
        common = shared(decision, event) | shared_names(decision, event)
        at_once = distance == 1 and soon(decision, event) and event.kind is not EventKind.OBSERVATION
        at_once = at_once and event.kind is not EventKind.NOTE
        if len(common) >= 2 or (distance == 1 and common) or at_once:
            yield found(decision, event, "decision-told", 0.75, f"comes of the decision on {_what(decision, event)}")
        return


def _word_after_news(scene: Scene) -> Iterator[FoundCause]:
    """News right before → what somebody says of it, with a word of it."""
    event, news = scene.event, scene.before[-1]
    if event.kind is not EventKind.MESSAGE or news.kind not in _NEWS or not soon(news, event):
        return
    problem = news.kind is EventKind.ERROR or speech.reports_problem(news.text)
    few = len({speech.voice(each) for each in (*scene.before, event)}) <= FEW_VOICES + 1
    turned = news.agent != event.agent and not event.text.startswith(("I ", "I'", "My "))
    calls = speech.requests(event.text) or speech.asks(event.text) or speech.reports_problem(event.text)
    lives = turns.points_back(event.text) or turns.judges(event.text) or turns.is_elliptic(event.text)
    answers = news.kind is EventKind.ERROR or (
        news.kind is EventKind.TOOL_RESULT and few and turned and (calls or lives)
    )
    calls = calls and not speech.calls_another(event.text, news)
    reacts = (problem or news.kind is EventKind.STATE_CHANGE) and calls and few
    if _about(news, event) or (problem and news.agent == event.agent) or answers or reacts:
        yield found(news, event, "news-told", 0.75, f"speaks of {_what(news, event)}")


def _help_offered(scene: Scene) -> Iterator[FoundCause]:
    """Problem told right before → another's advice or offer."""
    event, told = scene.event, scene.before[-1]
    if event.kind is not EventKind.MESSAGE or told.kind not in _TALK or speech.voice(told) == speech.voice(event):
        return
    if not soon(told, event) or not speech.reports_problem(told.text) or speech.only_asks(told.text):
        return
    if speech.requests(event.text) or speech.offers(event.text):
        yield found(told, event, "help-offered", 0.75, "answers the problem that was told")


def _request_met(scene: Scene) -> Iterator[FoundCause]:
    """Request or question right before → what another says to it, or looks up for it, where few are talking."""
    event, asked = scene.event, scene.before[-1]
    if asked.kind is not EventKind.MESSAGE or speech.voice(asked) == speech.voice(event) or not soon(asked, event):
        return
    if speech.calls_another(asked.text, event):
        return
    few = len({speech.voice(each) for each in (*scene.before, event)}) <= FEW_VOICES
    if not few and not _about(asked, event):
        return
    text = event.text
    takes = speech.consents(text) or speech.responds(text) or speech.replies(text) or speech.offers(text)
    takes = (takes or _about(asked, event)) and not speech.only_asks(text)
    if event.kind is EventKind.MESSAGE and speech.requests(asked.text) and takes:
        yield found(asked, event, "request-answered", 0.75, "says what comes of the request")
    elif event.kind in _CHOICES | {EventKind.TOOL_CALL} and (speech.asks(asked.text) or speech.requests(asked.text)):
        yield found(asked, event, "question-acted-on", 0.75, "acts on what was asked")


def _alarm_after_alarm(scene: Scene) -> Iterator[FoundCause]:
    """Failure → the next sign of trouble of the same thing."""
    event = scene.event
    if event.kind not in {EventKind.ERROR, EventKind.OBSERVATION} or telemetry.call_id(event):
        return
    if event.kind is not EventKind.ERROR and not speech.reports_problem(event.text):
        return
    for alarm in scene.back(NEAR_REACH):
        bad = alarm.kind is EventKind.ERROR or (alarm.kind in _NEWS and speech.reports_problem(alarm.text))
        names, words = shared_names(alarm, event), shared(alarm, event)
        if bad and (len(words) >= 2 or (names and words)) and alarm.text != event.text:
            yield found(alarm, event, "alarm-alarm", 0.72, f"trouble of {_what(alarm, event)}")
            return


def _about(first: EventNode, second: EventNode) -> bool:
    return bool(shared(first, second) or shared_names(first, second) or values(first) & values(second))


def _what(first: EventNode, second: EventNode) -> str:
    common = shared_names(first, second) | shared(first, second) | (values(first) & values(second))
    return ", ".join(sorted(common)[:4]) or "the same"


def _other_tool(result: EventNode, call: EventNode) -> bool:
    one, other = telemetry.tool(result), telemetry.tool(call)
    return bool(one) and bool(other) and one != other
