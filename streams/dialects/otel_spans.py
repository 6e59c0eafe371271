"""Spans become events: a pure function of one message.

Every kept span has a first event with the id `<trace id>:<span id>`, in hexadecimal, and others with a part behind it:

| span | events |
| --- | --- |
| agent | `state_change` for the root of a trace, `handoff` below another span; `:error` |
| tool | `tool_call`; at its end `:result` or `:error` |
| model | `:in.N`: new messages of users, results of tools without a span; the answer, a `decision` if it calls tools |
| other | `observation`, or nothing (`otlp_other`) |

First events stand at the span's start, results and errors at its end, so a session is in the order of its spans; what
microseconds lose is in `sequence`. Causes: the span above, its links, the model's call that asked for a tool, the
results of tools that a model's call was given.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.errors import Poison
from memory.events import MAX_REFS, AgentEvent, EventKind, validate_event
from streams.dialects.otel_messages import ASSISTANT, USER, Said, text_of
from streams.dialects.otel_tables import Role, first_of
from streams.dialects.otel_view import Index, View

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PARTS = 10_000
_NAME_CHARS = 256


class SpanEvents:
    """Makes the events of the spans of one message. `source`, `tenant`: None when something else says it."""

    def __init__(self, index: Index, *, source: str | None, tenant: str | None) -> None:
        self._index = index
        self._source = source
        self._tenant = tenant

    def of(self, view: View) -> Iterator[AgentEvent | Poison]:
        """Give a span's events, each with why there is none where it is not valid."""
        if not self._index.kept(view):
            return
        made = {Role.AGENT: self._agent, Role.HANDOFF: self._agent, Role.TOOL: self._tool, Role.MODEL: self._model}
        for part, fields in enumerate(made.get(view.role, self._other)(view)):
            yield self._event(view, part, fields)

    def _event(self, view: View, part: int, fields: dict[str, Any]) -> AgentEvent | Poison:
        suffix, at_ns = fields.pop("part", ""), fields.pop("at_ns", view.start_ns)
        event = {
            "id": view.head + suffix,
            "source": self._source,
            "tenant": self._tenant,
            "agent": self._index.agent(view),
            "session": self._index.session(view),
            "occurred_at": moment(at_ns),
            "sequence": (at_ns % 1_000) * _PARTS + min(part, _PARTS - 1),
            "trace": f"00-{view.trace}-{view.id}-01",
            "attributes": {"otel": _kept(view)},
            **fields,
        }
        if suffix and not fields.get("parent"):
            event["parent"] = view.head if fields["kind"] in (EventKind.ERROR, EventKind.TOOL_RESULT) else None
        event["caused_by"] = list(dict.fromkeys(event.get("caused_by", ())))[:MAX_REFS]
        try:
            return validate_event({name: value for name, value in event.items() if value is not None})
        except Poison as error:
            return error

    def _up(self, view: View, *more: str) -> dict[str, Any]:
        """Give the causes of a span's first event: the span above, what led to it, its links."""
        return {"parent": self._index.parent(view), "caused_by": [*more, *view.links]}

    def _agent(self, view: View) -> Iterator[dict[str, Any]]:
        name, told = view.says(view.table.agent) or view.name, view.says(view.table.description)
        about = f": {told}" if told else ""
        handed = view.role is Role.HANDOFF or bool(view.parent)
        kind = EventKind.HANDOFF if handed else EventKind.STATE_CHANGE
        yield {
            "kind": kind,
            "text": f"hands over to {name}{about}" if handed else f"{name} starts{about}",
            **self._up(view),
        }
        if view.error:
            yield _failed(view, f"agent {name}")

    def _tool(self, view: View) -> Iterator[dict[str, Any]]:
        tool = view.says(view.table.tool) or view.name
        arguments = text_of(first_of(view.attributes, view.table.arguments))
        named = {"entities": [tool]} if len(tool) <= _NAME_CHARS and tool.isprintable() and "|" not in tool else {}
        text = f"calls {tool}({arguments})"
        yield {"kind": EventKind.TOOL_CALL, "text": text, **named, **self._up(view, *self._index.before(view))}
        result = first_of(view.attributes, view.table.result)
        if result is not None:
            told = f"{tool} returned: {text_of(result)}"
            yield {"kind": EventKind.TOOL_RESULT, "part": ":result", "at_ns": view.end_ns, "text": told, **named}
        if view.error:
            yield {**_failed(view, tool), **named}

    def _model(self, view: View) -> Iterator[dict[str, Any]]:
        new: list[str] = []
        for number, fields in enumerate(self._new(view)):
            new.append(f"{view.head}:in.{number}")
            yield {**fields, "part": f":in.{number}"}
        causes = self._up(view, *new, *self._index.before(view))
        text, decided = _answer(view.answered)
        kind = EventKind.DECISION if decided else EventKind.MESSAGE
        if text:
            yield {"kind": kind, "text": text, "speaker": self._index.agent(view), **causes}
        else:
            model = view.says(view.table.model) or view.name
            yield {"kind": EventKind.OBSERVATION, "text": f"asks the model {model}", **causes}
        if view.error:
            yield _failed(view, "the model's call")

    def _new(self, view: View) -> Iterator[dict[str, Any]]:
        """Give what a model is told since it last spoke: a request repeats the whole talk each time."""
        for said in _since_spoken(view.asked):
            for call, answer in said.answers:
                if (view.trace, call) not in self._index.outcomes and answer:
                    decided = self._index.decided.get((view.trace, call))
                    causes = [decided.head] if decided is not None else []
                    yield {"kind": EventKind.TOOL_RESULT, "text": answer, "caused_by": causes}
            if said.text and (said.role in USER or not said.role):
                yield {"kind": EventKind.MESSAGE, "text": said.text, "speaker": "user"}

    def _other(self, view: View) -> Iterator[dict[str, Any]]:
        yield {"kind": EventKind.OBSERVATION, "text": f"span {view.name}", **self._up(view)}
        if view.error:
            yield _failed(view, view.name)


def moment(at_ns: int) -> datetime:
    """Give the moment of nanoseconds since 1970 UTC, in whole microseconds."""
    return _EPOCH + timedelta(microseconds=at_ns // 1_000)


def _failed(view: View, what: str) -> dict[str, Any]:
    return {"kind": EventKind.ERROR, "part": ":error", "at_ns": view.end_ns, "text": f"{what} failed: {view.error}"}


def _answer(answered: tuple[Said, ...]) -> tuple[str, bool]:
    """Give an answer as text, and whether it asks for tools."""
    calls = [call for said in answered for call in said.calls]
    texts = [said.text for said in answered if said.text]
    texts += [f"decides to call {call.name}({call.arguments})" for call in calls]
    return "\n".join(texts), bool(calls)


def _since_spoken(asked: tuple[Said, ...]) -> tuple[Said, ...]:
    last = max((place for place, said in enumerate(asked) if said.role in ASSISTANT), default=-1)
    return asked[last + 1 :]


def _kept(view: View) -> dict[str, object]:
    """Give what is kept of a span beside what its events say: short values alone."""
    content = {*view.table.asked, *view.table.answered, *view.table.arguments, *view.table.result}
    return {"span": view.name[:_NAME_CHARS], **short(view.attributes, content)}


def short(attributes: dict[str, object], without: set[str]) -> dict[str, object]:
    """Give the plain attributes that are short, at most 64 of them."""
    kept = (
        (name, value)
        for name, value in attributes.items()
        if name not in without
        and len(name) <= _NAME_CHARS
        and (isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _NAME_CHARS))
    )
    return dict(list(kept)[:64])
