"""Spans of time as commands take them."""

import re
from datetime import timedelta

import typer

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def age(text: str) -> timedelta:
    """Read a span of time: 90s, 15m, 2h or 1d."""
    match = re.fullmatch(r"(\d{1,6})([smhd])", text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no span of time: write 90s, 15m, 2h or 1d")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])
