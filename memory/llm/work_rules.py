"""Causes in the work of several agents: an order and its result, a result and who reads it, a plan and its steps.

Logs of agents in a group are long and repeat themselves. So each rule wants more than a place in the order: who gave
the order, that it was given, a value that the source brought in, or several topic words in common.
"""

import re
from collections.abc import Iterator
from itertools import islice

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry
from memory.llm.model import FoundCause
from memory.llm.scene import Scene, found
from memory.llm.values import values
from memory.llm.words import shared, telling

#: How many events back a code's output, an order, a plan or an agreement is looked for.
CODE_REACH = 3
ORDER_REACH = 4
PLAN_REACH = 3
AGREEMENT_REACH = 4
#: Topic words that a plan and its step have in common, and a task and the first work on it.
STEP_WORDS = 3
TASK_WORDS = 4
#: Most sources that one event's values are traced to.
MOST_SOURCES = 2

_RESULTS = frozenset({EventKind.TOOL_RESULT, EventKind.ERROR, EventKind.OBSERVATION})
_WORDS = frozenset({EventKind.MESSAGE, EventKind.NOTE, EventKind.DECISION, EventKind.HANDOFF})

_CODE = re.compile(r"^[ \t]*```[ \t]*\w", re.MULTILINE)
_OUTPUT = re.compile(r"^\W*(?:exit ?code|exit status|code output|output|stdout|stderr|traceback)\b", re.IGNORECASE)
_ABOUT_OUTPUT = re.compile(
    r"\b(?:outputs?|results?|script|code|errors?|execution|executed|traceback|exception|returned|printed)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:step(?:s|-by-step)?|plan|next|let['\u2019]s|we (?:need|will|can|should)|i (?:will|need)|proceed)\b"
    r"|^\s*(?:1\.|- )",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSES = re.compile(
    r"\bTERMINATE\b|\b(?:conclude|finali[sz]e|wrap up|no (?:further |other )?objections?)\b", re.IGNORECASE
)
_PROPOSES = re.compile(
    r"\bTERMINATE\b|\b(?:terminate|conclud(?:e|es|ing)|finali[sz]e|agree(?:s|ment)?|objections?|confirm"
    r"|verified|correct)\b",
    re.IGNORECASE,
)
#: The end of a run as runners of agents write it.
_OVER = re.compile(
    r"\bFINAL ANSWER\b|^\W*(?:(?:the )?request (?:is |was )?satisfied|no agent selected"
    r"|task (?:is )?(?:complete|done|finished))"
    r"|\bmax(?:imum)? (?:number of )?(?:rounds|turns|steps|iterations|messages) (?:was |were )?(?:reached|exceeded)",
    re.IGNORECASE,
)
#: A planner that begins again, whole or as the head of a new plan.
_PLAN_ANEW = re.compile(
    r"^\W*(?:stalled|re-?planning|(?:new|revised|updated|changed) plan\b|re-?plan counter"
    r"|starting over)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.-])\d{2,12}(?![\w.]*\w)")
#: An output of at most so many characters is short; a text of at most so many words says nothing.
_SHORT_CHARS = 200
_EMPTY_WORDS = 2
#: Longest beginning of a step that is compared with a plan, and how much of the plan is read, in characters.
_PASSED_CHARS = 80
_READ_CHARS = 30_000
#: How much of a long text is read at either end for these patterns, in characters.
_END_CHARS = 1_500


def work_causes(scene: Scene) -> Iterator[FoundCause]:
    """Give what in the common work before this event made it."""
    yield from _output_of_code(scene)
    yield from _result_of_order(scene)
    yield from _result_read(scene)
    yield from _work_on_task(scene)
    yield from _step_of_plan(scene)
    yield from _ended(scene)
    yield from _replanned(scene)
    yield from _idle(scene)
    yield from _agreed(scene)
    yield from _value_used(scene)


def _output_of_code(scene: Scene) -> Iterator[FoundCause]:
    """Code in a message → the output that another agent reports of it."""
    event = scene.event
    if event.kind not in _RESULTS or telemetry.call_id(event) or not _OUTPUT.match(event.text[:_END_CHARS]):
        return
    for source in scene.back(CODE_REACH):
        if source.kind in _RESULTS and _OUTPUT.match(source.text[:_END_CHARS]):
            return  # what came before has its output
        if source.agent != event.agent and _CODE.search(source.text[:20_000]):
            yield found(source, event, "code-output", 0.95, f"{event.agent} ran its code")
            return


def _result_of_order(scene: Scene) -> Iterator[FoundCause]:
    """Order without a name → what the next agent comes back with; the one that orders may only add to it meanwhile."""
    event = scene.event
    if event.kind not in _RESULTS | {EventKind.MESSAGE}:
        return
    for order in scene.back(ORDER_REACH):
        if order.agent == event.agent:
            return
        if order.kind is EventKind.HANDOFF:
            ordered = event.kind in _RESULTS or speech.requests(order.text) or speech.asks(order.text)
            if ordered and not telemetry.receiver(order) and _only_by(scene, order, event):
                yield found(order, event, "order-result", 0.85, f"{event.agent} does what {order.agent} ordered")
            return
        if order.kind is not EventKind.NOTE:
            return


def _only_by(scene: Scene, order: EventNode, event: EventNode) -> bool:
    """Say whether an order names nobody, or the event's agent, among those who are in the scene."""
    others = [each for each in (*scene.before, event) if each.agent != order.agent]
    named = [each.agent for each in others if speech.names_agent(order.text, each)]
    return not named or event.agent in named


def _result_read(scene: Scene) -> Iterator[FoundCause]:
    """Result → the next word of the one who ordered it, or of one who speaks of it."""
    event = scene.event
    if event.kind not in _WORDS or not scene.before:
        return
    result = scene.before[-1]
    if result.agent == event.agent or telemetry.is_idle(result):
        return
    ordered = next((each for each in islice(scene.back(ORDER_REACH + 1), 1, None) if each.agent != result.agent), None)
    mine = ordered is not None and ordered.agent == event.agent
    if result.kind not in _RESULTS | {EventKind.MESSAGE}:
        return
    if (mine and ordered is not None and (ordered.kind is EventKind.HANDOFF or _ran(ordered, result))) or (
        mine and any(each.kind is EventKind.HANDOFF and each.agent == event.agent for each in scene.back(ORDER_REACH))
    ):
        yield found(result, event, "result-read", 0.85, f"{event.agent} reads what it asked for")
    elif result.kind in _RESULTS and _OUTPUT.match(result.text[:_END_CHARS]):
        about = values(result) & values(event) or shared(result, event) or _ABOUT_OUTPUT.search(event.text[:_END_CHARS])
        if (about or _short_output(result) & _numbers(event.text)) and not _CLOSES.match(event.text.strip()):
            yield found(result, event, "result-read", 0.8, "speaks of the output")


def _ran(ordered: EventNode, result: EventNode) -> bool:
    return result.kind in _RESULTS and _CODE.search(ordered.text[:20_000]) is not None


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text[:_END_CHARS].replace(",", "")))


