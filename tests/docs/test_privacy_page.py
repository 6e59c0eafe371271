"""The page on privacy does what it shows: its rules are read as they stand, each row of its examples is run."""

import re
from pathlib import Path

import orjson
import pytest

from memory.records import Record
from memory.settings import Settings, load_settings
from streams.intake import take_in
from streams.prepare import prepare

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "privacy.md").read_text("utf-8")


def rows(name: str) -> list[list[str]]:
    """Give the cells of an example's table, without the ticks around them."""
    table = PAGE.split(f"<!-- example: {name} -->\n")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    for name in ("redaction.toml", "trust.toml"):
        shown = PAGE.split(f"<!-- {name} -->\n```toml\n")[1].split("```")[0]
        (tmp_path / name).write_text(shown, encoding="utf-8")
    return load_settings(
        redaction_file=tmp_path / "redaction.toml", redaction_key="k" * 16, trust_file=tmp_path / "trust.toml"
    )


def outcome(settings: Settings, **given: object) -> tuple[str, str]:
    """Give what is remembered of an event, and its trust; or nothing, and the code of its refusal."""
    fields = {"agent": "a", "session": "s", "kind": "message", "occurred_at": "2026-05-08T15:56:00Z", "text": "x"}
    handled = take_in(
        [Record("agent.events", 0, 0, 1, b"k", orjson.dumps(fields | {"tenant": "other"} | given))], settings
    )
    if handled.rejected:
        return "", f"refused: {handled.rejected[0].error.code}"
    (out,) = handled.outgoing
    (node,) = prepare([Record("memory.events", 0, 0, 1, out.key, out.value, out.headers)]).nodes
    return node.text, node.trust


def test_redaction_is_as_shown(settings: Settings) -> None:
    shown = rows("redaction")
    assert len(shown) == 5
    for tenant, sent, remembered in shown:
        text, told = outcome(settings, tenant=tenant, text=sent)
        assert (text or told.replace("refused: ", "refused: `")) == re.sub(
            r":0a3b", lambda _, t=text: _digits(t), remembered
        )


def _digits(text: str) -> str:
    """Give the digits of the mark in a text; the page shortens them, and equal values must have equal ones."""
    found = set(re.findall(r"\[mail(:[0-9a-f]{16})\]", text))
    assert len(found) == 1
    return found.pop()


def test_trust_is_as_shown(settings: Settings) -> None:
    shown = rows("trust")
    assert len(shown) == 3
    for tenant, source, told in shown:
        assert outcome(settings, tenant=tenant, source=source)[1] == told.replace("`", "")


def test_the_loop_guard_is_as_shown(settings: Settings) -> None:
    shown = rows("recalled")
    assert len(shown) == 3
    for text, origin, told in shown:
        assert outcome(settings, text=text, derived_from=[origin] if origin else [])[1] == told.replace("`", "")
