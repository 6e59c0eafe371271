"""Causes that the structure of agent telemetry shows: calls, results, failures, retries, decisions, handoffs."""

from collections.abc import Iterator

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found, soon
from memory.llm.words import names_of, shared, shared_names, stems
from memory.names import normal_form
from memory.relations import CausalKind

#: How many events back a decision's reason, a deed's decision or a handoff is looked for.
DECISION_REACH = 8
HANDOFF_REACH = 8
ACTION_REACH = 6
#: Two events with a name in common and no other word belong together within so many microseconds: ten minutes.
NEAR_US = 10 * 60 * 1_000_000

_DEEDS = frozenset({EventKind.TOOL_CALL, EventKind.STATE_CHANGE})
_REPORTS = frozenset({EventKind.ERROR, EventKind.OBSERVATION, EventKind.TOOL_RESULT, EventKind.STATE_CHANGE})


def structural_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give the causes of an event that kinds, ids, tools and agents show."""
    yield from _call_of_result(scene)
    yield from _failure_of_retry(scene)
    yield from _reason_of_decision(scene)
    yield from _decision_of_deed(scene)
    yield from _handoff_to(scene)


def _call_of_result(scene: Scene) -> Iterator[FoundCause]:
    """Tool call → its result or error: by the id they share, else the oldest open call of the same agent and tool."""
    event = scene.event
    if event.kind not in {EventKind.TOOL_RESULT, EventKind.ERROR}:
        return
    ident = telemetry.call_id(event)
    if ident:
        for call in scene.back():
            if call.kind is EventKind.TOOL_CALL and telemetry.call_id(call) == ident:
                yield found(call, event, "call-result", 0.99, f"the result of tool call {ident}")
                return
    if event.kind is EventKind.ERROR and not telemetry.tool(event) and not ident:
        last = scene.before[-1] if scene.before else None
        if last is not None and last.kind is EventKind.TOOL_CALL and last.agent == event.agent and soon(last, event):
            yield found(last, event, "call-result", 0.85, "the call of the same agent right before")
        return
    open_calls: list[EventNode] = []
    for each in scene.before:
        if each.kind is EventKind.TOOL_CALL:
            open_calls.append(each)
        elif each.kind in {EventKind.TOOL_RESULT, EventKind.ERROR}:
            answered = _call_among(open_calls, each)
            if answered is not None:
                open_calls.remove(answered)
    oldest = _call_among(open_calls, event)
    if oldest is not None and not (ident and telemetry.call_id(oldest)):
        yield found(oldest, event, "call-result", 0.9, "the next result of the same agent and tool")


def _call_among(calls: list[EventNode], result: EventNode) -> EventNode | None:
    """Give the open call that a result answers: with its id, else the oldest of the same agent and tool without one."""
    ident = telemetry.call_id(result)
    if ident:
        by_id = [call for call in calls if telemetry.call_id(call) == ident]
        if by_id:
            return by_id[-1]
    fitting = [
        call
        for call in calls
        if call.agent == result.agent
        and _same_tool(call, result)
        and not (telemetry.call_id(call) and ident)
        and (result.kind is EventKind.TOOL_RESULT or telemetry.tool(result))
    ]
    return fitting[0] if fitting else None


def _failure_of_retry(scene: Scene) -> Iterator[FoundCause]:
    """Failure → the same agent's next call that tries the same again."""
    event = scene.event
    if event.kind is not EventKind.TOOL_CALL:
        return
    for at in range(len(scene.before) - 1, -1, -1):
        failure = scene.before[at]
        if failure.agent != event.agent:
            continue
        if _tries_again(scene.before[:at], failure, event):
            between = scene.before[at + 1 :]
            if between and between[-1].kind is EventKind.MESSAGE and between[-1].agent != event.agent:
                return  # the other's word is what it acts on
            if not any(_tries_again(scene.before[:at], failure, each) for each in between):
                tried = telemetry.tool(event) or "the step"
                yield found(failure, event, "error-retry", 0.9, f"{tried} is tried again after its failure")
                return
        if failure.kind is EventKind.TOOL_RESULT and not telemetry.failed(failure) and _same_tool(failure, event):
            return  # it went well meanwhile


def _tries_again(before: tuple[EventNode, ...], failure: EventNode, event: EventNode) -> bool:
    if event.kind is not EventKind.TOOL_CALL or event.agent != failure.agent or not telemetry.failed(failure):
        return False
    name, failed_name = telemetry.tool(event), telemetry.tool(failure)
    if name and failed_name:
        return name == failed_name and (telemetry.says_retry(event) or _same_call(before, failure, event))
    return telemetry.says_retry(event) and bool(stems(event.text) & stems(failure.text))


