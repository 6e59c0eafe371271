"""A window as the text of a prompt: events are data, fenced, bounded and with short ids.

An event is one line: its speaker and its text are JSON strings, so what it says can neither begin a line, nor end a
string, nor close the fence, whose mark is a digest of what stands in it. Characters that nobody sees are left out:
they would only carry what the reader of a log is not meant to see.
"""

import hashlib
import unicodedata
from dataclasses import dataclass

import orjson

from memory.events import EventNode, from_us
from memory.llm.model import Window
from memory.llm.prompts import Prompt
from memory.text import clip_tokens

#: Bounds in tokens of one event's text: a new one, one of its context (magma.md, slow path).
NEW_TOKENS = 400
CONTEXT_TOKENS = 60
#: Longest text that is looked at, in characters: what is over it cannot be within the bound in tokens.
_MAX_CHARS = 8_000
_JOINERS = "\u200c\u200d"  # part of words in some scripts, and of emoji
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})


@dataclass(frozen=True, slots=True)
class Rendered:
    """The messages of a request, and the stored id behind each short one ("e1")."""

    system: str
    user: str
    ids: dict[str, str]
    new: tuple[str, ...]


def render(window: Window, prompt: Prompt) -> Rendered:
    """Write a window into the prompt's places."""
    ids = {f"e{place}": event.id for place, event in enumerate(window.events, start=1)}
    new = tuple(short for short, stored in ids.items() if stored in window.new)
    log = "\n".join(
        f"[{short}] {'NEW ' if event.id in window.new else ''}{line_of(event, new=event.id in window.new)}"
        for short, event in zip(ids, window.events, strict=True)
    )
    user = prompt.user
    for place, value in (("{mark}", _digest(log)[:12]), ("{ids}", ", ".join(ids)), ("{log}", log)):
        user = user.replace(place, value)  # the log last: what events say about places is not read
    return Rendered(prompt.system, user, ids, new)


def line_of(event: EventNode, *, new: bool) -> str:
    """Give what a model is shown of an event, without its short id."""
    at = from_us(event.occurred_us, event.offset_minutes).isoformat(timespec="seconds")
    text = clip_tokens(visible(event.text[:_MAX_CHARS]), NEW_TOKENS if new else CONTEXT_TOKENS)
    return f"{at} {event.kind} {_quoted(visible(event.speaker or event.agent))} {_quoted(text)}"


def content_key(event: EventNode, model: str, prompt_version: str) -> str:
    """Give the key of a model's reading of an event: what is shown of it, by which prompt, to which model."""
    return _digest("\x00".join((event.id, line_of(event, new=True), model, prompt_version)))[:40]


def visible(text: str) -> str:
    """Give a text on one line, without characters that are not seen."""
    if not text.isascii():
        text = "".join(
            char for char in text if char in _JOINERS or char.isspace() or unicodedata.category(char) not in _INVISIBLE
        )
    return " ".join(text.split()).translate(_CONTROLS)


_CONTROLS = dict.fromkeys((*range(32), 127))


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
