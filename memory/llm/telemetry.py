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
    return _FAILED.search(event.text) is not None


def says_retry(event: EventNode) -> bool:
    """Say whether a call says of itself that it is not the first: in an attribute or in its words."""
    for key in _ATTEMPT_KEYS:
        value = event.attributes.get(key)
        if isinstance(value, int) and value > (0 if key.startswith("retry") else 1):
            return True
    return _RETRY.search(event.text) is not None


def _text(attributes: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = attributes.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value):
            return str(value)
    return ""
