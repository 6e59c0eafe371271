"""Where a measurement was made: what anyone needs to judge its milliseconds."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel

import memory

#: Packages whose versions change results or speed.
_PACKAGES = (
    "numpy", "pymilvus", "milvus-lite", "neo4j", "arcadedb", "wordllama", "onnxruntime", "lightgbm", "spacy",
)  # fmt: skip


class Environment(BaseModel):
    """Python, machine, versions; `commit` is empty outside a checkout, `changed`: it has uncommitted changes."""

    magma: str
    commit: str
    changed: bool
    python: str
    system: str
    cpus: int
    load_1min: float
    packages: dict[str, str]


def environment() -> Environment:
    """Look at the machine and the installed packages."""
    return Environment(
        magma=memory.__version__,
        commit=_git("rev-parse", "--short=12", "HEAD"),
        changed=bool(_git("status", "--porcelain", "--untracked-files=no")),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cpus=os.cpu_count() or 1,
        load_1min=round(os.getloadavg()[0], 2),
        packages={name: found for name in _PACKAGES if (found := _version(name))},
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # an optional extra
        return ""


def _git(*words: str) -> str:
    root = Path(__file__).resolve().parent.parent
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):  # no git here: installed from a package
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
