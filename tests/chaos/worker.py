"""A worker that dies where it is told to, and can be made wrong on purpose: what the harness starts.

    python -m tests.chaos.worker DATA_DIR PREFIX COLLECTION LEDGER [--die POINT:BATCH] [--mutate MUTATION] [--all]

The product's own stages run unchanged; only around their handlers and stores stands what kills the process.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from cli.worker import factories
from memory.graph import GraphWriter
from memory.records import Handled, Handler, HandlerFactory, Record
from memory.settings import Settings, load_settings
from memory.vectors import Vectors
from streams.publisher import Publisher
from streams.runtime import run_stages
from streams.topics import CONSOLIDATION, Stage


class Point(StrEnum):
    """Where a worker kills itself with -9."""

    BEFORE_WRITE = "before-write"
    GRAPH_ONLY = "graph-only"
    VECTORS_ONLY = "vectors-only"
    BEFORE_PUBLISH = "before-publish"
    BEFORE_ACK = "before-ack"


class Mutation(StrEnum):
    """A defect that the harness must notice."""

    ACK_BEFORE_WRITE = "ack-before-write"
    NO_DEDUPE = "no-dedupe"
    ARRIVAL_ORDER = "arrival-order"


class Death:
    """Kills the process at its point in its batch; quiet before and elsewhere."""

    def __init__(self, told: str | None) -> None:
        point, _, batch = (told or ":0").partition(":")
        self.point = Point(point) if point else None
        self._left = int(batch or 0)

    def begin_batch(self) -> None:
        """Count down to the batch of death."""
        self._left -= 1

    def at(self, point: Point) -> bool:
        """Whether the process dies here."""
        return self.point is point and self._left <= 0

    def here(self, point: Point) -> None:
        """Die if this is the place."""
        if self.at(point):
            os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """A handler that notes what it is given, and is where the process dies."""

    def __init__(self, inner: Handler, death: Death, ledger: int, mutation: Mutation | None) -> None:
        self._inner = inner
        self._death = death
        self._ledger = ledger
        self._mutation = mutation
        self._late: set[asyncio.Task[Handled]] = set()

    async def handle(self, records: Sequence[Record]) -> Handled:
        """Handle the batch as the product does, unless told to be wrong."""
        self._death.begin_batch()
        os.write(self._ledger, "".join(f"{record.place}\n" for record in records).encode())
        self._death.here(Point.BEFORE_WRITE)
        if self._mutation is Mutation.ACK_BEFORE_WRITE:
            task = asyncio.get_running_loop().create_task(self._much_later(records))
            self._late.add(task)
            return Handled()
        return await self._inner.handle(records)

    async def _much_later(self, records: Sequence[Record]) -> Handled:
        await asyncio.sleep(5.0)
        return await self._inner.handle(records)


def arm(death: Death) -> None:
    """Put the points of death between the stores, before the publication and before the acknowledgement."""
    write_events, upsert, publish = GraphWriter.write_events, Vectors.upsert, Publisher.publish

    async def graph(self: GraphWriter, nodes: Any) -> Any:
        if death.at(Point.VECTORS_ONLY):
            await asyncio.sleep(30)
        done = await write_events(self, nodes)
        death.here(Point.GRAPH_ONLY)
        return done

    async def vectors(self: Vectors, rows: Any) -> None:
        if death.at(Point.GRAPH_ONLY):
            await asyncio.sleep(30)
        await upsert(self, rows)
        death.here(Point.VECTORS_ONLY)

    async def publishing(self: Publisher, topic: str, outgoing: Any) -> Any:
        death.here(Point.BEFORE_PUBLISH)
        done = await publish(self, topic, outgoing)
        death.here(Point.BEFORE_ACK)
        return done

    GraphWriter.write_events = graph  # type: ignore[method-assign]
    Vectors.upsert = vectors  # type: ignore[method-assign]
    Publisher.publish = publishing  # type: ignore[method-assign]


def mutate(mutation: Mutation | None) -> None:
    """Make the product wrong."""
    if mutation is Mutation.NO_DEDUPE:
        import streams.prepare as prepare

        prepare.stored_id = lambda *_: str(uuid.uuid4())  # type: ignore[assignment]
    elif mutation is Mutation.ARRIVAL_ORDER:
        import memory.graph.records as records
        from memory.graph.chain import key_of_place

        records.chain_key = lambda node: key_of_place(node.tenant, node.session, node.arrival, -1, node.id)


def watched(factory: HandlerFactory, death: Death, ledger: int, mutation: Mutation | None) -> HandlerFactory:
    """Wrap what opens a handler."""

    @asynccontextmanager
    async def opened(settings: Settings) -> AsyncIterator[Handler]:
        async with factory(settings) as inner:
            yield Watched(inner, death, ledger, mutation)

    return opened


def main() -> int:
    """Run intake and ingest, or all stages, until told to stop, or until the point of death."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("prefix")
    parser.add_argument("collection")
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--die")
    parser.add_argument("--mutate", type=Mutation)
    parser.add_argument("--all", action="store_true", help="consolidate too, and die there")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    settings = load_settings(data_dir=given.data_dir, topic_prefix=given.prefix, milvus_collection=given.collection)
    death, ledger = Death(given.die), os.open(given.ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    arm(death)
    mutate(given.mutate)
    stages = dict(factories([Stage.INTAKE, Stage.INGEST, *(CONSOLIDATION if given.all else ())]))
    for stage in CONSOLIDATION if given.all else (Stage.INGEST,):
        stages[stage] = watched(stages[stage], death, ledger, given.mutate)
    return run_stages(settings, stages)


if __name__ == "__main__":
    sys.exit(main())
