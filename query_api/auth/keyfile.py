"""The file that holds the hashes of API keys: read by every query service, changed by `magma keys`."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from memory.errors import BadSetting
from query_api.auth.keys import ApiKey

#: Largest file that is read, in bytes: more than 20,000 keys.
MAX_FILE_BYTES = 16 * 1024 * 1024
_OTHERS_WRITE = 0o022


class KeyFile(BaseModel):
    """The file's content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    keys: tuple[ApiKey, ...] = ()

    def with_key(self, key: ApiKey) -> "KeyFile":
        """Give the content with a key added, or put in the place of the one with its id."""
        return self.model_copy(update={"keys": (*(one for one in self.keys if one.id != key.id), key)})


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what a change of the file is seen without reading it."""

    inode: int
    size_bytes: int
    changed_ns: int


def stamp_of(path: Path) -> Stamp:
    """Give the file's stamp; raises `OSError`."""
    found = path.stat()
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def read_keys(path: Path) -> KeyFile:
    """Read the file; raises `BadSetting`, which never repeats what stands in it."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise BadSetting(
            f"the API keys in {path} cannot be read: {error.strerror}", hint="`magma keys create` makes the file"
        ) from None
    if mode & _OTHERS_WRITE:
        raise BadSetting(f"others than its owner can write to {path}", hint=f"chmod go-w {path}")
    if len(raw) > MAX_FILE_BYTES:
        raise BadSetting(f"{path} is larger than {MAX_FILE_BYTES} bytes")
    try:
        return KeyFile.model_validate_json(raw)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"]) or "the document"
        raise BadSetting(
            f"{path} is not a file of API keys: {where} is wrong", hint="let `magma keys` change it, or restore it"
        ) from None


@contextmanager
def changing(path: Path) -> Iterator[list[KeyFile]]:
    """Hold the file for a change: gives a list with its content; what the list holds at the end is written.

    One process at a time; whoever reads meanwhile sees the old content or the new, never a part. Raises `BadSetting`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BadSetting(f"the API keys in {path} cannot be changed: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = [read_keys(path) if path.exists() else KeyFile()]
        yield held
        _write(path, held[0].model_dump_json(indent=1).encode() + b"\n")
    finally:
        os.close(lock)


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise BadSetting(f"the API keys in {path} cannot be written: {error.strerror}") from None
