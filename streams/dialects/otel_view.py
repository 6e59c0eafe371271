"""The spans of one message, read once: what each is, what it stands under, and how they belong together.

What a span does not say itself is looked for in the spans above it, as far as they are in the same message: the
session, the agent, and the next kept span. So a Collector that sends whole traces (`groupbytrace`) tells the most.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.errors import MalformedEvent
from memory.events import MAX_REFS
from streams.dialects.otel_messages import Said, messages, unflattened
from streams.dialects.otel_tables import (
    ERROR_TYPE,
    EXCEPTION_MESSAGE,
    EXCEPTION_TYPE,
    OPENINFERENCE,
    SERVICE,
    Conventions,
    Role,
    first_of,
    table_of,
)
from streams.dialects.otlp import attributes_of

_STATUS_ERROR = 2
#: How far up a span is followed.
_MOST_UP = 64


@dataclass(frozen=True, slots=True)
class View:
    """A span. `trace`, `id`, `parent`: hexadecimal; `error`: what went wrong, empty when nothing did."""

    unit: int
    trace: str
    id: str
    parent: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, object]
    resource: dict[str, object]
    table: Conventions
    role: Role
    error: str
    links: tuple[str, ...]
    asked: tuple[Said, ...] = ()
    answered: tuple[Said, ...] = ()

    @property
    def head(self) -> str:
        """The id of the span's first event: what its children and links name."""
        return f"{self.trace}:{self.id}"

    def says(self, names: tuple[str, ...]) -> str:
        """Give an attribute as text, empty when it is not there."""
        value = first_of(self.attributes, names)
        return value if isinstance(value, str) else "" if value is None else str(value)

    @property
    def outcome(self) -> str:
        """The id of the event that a tool's span ends with."""
        if self.error:
            return f"{self.head}:error"
        return f"{self.head}:result" if first_of(self.attributes, self.table.result) is not None else self.head


def view_of(unit: int, resource: dict[str, object], span: Any) -> View:
    """Read a span of the protobuf; raises `MalformedEvent` for one without ids or a start."""
    if len(span.trace_id) != 16 or len(span.span_id) != 8:
        raise MalformedEvent("a span without a trace id of 16 bytes and a span id of 8")
    if not span.start_time_unix_nano:
        raise MalformedEvent("a span without a start time")
    attributes = attributes_of(span.attributes)
    table = table_of(attributes)
    operation = attributes.get(table.operation)
    role = table.roles.get(operation, Role.OTHER) if isinstance(operation, str) else Role.OTHER
    model = role is Role.MODEL
    return View(
        unit=unit,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=max(span.start_time_unix_nano, span.end_time_unix_nano),
        attributes=attributes,
        resource=resource,
        table=table,
        role=role,
        error=_error(span, attributes),
        links=tuple(f"{link.trace_id.hex()}:{link.span_id.hex()}" for link in span.links if link.span_id),
        asked=tuple(said_in(attributes, table, table.asked)) if model else (),
        answered=tuple(said_in(attributes, table, table.answered)) if model else (),
    )


def said_in(attributes: dict[str, object], table: Conventions, names: tuple[str, ...]) -> list[Said]:
    """Give the messages in the first of these attributes that holds any."""
    if table is OPENINFERENCE and (flat := unflattened(attributes, names[0])):
        return messages(flat)
    value = first_of(attributes, names)
    return [] if value is None else messages(value)


def _error(span: Any, attributes: dict[str, object]) -> str:
    """Say what went wrong in a span: its exception, its status, or the type of its error."""
    for event in span.events:
        if event.name == "exception":
            found = attributes_of(event.attributes)
            parts = (str(found.get(EXCEPTION_TYPE) or ""), str(found.get(EXCEPTION_MESSAGE) or ""))
            return ": ".join(part for part in parts if part) or "exception"
    if span.status.code == _STATUS_ERROR:
        return span.status.message or str(attributes.get(ERROR_TYPE) or "error")
    return str(attributes.get(ERROR_TYPE) or "")


