"""Sends the events of a file to `agent.events`, batched, in the file's order for each session."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from cli.readers import ReadItem
from memory.events import content_digest, content_id, derive_id
from memory.records import Outgoing, session_key
from memory.settings import Settings
from streams.clients import MAX_RECORD_BYTES
from streams.producers import Producers
from streams.publisher import Publisher
from streams.topics import Topic

#: Records sent and acknowledged together, and the bound on their bytes.
BATCH_RECORDS = 1_000
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class Produced:
    """What was sent. `ids`: by tenant the stored ids of the valid events, in the file's order, and what
    each says (its digest). `conflicts`: events whose id another event of the files has; the first stays."""

    accepted: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)
    conflicts: int = 0
    ids: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def distinct(self) -> int:
        """Number of distinct valid events."""
        return sum(len(ids) for ids in self.ids.values())


async def produce(
    settings: Settings,
    items: Iterable[ReadItem],
    *,
    rate_per_s: float | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Produced:
    """Send every item and wait until the broker has acknowledged all of them.

    Invalid lines are sent untouched: the pipeline dead-letters them with the reason; left out is only what no broker
    would take, or what has no topic because tenants have topics of their own. `rate_per_s` bounds the events sent each
    second. Raises `StoreUnavailable` when the broker is away.
    """
    producers = Producers.of(settings)
    most = BATCH_RECORDS if rate_per_s is None else max(1, min(BATCH_RECORDS, int(rate_per_s / 10)))
    produced = Produced()
    started_s = time.monotonic()
    sent = 0
    async with Publisher.open(settings) as publisher:
        for batch in _batches(produced, items, most):
            for topic, records in _by_topic(producers, settings, batch).items():
                await publisher.publish(topic, records)
            sent += len(batch)
            progress(sent)
            if rate_per_s is not None:
                await asyncio.sleep(max(0.0, sent / rate_per_s - (time.monotonic() - started_s)))
    return produced


def _by_topic(producers: Producers, settings: Settings, batch: Iterable[ReadItem]) -> dict[str, list[Outgoing]]:
    """Give the records of a batch by the topic they go to, with the headers that intake wants."""
    placed: dict[str, list[Outgoing]] = {}
    for item in batch:
        event = item.event
        if event is not None:
            topic, headers = producers.place_for(event.tenant, settings)
            placed.setdefault(topic, []).append(Outgoing(session_key(event.tenant, event.session), item.raw, headers))
        elif producers.topics is None:
            placed.setdefault(Topic.AGENT_EVENTS.name_in(settings), []).append(Outgoing(None, item.raw, item.headers))
    return placed


def _batches(produced: Produced, items: Iterable[ReadItem], most: int) -> Iterator[list[ReadItem]]:
    """Account for each item and give those that can be sent in batches."""
    batch: list[ReadItem] = []
    size_bytes = 0
    for item in items:
        _account(produced, item)
        if not item.producible or len(item.raw) > MAX_RECORD_BYTES:
            continue
        if batch and (len(batch) >= most or size_bytes + len(item.raw) > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(item)
        size_bytes += len(item.raw)
    if batch:
        yield batch


def _account(produced: Produced, item: ReadItem) -> None:
    """Count an item, and note the id under which it will be stored."""
    event = item.event
    if event is None:
        produced.rejected += 1
        produced.problems.append(f"line {item.line}: {item.problem}")
        return
    produced.accepted += 1
    if event.id is not None:
        stored = derive_id(event.tenant, event.source, event.id)
    elif event.sequence is not None:
        stored = content_id(event, str(event.sequence))
    else:  # readers give every event an id, so that a second ingest of the same file is recognised
        raise AssertionError(f"line {item.line}: the reader gave an event without an id")
    digest = content_digest(event)
    if produced.ids.setdefault(event.tenant, {}).setdefault(stored, digest) != digest:
        produced.conflicts += 1
        produced.problems.append(f"line {item.line}: the id {event.id!r} is taken by another event, which stays")
