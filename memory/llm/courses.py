"""What a call asks of a person, which short words take what was said, and the short marks of things.

Every pattern reads a bounded part of a text and takes time linear in it.
"""

import re

from memory.events import EventKind, EventNode
from memory.llm import speech, telemetry

_READ_CHARS = 400
_CALL_CHARS = 60
#: Longest word of thanks or assent behind which the deed still answers what was said before it, in words.
_ASSENT_WORDS = 6

_ADDRESSES = re.compile(
    r"(?:^|[^a-z])(?:page|pager|notify|alert|send|mail|e-?mail|message|ask|invite|contact|inquir\w*|enquir\w*|escalate"
    r"|call|phone|text|post|reply|request|remind|ping|dm|sms|ticket)(?![a-z])",
    re.IGNORECASE,
)
_MARK = re.compile(r"\b[A-Za-z]{1,3}-?\d{1,4}\b")


def addresses(call: EventNode) -> bool:
    """Say whether a tool call puts something to a person: a page, a mail, an inquiry."""
    return _ADDRESSES.search(f"{telemetry.tool(call)} {call.text[:_CALL_CHARS]}".replace("_", " ")) is not None


def marks(event: EventNode) -> frozenset[str]:
    """Give the short marks of things in a text, of letters and digits: c7, T14, n-19."""
    return frozenset(found.casefold() for found in _MARK.findall(event.text[:_READ_CHARS]))


def assents(event: EventNode) -> bool:
    """Say whether an event is a short word that takes what was said, before a deed: "Good catch."."""
    return event.kind is EventKind.MESSAGE and len(event.text.split()) <= _ASSENT_WORDS and not speech.asks(event.text)
