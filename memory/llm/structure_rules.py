"""Causes that the structure of agent telemetry shows without reading the words: precise first, few rather than wrong.

A reply in a dialogue is not caused by what it answers; no rule here joins two messages.
"""

from collections.abc import Iterator, Sequence

from memory.events import EventKind, EventNode
from memory.llm import telemetry
from memory.llm.model import FoundCause
from memory.llm.words import names_of, stems
from memory.names import normal_form
from memory.relations import CausalKind

#: How many events ahead in the session a retry, a decision or the taker of a handoff is looked for.
RETRY_REACH = 12
DECISION_REACH = 8
HANDOFF_REACH = 8
ACTION_REACH = 4
#: Two events with a name in common and no other word belong together within so many microseconds: ten minutes.
NEAR_US = 10 * 60 * 1_000_000
#: A call without an id of its own takes the next result of its agent and tool within so many events.
RESULT_REACH = 12


def structural_causes(events: Sequence[EventNode]) -> Iterator[FoundCause]:
    """Give the causes among events that stand in the order of their chain."""
    yield from _call_results(events)
    yield from _retries(events)
    yield from _decisions(events)
    yield from _handoffs(events)


def _call_results(events: Sequence[EventNode]) -> Iterator[FoundCause]:
    """Tool call → its result (or its error): by the id they share, else the next one of the same agent and tool."""
    open_by_id: dict[str, EventNode] = {}
    open_calls: list[tuple[int, EventNode]] = []
    for place, event in enumerate(events):
        ident = telemetry.call_id(event)
        if event.kind is EventKind.TOOL_CALL:
            if ident:
                open_by_id[ident] = event
            else:
                open_calls.append((place, event))
        elif event.kind in {EventKind.TOOL_RESULT, EventKind.ERROR}:
            if ident:
                call = open_by_id.get(ident)
                if call is not None:
                    yield _found(call, event, 0.99, "call-result", f"the result of tool call {ident}")
            elif event.kind is EventKind.TOOL_RESULT or telemetry.tool(event):
                fitting = [
                    (at, call)
                    for at, call in open_calls
                    if place - at <= RESULT_REACH and call.agent == event.agent and _same_tool(call, event)
                ]
                if fitting:
                    at, call = fitting[0]
                    open_calls.remove((at, call))
                    yield _found(call, event, 0.9, "call-result", "the next result of the same agent and tool")


def _retries(events: Sequence[EventNode]) -> Iterator[FoundCause]:
    """Failure → the same agent's next call that tries the same again."""
    for place, failure in enumerate(events):
        if not telemetry.failed(failure):
            continue
        for event in events[place + 1 : place + 1 + RETRY_REACH]:
            if event.kind is not EventKind.TOOL_CALL or event.agent != failure.agent:
                continue
            name, failed_name = telemetry.tool(event), telemetry.tool(failure)
            if name and failed_name:
                if name != failed_name:
                    continue
                again = telemetry.says_retry(event) or _same_arguments(events[:place], failure, event)
            else:
                again = telemetry.says_retry(event) and bool(stems(event.text) & stems(failure.text))
            if again:
                yield _found(
                    failure, event, 0.9, "error-retry", f"{name or 'the step'} is tried again after its failure"
                )
                break


def _same_arguments(before: Sequence[EventNode], failure: EventNode, retry: EventNode) -> bool:
    """Say whether the retry has most arguments of the call that failed."""
    ident = telemetry.call_id(failure)
    for call in reversed(before):
        same = telemetry.call_id(call) == ident if ident else _same_tool(call, retry)
        if call.kind is EventKind.TOOL_CALL and call.agent == retry.agent and same:
            first, second = telemetry.arguments(call), telemetry.arguments(retry)
            shared = sum(1 for key, value in first.items() if second.get(key) == value)
            return bool(first) and shared * 2 >= len(first)
    return False


def _decisions(events: Sequence[EventNode]) -> Iterator[FoundCause]:
    """Error → the next decision or handoff that speaks of the same; decision → the same agent's next deed about it."""
    for place, event in enumerate(events):
        if event.kind is EventKind.ERROR:
            for later in events[place + 1 : place + 1 + DECISION_REACH]:
                if later.kind in {EventKind.DECISION, EventKind.HANDOFF} and _related(event, later):
                    yield _found(event, later, 0.8, "error-decision", f"a {later.kind} about the error")
                    break
        elif event.kind is EventKind.DECISION:
            for later in events[place + 1 : place + 1 + ACTION_REACH]:
                deed = later.kind in {EventKind.TOOL_CALL, EventKind.STATE_CHANGE}
                if deed and later.agent == event.agent and _related(event, later):
                    yield _found(event, later, 0.85, "decision-action", f"the {later.agent} acts on its decision")
                    break


def _handoffs(events: Sequence[EventNode]) -> Iterator[FoundCause]:
    """Handoff → the first event about it of each agent that it names."""
    for place, event in enumerate(events):
        if event.kind is not EventKind.HANDOFF:
            continue
        named, said = normal_form(telemetry.receiver(event)), f" {normal_form(event.text)} "
        taken: set[str] = {normal_form(event.agent), ""}
        for later in events[place + 1 : place + 1 + HANDOFF_REACH]:
            taker = normal_form(later.agent)
            if taker in taken or not (taker == named or (not named and f" {taker} " in said)):
                continue
            taken.add(taker)
            if taker == named or _related(event, later, words=1):
                yield FoundCause(
                    event.id, later.id, CausalKind.ENABLES, 0.85, f"{later.agent} takes over", "handoff-taken"
                )


def _related(first: EventNode, second: EventNode, *, words: int = 2) -> bool:
    """Say whether two events speak of one thing: one trace, some words, or a name and a word or nearness in time."""
    if first.trace and first.trace == second.trace:
        return True
    shared, names = stems(first.text) & stems(second.text), names_of(first) & names_of(second)
    others = shared - {stem for name in names for stem in stems(name)}
    if names:
        return len(others) >= 1 or second.occurred_us - first.occurred_us <= NEAR_US
    return len(others) >= words


def _same_tool(first: EventNode, second: EventNode) -> bool:
    one, other = telemetry.tool(first), telemetry.tool(second)
    return not one or not other or one == other


def _found(cause: EventNode, effect: EventNode, confidence: float, rule: str, why: str) -> FoundCause:
    return FoundCause(cause.id, effect.id, CausalKind.LEADS_TO, confidence, why, rule)
