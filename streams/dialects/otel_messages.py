"""What a model was asked and what it answered, out of the shapes in which telemetry writes messages down."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

_FLAT = re.compile(r"^(?P<list>[a-z_.]+)\.(?P<place>[0-9]{1,4})\.(?P<rest>.+)$")
#: Names of a role of one kind.
ASSISTANT = frozenset({"assistant", "model", "ai", "agent"})
USER = frozenset({"user", "human"})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a model asks for. `id`: empty when it has none."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Said:
    """One message. `answers`: results of tools, by the id of the call."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()


def messages(value: object) -> list[Said]:
    """Read messages: a list, one object, JSON of either in a text, or a text that is what was said. Raises nothing."""
    found = value
    if isinstance(value, str):
        try:
            found = orjson.loads(value)
        except orjson.JSONDecodeError:
            return [Said("", value)] if value.strip() else []
    if isinstance(found, dict) and isinstance(found.get("messages"), list):
        found = found["messages"]
    items: list[Any] = found if isinstance(found, list) else [found]
    if items and all(isinstance(item, dict) and "tool.name" in item for item in items):
        return [Said("", "", tuple(Call("", text_of(i["tool.name"]), text_of(i.get("tool.args"))) for i in items))]
    said = [one for item in items if (one := _message(item)) is not None]
    return said if said or not text_of(found) else [Said("", text_of(found))]


def unflattened(attributes: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Give the list that stands in attributes such as `name.0.message.content` (OpenInference writes them so)."""
    places: dict[int, dict[str, object]] = {}
    for key, value in attributes.items():
        if key.startswith(name) and (match := _FLAT.match(key)) is not None and match["list"] == name:
            places.setdefault(int(match["place"]), {})[match["rest"].removeprefix("message.")] = value
    found: list[Mapping[str, object]] = []
    for _, fields in sorted(places.items()):
        calls = [
            {
                "id": call.get("tool_call.id"),
                "name": call.get("tool_call.function.name"),
                "arguments": call.get("tool_call.function.arguments"),
            }
            for call in unflattened(fields, "tool_calls")
        ]
        texts = [text_of(part.get("message_content.text")) for part in unflattened(fields, "contents")]
        content = fields.get("content") or "\n".join(text for text in texts if text)
        kept = {k: v for k, v in fields.items() if k in ("role", "tool_call_id", "name") or k.startswith("tool_call.")}
        found.append({**kept, "content": content, "tool_calls": calls})
    return found


def text_of(value: object) -> str:
    """Give a value as text: itself, nothing for nothing, else JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # deeper than JSON is written
        return repr(type(value).__name__)


def _message(item: Any) -> Said | None:
    if isinstance(item, str):
        return Said("", item.strip()) if item.strip() else None
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("message"), dict):
        item = item["message"]
    role = str(item.get("role") or "").lower()
    texts: list[str] = []
    calls: list[Call] = []
    answers: list[tuple[str, str]] = []
    for part in _parts(item):
        kind = part.get("type")
        if kind == "tool_call":
            calls.append(Call(str(part.get("id") or ""), text_of(part.get("name")), text_of(part.get("arguments"))))
        elif kind == "tool_call_response":
            answers.append((str(part.get("id") or ""), text_of(part.get("response", part.get("result")))))
        elif kind != "reasoning":
            texts.append(text_of(part.get("content", part.get("text"))))
    asked = item.get("tool_calls")
    for call in asked if isinstance(asked, list) else ():
        if isinstance(call, dict):
            function: Any = call["function"] if isinstance(call.get("function"), dict) else call
            name, arguments = text_of(function.get("name")), text_of(function.get("arguments", function.get("args")))
            calls.append(Call(str(call.get("id") or ""), name, arguments))
    text = "\n".join(part for part in texts if part)
    if role == "tool" and not answers:
        answers, text = [(str(item.get("tool_call_id") or item.get("id") or ""), text)], ""
    if not (text or calls or answers):
        return None
    return Said(role, text, tuple(calls), tuple(answers))


def _parts(item: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Give a message's parts: its `parts`, its `content` as parts, or its `content` as one."""
    for name in ("parts", "content"):
        value = item.get(name)
        if isinstance(value, list):
            return [part if isinstance(part, dict) else {"content": part} for part in value]
    return [{"content": item.get("content", item.get("text"))}]
