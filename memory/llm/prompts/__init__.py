"""Prompts as files with a version in their first line: an edge names the version that made it."""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from memory.errors import BadSetting


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: its version and its three parts; `user` and `repair` have named places in braces."""

    version: str
    system: str
    user: str
    repair: str


@lru_cache(maxsize=16)
def load_prompt(name: str) -> Prompt:
    """Load `<name>.md` of this package. Raises `BadSetting` when it is not there or lacks a part."""
    try:
        text = resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadSetting(f"there is no prompt named {name!r}") from error
    version = re.match(r"version: (\S+)\n", text)
    parts = dict(re.findall(r"^# (System|User|Repair)\n+(.*?)(?=\n# (?:System|User|Repair)\n|\Z)", text, re.S | re.M))
    if version is None or parts.keys() != {"System", "User", "Repair"}:
        raise BadSetting(f"the prompt {name!r} lacks its version line or one of System, User, Repair")
    return Prompt(version[1], parts["System"].strip(), parts["User"].strip(), parts["Repair"].strip())