def _same_call(before: tuple[EventNode, ...], failure: EventNode, retry: EventNode) -> bool:
    """Say whether the retry has most arguments, or without arguments most words, of the call that failed."""
    ident = telemetry.call_id(failure)
    for call in reversed(before):
        same = telemetry.call_id(call) == ident if ident else _same_tool(call, retry)
        if call.kind is EventKind.TOOL_CALL and call.agent == retry.agent and same:
            first, second = telemetry.arguments(call), telemetry.arguments(retry)
            if first and second:
                return sum(1 for key, value in first.items() if second.get(key) == value) * 2 >= len(first)
            one, other = stems(call.text), stems(retry.text)
            return len(one & other) * 2 >= max(1, len(one))
    return False


def _reason_of_decision(scene: Scene) -> Iterator[FoundCause]:
    """Error or finding → the decision, handoff or rollback that speaks of the same."""
    event = scene.event
    decides = event.kind in {EventKind.DECISION, EventKind.HANDOFF}
    remedies = event.kind in _DEEDS and telemetry.remedies(event)
    if not decides and not remedies:
        return
    for distance, report in enumerate(scene.back(DECISION_REACH), start=1):
        bad = report.kind is EventKind.ERROR or telemetry.failed(report)
        if bad and related(report, event):
            yield found(report, event, "error-decision", 0.8, f"a {event.kind} about the error")
            return
        own = report.agent == event.agent and report.kind in _REPORTS and soon(report, event)
        if decides and distance == 1 and (own or (report.kind in _REPORTS and related(report, event, words=1))):
            yield found(report, event, "report-decision", 0.75, f"the {event.kind} follows what was just found")
            return


def _decision_of_deed(scene: Scene) -> Iterator[FoundCause]:
    """Decision → the next deed about it, of the same agent, of one it names, or about what it names."""
    event = scene.event
    if event.kind not in _DEEDS | {EventKind.HANDOFF}:
        return
    for distance, decision in enumerate(scene.back(ACTION_REACH), start=1):
        intends = decision.kind is EventKind.DECISION or (
            decision.kind in {EventKind.MESSAGE, EventKind.NOTE} and telemetry.announces(decision)
        )
        if decision.kind is EventKind.HANDOFF and decision.agent != event.agent:
            return  # the handoff is what the taker acts on
        if not intends:
            continue
        about = related(decision, event)
        own = decision.agent == event.agent and (about or (distance == 1 and decision.kind is EventKind.DECISION))
        named = decision.kind is EventKind.DECISION and speech.names_agent(decision.text, event) and distance <= 3
        others = decision.kind is EventKind.DECISION and (
            (about and bool(shared_names(decision, event))) or (distance == 1 and event.kind is EventKind.TOOL_CALL)
        )
        if own or named or others:
            yield found(decision, event, "decision-action", 0.85, f"{event.agent} carries out the decision")
            return


def _handoff_to(scene: Scene) -> Iterator[FoundCause]:
    """Handoff → the first event about it of each agent that it names; of the first newcomer when it names none."""
    event = scene.event
    taker = normal_form(event.agent)
    for at in range(len(scene.before) - 1, max(-1, len(scene.before) - 1 - HANDOFF_REACH), -1):
        handoff = scene.before[at]
        if normal_form(handoff.agent) == taker:
            return
        if handoff.kind is not EventKind.HANDOFF:
            continue
        to = normal_form(telemetry.receiver(handoff))
        between = scene.before[at + 1 :]
        if to:
            takes = taker == to
        elif speech.hands_to(handoff.text, event):
            takes = related(handoff, event, words=1) or not between
        else:
            known = {normal_form(each.agent) for each in scene.before[: at + 1]}
            anyone = any(speech.hands_to(handoff.text, each) for each in between if each.agent != handoff.agent)
            newcomer = any(normal_form(each.agent) not in known for each in between)
            takes = speech.hands_to_anyone(handoff.text) and taker not in known and not anyone and not newcomer
        if takes:
            yield found(handoff, event, "handoff-taken", 0.85, f"{event.agent} takes over", CausalKind.LEADS_TO)
            return


def related(first: EventNode, second: EventNode, *, words: int = 2) -> bool:
    """Say whether two events speak of one thing: one trace, some words, or a name and a word or nearness in time."""
    if first.trace and first.trace == second.trace:
        return True
    names = names_of(first) & names_of(second)
    others = shared(first, second) - {stem for name in names for stem in stems(name)}
    if names:
        return len(others) >= 1 or second.occurred_us - first.occurred_us <= NEAR_US
    return len(others) >= words


def _same_tool(first: EventNode, second: EventNode) -> bool:
    one, other = telemetry.tool(first), telemetry.tool(second)
    return not one or not other or one == other
