"""Prompts as files with a version."""

import pytest

from memory.errors import BadSetting
from memory.llm.prompts import load_prompt


def test_a_prompt_has_a_version_and_three_parts() -> None:
    prompt = load_prompt("consolidate")
    assert prompt.version.startswith("consolidate-")
    assert "{log}" in prompt.user
    assert "{ids}" in prompt.user
    assert "{problem}" in prompt.repair
    assert prompt.system


def test_a_missing_prompt_is_named() -> None:
    with pytest.raises(BadSetting, match="'nothing'"):
        load_prompt("nothing")
