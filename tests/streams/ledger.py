"""A handler whose durable store is a SQLite file, and that fails in the ways tests ask for by files beside it.

It counts how often each value came, so that what comes again can be told from what came once.
"""

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.errors import MalformedEvent, Misconfigured, Poison, StoreUnavailable
from memory.records import Handled, HandlerFactory, Outgoing, Postponed, Record, Rejected
from memory.settings import Settings


class Ledger:
    """The file's reader and writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.db"
        with closing(self._open()) as db, db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("CREATE TABLE IF NOT EXISTS came (value TEXT, partition INTEGER, pid INTEGER)")

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30)

    def write(self, records: Sequence[Record], pid: int) -> None:
        rows = [((record.value or b"").decode(errors="replace"), record.partition, pid) for record in records]
        with closing(self._open()) as db, db:
            db.executemany("INSERT INTO came VALUES (?, ?, ?)", rows)

    def came(self) -> Counter[str]:
        """How often each value was written."""
        with closing(self._open()) as db:
            return Counter(value for (value,) in db.execute("SELECT value FROM came"))

    def order(self) -> dict[int, list[str]]:
        """The values of each partition in the order they were written."""
        found: dict[int, list[str]] = {}
        with closing(self._open()) as db:
            for value, partition in db.execute("SELECT value, partition FROM came ORDER BY rowid"):
                found.setdefault(partition, []).append(value)
        return found

    def pids(self) -> set[int]:
        """The processes that wrote."""
        with closing(self._open()) as db:
            return {pid for (pid,) in db.execute("SELECT DISTINCT pid FROM came")}

    def ask(self, name: str) -> None:
        """Ask the handlers for a way to fail."""
        (self.folder / name).touch()

    def relent(self, name: str) -> None:
        """Ask no more."""
        (self.folder / name).unlink()

    def asked(self, name: str) -> bool:
        return (self.folder / name).exists()


class LedgerHandler:
    """Writes to the ledger. A value beginning with `poison`, and a tombstone, raise; `reject` is rejected.

    While `spent` is asked for, records of the tenant of that name are postponed by half a second.
    """

    def __init__(self, ledger: Ledger, pid: int) -> None:
        self._ledger = ledger
        self._pid = pid

    async def handle(self, records: Sequence[Record]) -> Handled:
        ledger = self._ledger
        ledger.ask("begun")
        await self._fail()
        if any(record.value is None or record.value.startswith(b"poison") for record in records):
            raise Poison("a bad record\nis in this batch")
        later = [record for record in records if ledger.asked("spent") and (record.key or b"").startswith(b"spent|")]
        now = [record for record in records if record not in later]
        good = [record for record in now if not (record.value or b"").startswith(b"reject")]
        rejected = tuple(Rejected(record, MalformedEvent("no")) for record in now if record not in good)
        await asyncio.to_thread(ledger.write, good, self._pid)
        soon = datetime.now(UTC) + timedelta(seconds=0.5)
        return Handled(
            tuple(Outgoing(record.key or b"", record.value or b"") for record in good),
            rejected,
            tuple(Postponed(record, soon) for record in later),
        )

    async def _fail(self) -> None:
        ledger = self._ledger
        if ledger.asked("misconfigured"):
            raise Misconfigured("the collection was made by another model", hint="set the model")
        if ledger.asked("bug"):
            raise ZeroDivisionError("nobody thought of this")
        if ledger.asked("cancelled"):
            raise asyncio.CancelledError
        if ledger.asked("blocked"):
            time.sleep(30)  # noqa: ASYNC251  the fault that the watchdog is for
        if ledger.asked("down"):
            raise StoreUnavailable("the ledger is away")
        if ledger.asked("hung"):
            await asyncio.sleep(3600)
        if ledger.asked("slow"):
            await asyncio.sleep(1.5)
        if ledger.asked("half down"):
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(0))
                group.create_task(_away())


async def _away() -> None:
    raise StoreUnavailable("one of the two stores is away")


def opener(ledger: Ledger, pid: int) -> HandlerFactory:
    """Give a handler factory over the ledger."""

    @asynccontextmanager
    async def open_ledger(settings: Settings) -> AsyncIterator[LedgerHandler]:
        if ledger.asked("closed"):
            raise StoreUnavailable("the ledger cannot be opened")
        yield LedgerHandler(ledger, pid)

    return open_ledger
