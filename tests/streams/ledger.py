"""A handler whose durable store is a SQLite file, and that fails in the ways tests ask for by files beside it.

It writes what it is given idempotently, as a real handler must, and counts how often each value came.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

from memory.errors import MalformedEvent, Misconfigured, Poison, StoreUnavailable
from memory.records import Handled, Outgoing, Record, Rejected
from memory.settings import Settings


class Ledger:
    """The file's reader and writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.db"
        with closing(self._open()) as db, db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("CREATE TABLE IF NOT EXISTS came (value TEXT, place TEXT, pid INTEGER)")
            db.execute("CREATE TABLE IF NOT EXISTS calls (size INTEGER)")

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30)

    def write(self, records: Sequence[Record], pid: int) -> None:
        with closing(self._open()) as db, db:
            db.executemany(
                "INSERT INTO came VALUES (?, ?, ?)",
                [((record.value or b"").decode(), record.place, pid) for record in records],
            )
            db.execute("INSERT INTO calls VALUES (?)", (len(records),))

    def came(self) -> Counter[str]:
        """How often each value was written."""
        with closing(self._open()) as db:
            return Counter(value for (value,) in db.execute("SELECT value FROM came"))

    def order(self) -> list[str]:
        with closing(self._open()) as db:
            return [value for (value,) in db.execute("SELECT value FROM came ORDER BY rowid")]

    def pids(self) -> set[int]:
        with closing(self._open()) as db:
            return {pid for (pid,) in db.execute("SELECT DISTINCT pid FROM came")}

    def switch(self, name: str, on: bool = True) -> None:
        """Ask the handlers for a way to fail, or to stop failing."""
        file = self.folder / name
        file.write_text("") if on else file.unlink(missing_ok=True)

    def asked(self, name: str) -> bool:
        return (self.folder / name).exists()


class LedgerHandler:
    """Writes to the ledger. Values beginning with `poison` raise, with `reject` are rejected; None is poison."""

    def __init__(self, ledger: Ledger, pid: int) -> None:
        self._ledger = ledger
        self._pid = pid

    async def handle(self, records: Sequence[Record]) -> Handled:
        ledger = self._ledger
        if ledger.asked("misconfigured"):
            raise Misconfigured("the collection was made by another model", hint="set the model")
        if ledger.asked("bug"):
            raise ZeroDivisionError("nobody thought of this")
        if ledger.asked("cancel"):
            raise asyncio.CancelledError
        if ledger.asked("down"):
            raise StoreUnavailable("the ledger is away")
        while ledger.asked("hang"):
            await asyncio.sleep(0.05)
        if ledger.asked("slow"):
            ledger.switch("begun")
            await asyncio.sleep(1.5)
        if ledger.asked("group"):
            async with asyncio.TaskGroup() as group:
                group.create_task(_away())
        values = [record.value or b"" for record in records]
        if any(record.value is None or record.value.startswith(b"poison") for record in records):
            raise Poison("a bad record\nis in this batch")
        good = [record for record in records if not (record.value or b"").startswith(b"reject")]
        rejected = [Rejected(record, MalformedEvent("rejected")) for record in records if record not in good]
        await asyncio.to_thread(ledger.write, good, self._pid)
        assert len(values) == len(records)
        return Handled(tuple(Outgoing(record.key or b"k", record.value or b"") for record in good), tuple(rejected))


async def _away() -> None:
    raise StoreUnavailable("one of the stores is away")


def opener(ledger: Ledger, pid: int):  # type: ignore[no-untyped-def]
    """Give a handler factory over the ledger."""

    @asynccontextmanager
    async def open_ledger(settings: Settings) -> AsyncIterator[LedgerHandler]:
        if ledger.asked("closed"):
            raise StoreUnavailable("the ledger cannot be opened")
        yield LedgerHandler(ledger, pid)

    return open_ledger
