"""A memory with everything in it, to erase from: log, fast path, consolidation, and what its stores hold afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from neo4j import GraphDatabase

from memory.check import check
from memory.erasure import Erasure, Receipt, Scope
from memory.graph import Graph
from memory.graph.schema import Label
from memory.records import Handler, Outgoing, Record
from memory.settings import Settings
from memory.vectors import Vectors
from streams.erasures import EraseHandler
from streams.ingest import IngestHandler
from streams.intake import take_in
from streams.letters import ErrorHeader
from streams.publisher import Publisher
from streams.topics import Topic
from tests.dump import Dump, dump
from tests.streams.helpers import read

#: When every test's events were accepted, in milliseconds since 1970 UTC, and a time after all of them.
ACCEPTED_MS = 1_700_000_000_000
AFTER_US = (ACCEPTED_MS + 1_000_000) * 1_000


def event(tenant: str, number: int, *, session: str = "s1", agent: str = "planner", text: str = "") -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "tenant": tenant,
        "agent": agent,
        "session": session,
        "kind": "message",
        "text": text or f"Step {number}: payments-service was restarted by Alice because the disk was full",
        "occurred_at": f"2026-05-08T{10 + number // 60}:{number % 60:02d}:00+00:00",
        "sequence": number,
        **({"parent": f"e{number - 1}"} if number % 3 == 1 else {}),
    }


def a_letter(value: bytes, offset: int) -> Outgoing:
    """A dead letter of `agent.events` as intake writes it."""
    error = {
        ErrorHeader.CODE: "malformed_event",
        ErrorHeader.MESSAGE: "bad",
        ErrorHeader.STAGE: "intake",
        ErrorHeader.ATTEMPTS: "1",
        ErrorHeader.FIRST_AT: "2026-01-01T00:00:00+00:00",
        ErrorHeader.LAST_AT: "2026-01-01T00:00:00+00:00",
        ErrorHeader.TOPIC: "agent.events",
        ErrorHeader.PARTITION: "0",
        ErrorHeader.OFFSET: str(offset),
    }
    return Outgoing(None, value, tuple((name.value, said.encode()) for name, said in error.items()))


@dataclass
class Memory:
    """A memory with everything in it, and what is needed to erase from it."""

    settings: Settings
    tenant: str
    ingest: IngestHandler
    eraser: EraseHandler
    publisher: Publisher
    graph: Graph
    vectors: Vectors
    consolidators: tuple[Handler, ...] = ()
    offset: int = 0

    async def take(self, *events: dict[str, Any], accepted_ms: int = ACCEPTED_MS, log: bool = True) -> None:
        """Let events through intake and the fast path, with the log, and consolidate them."""
        records = []
        for value in events:
            self.offset += 1
            records.append(Record("agent.events", 0, self.offset, accepted_ms, None, orjson.dumps(value)))
        out = take_in(records, self.settings)
        assert not out.rejected
        if log:
            await self.publisher.publish(Topic.MEMORY_EVENTS.name_in(self.settings), out.outgoing)
        logged = [
            Record("memory.events", 0, number, accepted_ms, one.key, one.value, one.headers)
            for number, one in enumerate(out.outgoing, start=self.offset)
        ]
        done = await self.ingest.handle(logged)
        assert not done.rejected
        await self.consolidate(done.outgoing)

    async def consolidate(self, outgoing: Sequence[Outgoing]) -> None:
        work = [Record("memory.ingested", 0, n, ACCEPTED_MS, one.key, one.value) for n, one in enumerate(outgoing)]
        for handler in self.consolidators if work else ():
            await handler.handle(work)

    async def erase(self, at_us: int = AFTER_US, **scope: Any) -> Receipt:
        erasure = Erasure.of(Scope(tenant=self.tenant, **scope), at_us)
        receipt, again = await self.eraser.erase(erasure)
        await self.consolidate(again)
        return receipt

    def dump(self, tenant: str | None = None) -> Dump:
        return dump(self.settings, tenant or self.tenant, without=("arrival",))

    def everything(self) -> str:
        """All that both stores hold of the tenant, of every label and edge, but for the erasures' own nodes."""
        auth = (self.settings.graph_user, self.settings.graph_password.get_secret_value())
        bounds = {"low": f"{self.tenant}|", "high": f"{self.tenant}}}"}
        told: list[str] = list(self.dump().vectors)
        with (
            GraphDatabase.driver(self.settings.graph_uri, auth=auth) as driver,
            driver.session(database=self.settings.graph_database) as session,
        ):
            for label in set(Label) - {Label.ERASED, Label.ERASURE}:
                query = f"MATCH (n:{label.value}) WHERE n.uid > $low AND n.uid < $high RETURN properties(n)"
                told += [str(row[0]) for row in session.run(query, bounds)]
            query = "MATCH (n:Event)-[r]->() WHERE n.uid > $low AND n.uid < $high RETURN properties(r)"
            told += [str(row[0]) for row in session.run(query, bounds)]
        return "\n".join(told)

    async def sound(self, tenant: str | None = None) -> bool:
        report = await check(self.graph, self.vectors, tenant or self.tenant)
        assert report.violations == []
        return report.ok

    async def logged(self) -> dict[bytes, bytes | None]:
        """What a compacted log holds of the tenant: the last value of each key."""
        last: dict[bytes, bytes | None] = {}
        for record in await read(self.settings, Topic.MEMORY_EVENTS.name_in(self.settings)):
            assert record.key is not None
            last[record.key] = record.value
        return {key: value for key, value in last.items() if key.startswith(f"{self.tenant}|".encode())}
