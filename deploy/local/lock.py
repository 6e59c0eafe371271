"""One stack a data directory: a lock that the kernel releases however its holder ends."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from deploy.local.services import Owner
from memory.errors import StackProblem

LOCK_FILE = "stack.lock"


class Holder(BaseModel):
    """Who holds, or held, the lock."""

    model_config = ConfigDict(frozen=True)

    pid: int
    owner: Owner


class LockHeld(StackProblem):
    """Raised when another running process holds the data directory."""


class DataDirLock:
    """The exclusive lock of a data directory, for the life of the stack.

    The file keeps the holder's name when the holder is killed and is emptied when it ends well: so a name in a file
    that nobody locks is the trace of a crash. `left_behind` is that name, once acquired.
    """

    def __init__(self, data_dir: Path, owner: Owner) -> None:
        self._path = data_dir / LOCK_FILE
        self._owner = owner
        self._handle: int | None = None
        self.pid = os.getpid()
        self.left_behind: Holder | None = None

    def acquire(self) -> None:
        """Take the lock or raise `LockHeld`."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            holder = _read_holder(self._path)
            who = f"the process {holder.pid}" if holder else "another process"
            raise LockHeld(
                f"{self._path.parent} is held by the local stack of {who}",
                hint="stop that one with `magma down`, or choose another folder with --data-dir",
            ) from None
        self._handle = handle
        self.left_behind = _read_holder(self._path)
        os.ftruncate(handle, 0)
        os.pwrite(handle, Holder(pid=os.getpid(), owner=self._owner).model_dump_json().encode(), 0)

    def release(self) -> None:
        """Give the lock back and leave no trace of a crash."""
        if self._handle is None:
            return
        os.ftruncate(self._handle, 0)
        os.close(self._handle)
        self._handle = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(data_dir: Path) -> bool:
    """Say whether a living process holds the directory's lock."""
    try:
        handle = os.open(data_dir / LOCK_FILE, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        # Shared, so that two who only ask do not take each other for a holder.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def named_holder(data_dir: Path) -> Holder | None:
    """Give the name in the lock file: of the holder if the lock is held, else of one that was killed."""
    return _read_holder(data_dir / LOCK_FILE)


def _read_holder(path: Path) -> Holder | None:
    try:
        return Holder.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None
