"""Causes in work: a finding and who tells or uses it, an action and the state it leaves, a failure and what follows it.

A finding is used where its own words or values come back: names, numbers and topic words that the later event has from
it. That one event stands behind another shows nothing by itself.
"""

import re
from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.values import values
from memory.llm.words import shared, shared_names, telling
from memory.relations import CausalKind

#: How many events back a finding is used, an action shows in a state, a failure in another, a person's word in a deed.
USED_REACH = 3
STATE_REACH = 4
ALERT_REACH = 6
CURE_REACH = 8
SAID_REACH = 16
#: Topic words that a note and the message that tells it have in common.
_RETOLD_WORDS = 2

_FINDINGS = frozenset({EventKind.TOOL_RESULT, EventKind.ERROR, EventKind.OBSERVATION})
_TELLINGS = frozenset({EventKind.MESSAGE, EventKind.DECISION, EventKind.HANDOFF, EventKind.NOTE})
_SIGNS = frozenset({EventKind.ERROR, EventKind.OBSERVATION, EventKind.STATE_CHANGE})
_ACTIONS = frozenset({EventKind.TOOL_CALL, EventKind.TOOL_RESULT, EventKind.STATE_CHANGE})

_AS_ASKED = re.compile(
    r"\b(?:asked|asks|requested|wants|wanted|told (?:me|us)|insisted|demanded|ordered|said|says|promised"
    r"|decided|suggested|proposed|reported|warned|pointed out)\b",
    re.IGNORECASE,
)
_NEVER_AGAIN = re.compile(
    r"\b(?:so(?: that)? (?:this|that|it) (?:does not|doesn['\u2019]t|never|won['\u2019]t|will not|cannot"
    r"|can['\u2019]t) happens?"
    r"|(?:avoid|prevent|against) (?:this|that|another|a (?:repeat|second)|a next)|(?:don['\u2019]t"
    r"|do not) want (?:this|that|another)|never again|not again|from now on)\b",
    re.IGNORECASE,
)
_THIS = re.compile(
    r"\b(?:this|that|it) (?:does|doesn|never|won|will|can)|\b(?:avoid|prevent|against) (?:this|that)\b", re.IGNORECASE
)


def flow_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give what in the work before this event came out in it."""
    yield from _told(scene)
    yield from _named_speaks(scene)
    yield from _planned(scene)
    yield from _used(scene)
    yield from _ordered_after(scene)
    yield from _state_after_action(scene)
    yield from _sign_after_change(scene)
    yield from _cured(scene)
    yield from _as_asked(scene)
    yield from _guarded(scene)


def _told(scene: Scene) -> Iterator[FoundCause]:
    """Finding → the same agent's next word about it, or another's that has its values."""
    event = scene.event
    if event.kind not in _TELLINGS:
        return
    for distance, finding in enumerate(scene.back(USED_REACH), start=1):
        if distance == 1 and _retold(finding, event):
            yield found(finding, event, "result-told", 0.75, f"the {finding.agent} tells what it noted")
            return
        if finding.kind not in _FINDINGS:
            if speech.voice(finding) == speech.voice(event) and finding.kind is not EventKind.NOTE:
                return
            continue
        about = bool(shared(finding, event) or shared_names(finding, event) or values(finding) & values(event))
        own = finding.agent == event.agent
        at_once = own and distance == 1 and soon(finding, event) and not speech.only_asks(event.text)
        at_once = at_once and (event.kind is not EventKind.NOTE or finding.kind is EventKind.ERROR)
        if (at_once and (finding.kind is not EventKind.OBSERVATION or about)) or (own and about):
            yield found(finding, event, "result-told", 0.8, f"the {finding.agent} speaks of what it found")
            return
        if not own and values(finding) & values(event):
            yield found(finding, event, "result-told", 0.8, "speaks of what was found")
            return


def _retold(note: EventNode, event: EventNode) -> bool:
    own = note.kind is EventKind.NOTE and event.kind is EventKind.MESSAGE and note.agent == event.agent
    return own and soon(note, event) and len(shared(note, event)) >= _RETOLD_WORDS


def _named_speaks(scene: Scene) -> Iterator[FoundCause]:
    """Finding about an agent → what that agent says to it at once."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE or not scene.before:
        return
    last = scene.before[-1]
    seen = last.kind in {EventKind.OBSERVATION, EventKind.ERROR} and last.agent != event.agent and soon(last, event)
    if seen and speech.names_agent(last.text, event):
        yield found(last, event, "named-speaks", 0.75, f"{event.agent} speaks of what was seen of it")


def _used(scene: Scene) -> Iterator[FoundCause]:
    """Result, or an utterance → the next call with a value or topic of it that is new."""
    event = scene.event
    if event.kind is not EventKind.TOOL_CALL:
        return
    for distance, source in enumerate(scene.back(USED_REACH), start=1):
        if source.kind is EventKind.TOOL_CALL:
            continue
        got = values(source) & values(event)
        words = shared(source, event)
        if source.kind in {EventKind.TOOL_RESULT, EventKind.OBSERVATION} and source.agent == event.agent:
            if telemetry.failed(source):
                return
            used = (got | words) if distance == 1 else got
            if _brought(scene, source, used) or (distance == 1 and used and _other_tool(source, event)):
                yield found(source, event, "result-used", 0.8, f"uses {', '.join(sorted(used)[:4])}")
                return
            continue
        if source.kind in {EventKind.MESSAGE, EventKind.NOTE} and (got or (distance == 1 and len(words) >= 2)):
            yield found(source, event, "result-used", 0.75, f"uses {', '.join(sorted(got or words)[:4])}")
            return


