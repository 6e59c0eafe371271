"""The page on security and the lock file say what is there."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")


def test_every_test_that_the_table_of_attempts_names_is_there() -> None:
    table = PAGE.partition("## Attempts and outcomes")[2].partition("\n## ")[0]
    named = [
        name for row in table.splitlines() if row.startswith("|") for name in re.findall(r"`([\w/]*test_\w+)`", row)
    ]
    assert len(named) >= 15
    files = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    assert {name.rpartition("/")[2] for name in named} <= files


def test_every_suite_of_attacks_stands_in_the_table() -> None:
    suites = {path.stem for path in Path(__file__).parent.glob("test_*.py")} - {"test_pages", "test_limits"}
    assert {suite for suite in suites if f"`{suite}`" not in PAGE} == set()


def test_the_lock_file_has_every_dependency_in_a_version_that_is_asked_for_with_hashes() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)(?: ; [^\\]*)? \\\n    --hash=sha256:", text, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["local"], *extras["dev"], *extras["bge"], *extras["tune"]]
    for requirement in map(Requirement, asked):
        if requirement.name == project["name"] or (requirement.marker and not requirement.marker.evaluate()):
            continue
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, requirement.name
        assert requirement.specifier.contains(version, prereleases=True), (requirement.name, version)
    assert "://" not in re.sub(r"^ +#.*$", "", text, flags=re.MULTILINE)
