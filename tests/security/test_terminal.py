"""What others wrote is shown by the command line and does nothing there."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from cli.dlq import LetterView, _table
from cli.output import as_it_is

HOSTILE = [
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[31m",
    "\x9b31m",
    "[red]styled[/red]",
    "[/nothing]",
    "[link=https://evil.example]x[/link]",
    "safe\u202etxt.exe",
    "a\rb",
    "\ud800",
]


def shown(table: Table) -> str:
    out = io.StringIO()
    Console(file=out, width=400, force_terminal=False).print(table)
    return out.getvalue()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text(text: str) -> None:
    table = Table("column")
    table.add_row(as_it_is(text))
    out = shown(table)
    assert not set("\x1b\x9b\x07\r\u202e\ud800") & set(out)
    if text.startswith("["):
        assert text in out


@pytest.mark.parametrize("text", HOSTILE[:8])
def test_a_dead_letter_with_a_hostile_reason_is_listed(text: str) -> None:
    view = LetterView(
        topic="agent.events",
        partition=0,
        offset=1,
        error="malformed_event",
        message=text,
        stage="intake",
        attempts=1,
        at="now",
    )
    assert "agent.events/0/1" in shown(_table([view]))
