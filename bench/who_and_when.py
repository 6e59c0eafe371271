"""Who&When (ag2ai/Agents_Failure_Attribution, MIT): failure logs of multi-agent systems with their decisive mistakes.

Public format: a list of logs with `question`, `history` (steps with `content`, `role`, and `name` in the generated
half), `mistake_agent`, `mistake_step` (from 0), `mistake_reason`, `ground_truth`, `file`. What is remembered of a log
is its history and nothing else: the decisive step is a label, never an input.

A log is a session and a tenant of its own, a step is an event. The file has no times: steps are a second apart from a
fixed start. Kinds follow from who speaks and how, as an instrumented framework would send them:

- generated logs: `name` is the agent; the terminal's steps are tool results, errors when its exit status is not 0;
- hand-crafted logs: `role` is the agent. `Orchestrator (thought)` and `(termination condition)` are its notes,
  `Orchestrator (-> X)` hands over to X; `human` asks; a surfer's or the terminal's step is a tool result.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from memory.errors import UnreadableInput
from memory.events import MAX_TEXT_BYTES, AgentEvent, EventKind

SOURCE = "who-and-when"
#: When every log begins; a step takes a second.
START = datetime(2025, 1, 1, tzinfo=UTC)
#: What is asked before the log's own question.
WHY = "Why did the task fail?"

_NEEDED = ("question", "history", "mistake_step", "file")
_ROLE = re.compile(r"(?P<agent>[^(]+?)\s*\((?P<aside>.+)\)\s*")
_EXIT = re.compile(r"exitcode: (?P<status>-?\d+)")
_TOOLS = frozenset({"computer_terminal", "computerterminal", "websurfer", "filesurfer"})
_ROLES_WITHOUT_NAME = frozenset({"user", "assistant", "system", "tool", "function"})
_SILENT = "(no text)"


@dataclass(frozen=True, slots=True)
class FailureLog:
    """A log. `decisive`: number of the step of the decisive mistake, from 0; `steps`: those that there are."""

    id: str
    task: str
    decisive: int
    steps: tuple[AgentEvent, ...]

    @property
    def question(self) -> str:
        """What is asked of the memory: why the task failed, and the task in the log's own words."""
        return f"{WHY} {self.task}"


def step_id(number: int) -> str:
    """Give the producer's id of a step."""
    return f"step-{number:03d}"


def read_logs(path: Path) -> list[FailureLog]:
    """Read the logs of a file; raises `UnreadableInput` when it is not Who&When."""
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise UnreadableInput(f"{path}: not a JSON document: {error.msg}") from error
    if not isinstance(document, list) or not document:
        raise UnreadableInput(f"{path}: Who&When is a list of failure logs, and this is not")
    return [_log(path, place, item) for place, item in enumerate(document)]


def _log(path: Path, place: int, item: object) -> FailureLog:
    missing = [name for name in _NEEDED if not isinstance(item, dict) or name not in item]
    if missing or not isinstance(item, dict):
        raise UnreadableInput(f"{path}: log {place} lacks {', '.join(missing)}")
    ident = re.sub(r"[^A-Za-z0-9]+", "-", str(item["file"]).removesuffix(".json")).strip("-").lower()
    history = item["history"]
    try:
        decisive = int(item["mistake_step"])
    except ValueError as error:
        raise UnreadableInput(f"{path}: log {place}: mistake_step is not a number") from error
    if not isinstance(history, list) or not 0 <= decisive < len(history):
        raise UnreadableInput(f"{path}: log {place}: step {decisive} is not in its history")
    return FailureLog(ident, str(item["question"]).strip(), decisive, steps_of(ident, history))


def steps_of(ident: str, history: Sequence[dict[str, Any]]) -> tuple[AgentEvent, ...]:
    """Give the events of a history."""
    return tuple(_step(ident, number, step) for number, step in enumerate(history))


def _step(ident: str, number: int, step: dict[str, Any]) -> AgentEvent:
    text = _bounded(str(step.get("content") or ""))
    agent, kind = _who(step, text)
    return AgentEvent(
        id=step_id(number),
        source=SOURCE,
        tenant=ident,
        agent=agent,
        session=ident,
        kind=kind,
        text=text,
        occurred_at=START + timedelta(seconds=number),
        sequence=number,
    )


def _who(step: dict[str, Any], text: str) -> tuple[str, EventKind]:
    role = str(step.get("role") or "agent").strip()
    agent = str(step.get("name") or ("agent" if role in _ROLES_WITHOUT_NAME else role))
    aside = _ROLE.fullmatch(agent)
    if aside is not None:
        handed = aside["aside"].startswith("->")
        return aside["agent"], EventKind.HANDOFF if handed else EventKind.NOTE
    if agent.casefold() in _TOOLS:
        left = _EXIT.match(text)
        return agent, EventKind.ERROR if left is not None and left["status"] != "0" else EventKind.TOOL_RESULT
    return agent, EventKind.MESSAGE


def _bounded(text: str) -> str:
    """Cut what no event may hold: a step of over 65,000 bytes keeps its beginning."""
    cut = text.replace("\x00", "").encode(errors="replace")[:MAX_TEXT_BYTES].decode(errors="ignore")
    return cut if cut.strip() else _SILENT
