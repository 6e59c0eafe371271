"""Events as intake gets and gives them, and policies for them."""

from pathlib import Path
from typing import Any

import orjson

from memory.records import Handled, Record
from memory.settings import Settings, load_settings
from streams.intake import take_in

KEY = "a key of a test, long enough"
EVENT = {
    "tenant": "acme",
    "agent": "planner",
    "session": "s1",
    "kind": "message",
    "text": "Deploy is done",
    "occurred_at": "2026-05-08T15:56:00+02:00",
}


def record(value: dict[str, Any], *, offset: int = 7, headers: tuple[tuple[str, bytes], ...] = ()) -> Record:
    return Record("agent.events", 2, offset, 1_700_000_000_123, b"any", orjson.dumps(EVENT | value), headers)


def settings_for(mode: str, **more: Any) -> Settings:
    return load_settings(**({"redaction": mode, "redaction_key": KEY} | more))


def rules(folder: Path, text: str) -> Path:
    path = folder / "redaction.toml"
    path.write_text(text, encoding="utf-8")
    return path


def accept(settings: Settings, *values: dict[str, Any]) -> Handled:
    return take_in([record(value, offset=at) for at, value in enumerate(values)], settings)


def taken(settings: Settings, **value: Any) -> dict[str, Any]:
    """Give one event as it goes on to `memory.events`."""
    handled = accept(settings, value)
    assert not handled.rejected, handled.rejected[0].error
    event: dict[str, Any] = orjson.loads(handled.outgoing[0].value or b"")
    return event
