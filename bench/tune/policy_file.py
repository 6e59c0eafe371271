"""A policy as the TOML that `query_api.policy` reads."""

import json
from typing import Any

from query_api.policy import Policy


def policy_toml(policy: Policy, comments: tuple[str, ...] = ()) -> str:
    """Write a policy: reading it again gives an equal one. `comments`: lines that stand first."""
    lines = [f"# {line}" for line in comments]
    lines += _table(policy.model_dump(mode="json", exclude_none=True), ())
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(document: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """Write values before tables, as TOML wants it."""
    values = {name: value for name, value in document.items() if not isinstance(value, dict)}
    lines = ["", f"[{'.'.join(path)}]"] if path and values else []
    lines += [f"{name} = {_value(value)}" for name, value in values.items()]
    for name, part in document.items():
        if isinstance(part, dict):
            lines += _table(part, (*path, name))
    return lines


def _value(value: Any) -> str:
    # numbers, truth values and strings without control characters are written alike in JSON and TOML
    return json.dumps(value)