def _brought(scene: Scene, source: EventNode, used: frozenset[str]) -> bool:
    """Say whether something used stood in no event before the source: it is the source that brought it."""
    fresh = set(used)
    for each in scene.before:
        if each.id == source.id or not fresh:
            break
        fresh -= values(each) | telling(each.text[:2_000])
    return bool(fresh)


def _other_tool(result: EventNode, call: EventNode) -> bool:
    one, other = telemetry.tool(result), telemetry.tool(call)
    return bool(one) and bool(other) and one != other


def _planned(scene: Scene) -> Iterator[FoundCause]:
    """Note of a plan → the same agent's call about the same thing at once."""
    event = scene.event
    if event.kind is not EventKind.TOOL_CALL or not scene.before:
        return
    plan = scene.before[-1]
    if plan.kind is EventKind.NOTE and plan.agent == event.agent:
        about = shared(plan, event) | shared_names(plan, event)
        if len(about) >= 2:
            yield found(plan, event, "plan-call", 0.75, f"about {', '.join(sorted(about)[:4])}")


def _ordered_after(scene: Scene) -> Iterator[FoundCause]:
    """Failure of an agent → what it is told to do at once."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE or not scene.before or not speech.requests(event.text):
        return
    last = scene.before[-1]
    bad = last.kind is EventKind.ERROR or telemetry.failed(last)
    if bad and last.agent != event.agent and speech.names_agent(event.text, last):
        yield found(last, event, "failure-order", 0.8, f"{last.agent} failed and is told what to do")


def _state_after_action(scene: Scene) -> Iterator[FoundCause]:
    """Action → the state that the same agent then reports of the same thing."""
    event = scene.event
    if event.kind is not EventKind.STATE_CHANGE:
        return
    given = 0
    for action in scene.back(STATE_REACH):
        if action.agent != event.agent or action.kind not in {EventKind.TOOL_CALL, EventKind.TOOL_RESULT}:
            continue
        if not soon(action, event):
            return
        if telemetry.failed(action):
            return
        about = shared(action, event) | shared_names(action, event)
        if shared_names(action, event) or len(about) >= 2:
            yield found(action, event, "action-state", 0.8, f"about {', '.join(sorted(about)[:4])}")
            given += 1
        if given == 2:
            return


def _sign_after_change(scene: Scene) -> Iterator[FoundCause]:
    """Change → the next error or alarm about the same thing; a breakdown → the same agent's next reading."""
    event = scene.event
    if event.kind not in {EventKind.ERROR, EventKind.OBSERVATION}:
        return
    alarm = event.kind is EventKind.ERROR or speech.reports_problem(event.text)
    for distance, change in enumerate(scene.back(ALERT_REACH), start=1):
        if change.kind is not EventKind.STATE_CHANGE or telemetry.recovered(change):
            continue
        names = shared_names(change, event)
        about = shared(change, event) | names
        if alarm and names and len(about) >= 2 and not telemetry.recovered(event):
            yield found(change, event, "change-alarm", 0.75, f"about {', '.join(sorted(about)[:4])}")
            return
        if distance == 1 and change.agent == event.agent and speech.reports_problem(change.text):
            yield found(change, event, "change-alarm", 0.72, "read at once after it broke down")
            return


def _cured(scene: Scene) -> Iterator[FoundCause]:
    """Remedy → the report that the same thing is well again."""
    event = scene.event
    if event.kind not in _SIGNS or not telemetry.recovered(event) or telemetry.failed(event):
        return
    for remedy in scene.back(CURE_REACH):
        if remedy.kind not in _ACTIONS or not telemetry.remedies(remedy) or telemetry.failed(remedy):
            continue
        names = shared_names(remedy, event)
        others = shared(remedy, event) - {stem for name in names for stem in telling(name)}
        if names or len(others) >= 2:
            yield found(remedy, event, "remedy-recovery", 0.75, f"about {', '.join(sorted(names | others)[:4])}")
            return


def _as_asked(scene: Scene) -> Iterator[FoundCause]:
    """What someone said → the event that names them and what they said ("Tomás asked for the column")."""
    event = scene.event
    if event.kind is EventKind.TOOL_CALL or not _AS_ASKED.search(event.text[:2_000]):
        return
    for said in scene.back(SAID_REACH):
        if said.kind not in {EventKind.MESSAGE, EventKind.DECISION} or speech.voice(said) == speech.voice(event):
            continue
        if speech.names_agent(event.text, said) and _says(event.text, said) and shared(said, event):
            yield found(said, event, "as-asked", 0.8, f"{said.speaker or said.agent} said so")
            return


def _says(text: str, said: EventNode) -> bool:
    return any(
        _AS_ASKED.search(sentence) and speech.names_agent(sentence, said) for sentence in speech.sentences_of(text)
    )


def _guarded(scene: Scene) -> Iterator[FoundCause]:
    """Mishap → the measure "so that it does not happen again": the mishap with its words, else the last one told."""
    event = scene.event
    if event.kind is EventKind.TOOL_CALL or not _NEVER_AGAIN.search(event.text[:2_000]):
        return
    mishaps = [
        each
        for each in scene.back()
        if speech.reports_problem(each.text) and not speech.asks(each.text) and each.kind is not EventKind.TOOL_CALL
    ]
    about = [each for each in mishaps if shared(each, event) or shared_names(each, event)]
    if about or (mishaps and _THIS.search(event.text[:2_000]) and mishaps[0] in scene.before[-ALERT_REACH:]):
        mishap = about[0] if about else mishaps[0]
        yield found(mishap, event, "never-again", 0.75, "a measure against it", CausalKind.LEADS_TO)
