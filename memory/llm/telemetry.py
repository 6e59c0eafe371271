"""What an event of agent telemetry says in its attributes, whatever the producer calls them."""

import re
from collections.abc import Mapping
from typing import Any

from memory.events import EventKind, EventNode

_CALL_KEYS = ("tool_call_id", "call_id", "call", "gen_ai.tool.call.id")
_TOOL_KEYS = ("tool", "tool_name", "gen_ai.tool.name", "function")
_ARGUMENT_KEYS = ("arguments", "args", "input", "gen_ai.tool.call.arguments")
_STATUS_KEYS = ("status", "outcome", "result", "otel.status_code")
_TO_KEYS = ("to", "to_agent", "target", "target_agent", "handoff_to", "gen_ai.agent.target")
_ATTEMPT_KEYS = ("attempt", "retry", "retry_count", "attempts")
_BAD = frozenset({"error", "failed", "failure", "fail", "timeout", "timed_out", "exception", "denied"})
_FAILED = re.compile(
    r"\b(?:fail(?:ed|ure|s)|error|exception|traceback|timed out|timeout|refused|denied|crashed)\b", re.I
)
_RETRY = re.compile(
    r"\b(?:retry(?:ing)?|retried|again|once more|re-?run(?:ning)?|second attempt|another (?:try|attempt|go)"
    r"|(?:attempt|try) (?:[2-9]|two|three|no\. ?[2-9]))\b",
    re.I,
)
_REMEDY = re.compile(
    r"\b(?:roll(?:ing|ed|s)?[ -]?back|rollback|revert(?:ed|ing|s)?|restart(?:ed|ing|s)?|reboot(?:ed|ing)?"
    r"|fail(?:ed|ing)?[ -]?over|restor(?:e|ed|ing)"
    r"|disabl(?:e|ed|ing)|kill(?:ed|ing)?|drain(?:ed|ing)?|purg(?:e|ed|ing)|scal(?:e|ed|ing) (?:up|out|down)"
    r"|free(?:d|ing)?|delet(?:e|ed|ing)|clean(?:ed|ing)?"
    r"|replac(?:e|ed|ing)|reset(?:ting)?|hotfix|patch(?:ed|ing)?|switch(?:ed|ing)? (?:to|over|off)|fallback"
    r"|quarantin(?:e|ed|ing)|isolat(?:e|ed|ing)"
    r"|stopp(?:ed|ing)|paus(?:e|ed|ing)|throttl(?:e|ed|ing)|block(?:ed|ing)|cancel(?:l?ed|l?ing)?|evict(?:ed"
    r"|ing)?|rotat(?:e|ed|ing)|renew(?:ed|ing)?)\b",
    re.I,
)
_RECOVERED = re.compile(
    r"\b(?:recover(?:ed|s)?|restored|back (?:up|to|under|at|online|in|again)|(?:is|are|came|comes) back|healthy"
    r"|green|resolved|cleared|normal(?: again)?|works? again|no longer|again under"
    r"|(?:fell|falls?|drop(?:s|ped)|down|returned|returns) (?:back )?(?:from|to)|reachable|stable|closed|empty"
    r"|shrinks?|gone|done|passes|passed)\b",
    re.I,
)
_ANNOUNCES = re.compile(
    r"\b(?:i(?:['\u2019]ll| will| am going to|['\u2019]m going to)|we(?:['\u2019]ll| will| are going to)|let me"
    r"|going to|let['\u2019]s|will now|plan(?:ning)? to|about to|next,? (?:i|we))\b",
    re.I,
)
_IDLE = re.compile(
    r"\b(?:there (?:is|was) no (?:code|input|work|task|message|request)|nothing to (?:do|run|execute|report)"
    r"|no code (?:to|was))\b",
    re.I,
)
_IDLE_CHARS = 200
#: How much of a text is read for these words, in characters.
_READ_CHARS = 2_000


def call_id(event: EventNode) -> str:
    """Give the id that a call and its result share, "" when there is none."""
    return _text(event.attributes, _CALL_KEYS)


def tool(event: EventNode) -> str:
    """Give the name of the tool, "" when it is not said."""
    return _text(event.attributes, _TOOL_KEYS)


def arguments(event: EventNode) -> Mapping[str, Any]:
    """Give the arguments of a call when they are an object."""
    for key in _ARGUMENT_KEYS:
        value = event.attributes.get(key)
        if isinstance(value, dict):
            return value
    return {}


def receiver(event: EventNode) -> str:
    """Give the agent that a handoff names, "" when it names none."""
    return _text(event.attributes, _TO_KEYS)


def failed(event: EventNode) -> bool:
    """Say whether the event reports a failure: an error, or a result with a bad status (without one: bad words)."""
    if event.kind is EventKind.ERROR:
        return True
    if event.kind is not EventKind.TOOL_RESULT:
        return False
    if event.attributes.get("error") or event.attributes.get("is_error") is True:
        return True
    status = _text(event.attributes, _STATUS_KEYS).lower()
    if status:
        return status in _BAD
    return _FAILED.search(event.text[:_READ_CHARS]) is not None


def says_retry(event: EventNode) -> bool:
    """Say whether a call says of itself that it is not the first: in an attribute or in its words."""
    for key in _ATTEMPT_KEYS:
        value = event.attributes.get(key)
        if isinstance(value, int) and value > (0 if key.startswith("retry") else 1):
            return True
    return _RETRY.search(event.text[:_READ_CHARS]) is not None


def remedies(event: EventNode) -> bool:
    """Say whether an event tells of a deed that mends or undoes something: a rollback, a restart, a replacement."""
    return _REMEDY.search(event.text[:_READ_CHARS]) is not None


def recovered(event: EventNode) -> bool:
    """Say whether an event reports that something is well again."""
    return _RECOVERED.search(event.text[:_READ_CHARS]) is not None


def announces(event: EventNode) -> bool:
    """Say whether an event says what its agent will do."""
    return _ANNOUNCES.search(event.text[:_READ_CHARS]) is not None


def is_idle(event: EventNode) -> bool:
    """Say whether an event only says that there was nothing to do."""
    return _IDLE.search(event.text[:_IDLE_CHARS]) is not None


def _text(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            return str(value)
    return ""