def _short_output(result: EventNode) -> frozenset[str]:
    """Give the numbers of an output of a few words: there, even a small one is what it says."""
    return _numbers(result.text) if len(result.text) <= _SHORT_CHARS else frozenset()


def _work_on_task(scene: Scene) -> Iterator[FoundCause]:
    """Task → the first word of another on it."""
    event = scene.event
    if event.kind not in _WORDS:
        return
    for distance, task in enumerate(scene.back(PLAN_REACH), start=1):
        if task.agent == event.agent:
            return
        if task.kind is EventKind.MESSAGE and (speech.requests(task.text) or speech.asks(task.text)):
            words = shared(task, event)
            if len(words) >= TASK_WORDS or (
                distance == 1 and event.kind is EventKind.NOTE and len(words) >= STEP_WORDS
            ):
                yield found(task, event, "task-work", 0.8, f"works on {', '.join(sorted(words)[:4])}")
            return
        if not telemetry.is_idle(task):
            return


def _step_of_plan(scene: Scene) -> Iterator[FoundCause]:
    """Plan, or a note of what is open → the same agent's next step on it."""
    event = scene.event
    if event.kind not in _WORDS:
        return
    for plan in scene.back(PLAN_REACH):
        if plan.agent != event.agent:
            if telemetry.is_idle(plan):
                continue
            return
        if plan.kind not in _WORDS or plan.kind is EventKind.HANDOFF:
            continue
        if _passed_on(plan.text, event.text):
            yield found(plan, event, "plan-step", 0.9, "passes on its very words")
            return
        if not _PLAN.search(plan.text[:_END_CHARS]) and not _PLAN.search(plan.text[-_END_CHARS:]):
            continue
        words = shared(plan, event) | (telling(plan.text[-_END_CHARS:]) & telling(event.text[:_END_CHARS]))
        if len(words) >= STEP_WORDS:
            yield found(plan, event, "plan-step", 0.8, f"goes on with {', '.join(sorted(words)[:4])}")
            return