@dataclass(slots=True)
class Index:
    """The spans of a message by what they are looked for. `observe`: spans that no table knows are events, too."""

    observe: bool
    views: dict[tuple[str, str], View] = field(default_factory=dict)
    decided: dict[tuple[str, str], View] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], View] = field(default_factory=dict)
    led: dict[int, list[str]] = field(default_factory=dict)
    conversations: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, views: Sequence[View], *, observe: bool) -> "Index":
        """Index the spans."""
        index = cls(observe)
        index.views = {(view.trace, view.id): view for view in views}
        beside: dict[tuple[str, str], list[View]] = defaultdict(list)
        for view in sorted(views, key=lambda one: (one.start_ns, one.id)):
            beside[view.trace, index.parent(view) or ""].append(view)
            if conversation := view.says(view.table.session):
                index.conversations[view.trace].add(conversation)
            if view.role is Role.TOOL and (call := view.says(view.table.call_id)):
                index.outcomes[view.trace, call] = view
            for said in view.answered:
                for asked in said.calls:
                    if asked.id:
                        index.decided.setdefault((view.trace, asked.id), view)
        for siblings in beside.values():
            index._lead(siblings)
        return index

    def kept(self, view: View) -> bool:
        """Say whether a span becomes events."""
        return view.role not in (Role.SILENT, Role.OTHER) or (view.role is Role.OTHER and self.observe)

    def above(self, view: View) -> Iterator[View]:
        """Give the spans above one, the nearest first, as far as they are in the message."""
        seen = {view.id}
        while (found := self.views.get((view.trace, view.parent))) and found.id not in seen and len(seen) < _MOST_UP:
            seen.add(found.id)
            yield (view := found)

    def parent(self, view: View) -> str | None:
        """Give the id of the first event of the nearest kept span above; None for a root."""
        last = view
        for found in self.above(view):
            if self.kept(found):
                return found.head
            last = found
        missing = last.parent and (last.trace, last.parent) not in self.views
        return f"{last.trace}:{last.parent}" if missing else None

    def session(self, view: View) -> str:
        """Give the conversation: its own, that of a span above, the only one of its trace; else the trace is one."""
        for found in (view, *self.above(view)):
            if conversation := found.says(found.table.session):
                return conversation
        known = self.conversations[view.trace]
        if len(known) == 1:
            return next(iter(known))
        named = first_of(view.resource, view.table.session)
        return named if isinstance(named, str) else view.trace

    def agent(self, view: View) -> str:
        """Give who acted: its own name, that of a span above, the service's."""
        for found in (view, *self.above(view)):
            if name := found.says(found.table.agent):
                return name
        service = view.resource.get(SERVICE)
        return service if isinstance(service, str) and service else "agent"

    def before(self, view: View) -> list[str]:
        """Give the events that led to a model's or tool's span: those its ids name, else by its place."""
        return self._named(view) or self.led.get(view.unit, [])

    def _named(self, view: View) -> list[str]:
        if view.role is Role.TOOL:
            found = self.decided.get((view.trace, view.says(view.table.call_id)))
            return [found.head] if found is not None else []
        calls = dict.fromkeys(ident for said in view.asked for ident, _ in said.answers)
        return [self.outcomes[view.trace, call].outcome for call in calls if (view.trace, call) in self.outcomes]

    def _lead(self, siblings: Sequence[View]) -> None:
        """Note what led to spans that stand under the same one: an agent's loop, where ids say nothing of it.

        A model's call follows the tools that ran since the model's last one; a tool's run follows the model's last one.
        """
        model: View | None = None
        tools: list[View] = []
        for view in siblings:
            if view.role is Role.MODEL:
                self.led[view.unit] = [one.outcome for one in tools[-MAX_REFS:] if one.end_ns <= view.start_ns]
                model, tools = view, []
            elif view.role is Role.TOOL:
                names = {call.name for said in model.answered for call in said.calls} if model is not None else set()
                if model is not None and (not names or view.says(view.table.tool) in names):
                    self.led[view.unit] = [model.head]
                tools.append(view)
