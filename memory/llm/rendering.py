"""A window as the text of a prompt: events are data, fenced, bounded and with short ids."""

from dataclasses import dataclass

from memory.events import EventNode, from_us
from memory.llm.model import Window
from memory.llm.prompts import Prompt
from memory.text import clip_tokens

#: Bounds in tokens of one event's text: a new one, one of its context (magma.md, slow path).
NEW_TOKENS = 400
CONTEXT_TOKENS = 60


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
    lines = [_line(short, event, event.id in window.new) for short, event in zip(ids, window.events, strict=True)]
    user = prompt.user.replace("{ids}", ", ".join(ids)).replace("{log}", "\n".join(lines))
    return Rendered(prompt.system, user, ids, new)


def _line(short: str, event: EventNode, new: bool) -> str:
    """One event on one line: what it says cannot close the fence, as it cannot start a line."""
    at = from_us(event.occurred_us, event.offset_minutes).isoformat(timespec="seconds")
    said = " ".join(clip_tokens(event.text, NEW_TOKENS if new else CONTEXT_TOKENS).split())
    mark = "NEW " if new else ""
    return f"{mark}[{short}] {at} {event.kind} {event.speaker or event.agent}: {said}"
