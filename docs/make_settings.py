"""Writes docs/settings.md from the settings themselves: `python docs/make_settings.py`; a test holds them together."""

from enum import Enum
from pathlib import Path

from pydantic import SecretStr

from memory.settings import CONFIG_FILE, PREFIX, Settings

PAGE = Path(__file__).with_name("settings.md")


def page() -> str:
    """Give the page."""
    rows = []
    # the addresses and models that everybody sets come before the parts on security and bounds
    for name in sorted(Settings.model_fields, key=lambda name: name not in Settings.__annotations__):
        field = Settings.model_fields[name]
        default = field.default
        if isinstance(default, SecretStr):
            shown = "(secret)"
        elif isinstance(default, Enum):
            shown = f"`{default.value}`"
        elif isinstance(default, tuple):
            shown = f"`{','.join(default)}`"
        else:
            shown = "" if default in (None, "") else f"`{default}`"
        rows.append(f"| `{name}` | {shown} | {field.description} |")
    return (
        "# Settings\n\n"
        f"Each is `{PREFIX}<NAME>` in the environment, or a line `name = value` in `{CONFIG_FILE}` in the working\n"
        "folder. The environment wins over the file, and both win over the addresses of a running local stack. An\n"
        "unknown name or a bad value stops the command with a sentence.\n\n"
        "| setting | default | what it is |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