def _passed_on(plan: str, step: str) -> bool:
    """Say whether a step begins with words that the plan has, too many to be chance."""
    words = " ".join(step[:_PASSED_CHARS].split())
    return len(words) >= _PASSED_CHARS // 2 and words in " ".join(plan[:_READ_CHARS].split())


def _ended(scene: Scene) -> Iterator[FoundCause]:
    """Last thing that was said or found → the word that the run is over."""
    event = scene.event
    if event.kind not in _WORDS or not _OVER.search(event.text[:_END_CHARS] + event.text[-_END_CHARS:]):
        return
    if not scene.before or _PLAN_ANEW.match(event.text):
        return
    for last in scene.back(ORDER_REACH):
        if last.kind in _WORDS | _RESULTS and not telemetry.is_idle(last):
            yield found(last, event, "run-ended", 0.75, "what the run ended with")
            return


def _replanned(scene: Scene) -> Iterator[FoundCause]:
    """What the planner noted last → the word that it plans anew."""
    event = scene.event
    if event.kind not in _WORDS or not _PLAN_ANEW.match(event.text):
        return
    for last in scene.back(PLAN_REACH):
        if last.agent == event.agent and last.kind in _WORDS:
            yield found(last, event, "planned-anew", 0.8, f"{event.agent} plans anew after it")
            return


def _idle(scene: Scene) -> Iterator[FoundCause]:
    """Word that gave nothing to do → the one that says so."""
    event = scene.event
    if not telemetry.is_idle(event) or not scene.before:
        return
    last = scene.before[-1]
    if last.kind is EventKind.MESSAGE and last.agent != event.agent:
        yield found(last, event, "nothing-to-do", 0.75, f"{event.agent} was given nothing to do by it")


def _agreed(scene: Scene) -> Iterator[FoundCause]:
    """Proposal to end → the word that ends."""
    event = scene.event
    if event.kind is not EventKind.MESSAGE or not _CLOSES.search(event.text[-_END_CHARS:]):
        return
    short = len(event.text.split()) <= 40
    for proposal in scene.back(AGREEMENT_REACH):
        if proposal.kind is EventKind.MESSAGE and _PROPOSES.search(proposal.text[-_END_CHARS:]):
            if short:
                yield found(proposal, event, "agreed-to-end", 0.8, "ends what was proposed to end")
            return
        if not telemetry.is_idle(proposal) and len(proposal.text.split()) > _EMPTY_WORDS:
            return


def _value_used(scene: Scene) -> Iterator[FoundCause]:
    """Event that brought a value in → the word that has it again, further on."""
    event = scene.event
    if event.kind not in _WORDS:
        return
    used = {value for value in values(event) if any(char.isdigit() for char in value) and not _named(value)}
    given = 0
    for source in scene.before[1:]:
        if not used or given == MOST_SOURCES:
            return
        got = used & values(source)
        if not got:
            continue
        used -= got
        if any(got <= values(each) for each in scene.before if each.order < source.order):
            continue
        if source.kind in _RESULTS | {EventKind.MESSAGE} and source.agent != event.agent:
            yield found(source, event, "value-used", 0.75, f"has {', '.join(sorted(got)[:3])} from it")
            given += 1


def _named(value: str) -> bool:
    """Say whether a value is rather a name: an id with letters comes up wherever its thing does."""
    return any(char.isalpha() for char in value)
