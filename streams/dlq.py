"""Dead letters for the operator: list them, send them back after a fix, or drop them.

A letter that was redriven or dropped is *settled*: a tombstone with the header `magma-letter` naming the letter's place
is written beside it in the dead-letter topic, after the redriven record is acknowledged. A crash between the two makes
the letter come again, and a second redrive doubles nothing: the record carries the place where it stood first
(`magma-place`), from which an event without an id gets its id.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from memory.records import Outgoing, Record
from memory.settings import Settings
from streams.identity import PLACE_HEADER, header
from streams.letters import ErrorHeader, split_headers
from streams.producers import Producers
from streams.publisher import Publisher
from streams.scan import scan
from streams.topics import Topic

LETTER_HEADER = "magma-letter"
SETTLED_HEADER = "magma-settled"
SETTLED_AT_HEADER = "magma-settled-at"


class Settled(StrEnum):
    """What became of a letter."""

    REDRIVEN = "redriven"
    DROPPED = "dropped"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A letter as it lies in its topic. `record`: as it is there; `headers`: the original record's own.

    `place`: topic/partition/offset of the original record; it names the letter.
    """

    topic: Topic
    record: Record
    headers: tuple[tuple[str, bytes], ...]
    error: dict[ErrorHeader, str]

    @property
    def place(self) -> str:
        """Where the original record stood."""
        error = self.error
        return f"{error[ErrorHeader.TOPIC]}/{error[ErrorHeader.PARTITION]}/{error[ErrorHeader.OFFSET]}"

    @property
    def code(self) -> str:
        """The error's stable code."""
        return self.error[ErrorHeader.CODE]

    @property
    def at(self) -> datetime:
        """When the record failed last, UTC."""
        try:
            return datetime.fromisoformat(self.error[ErrorHeader.LAST_AT]).astimezone(UTC)
        except ValueError:
            return datetime.fromtimestamp(self.record.timestamp_ms / 1_000, UTC)

    def original(self) -> Outgoing:
        """Give the record to send back: key, value and headers as they were, and the place where it first stood."""
        known = any(name == PLACE_HEADER for name, _ in self.headers)
        place = () if known else ((PLACE_HEADER, self.place.encode()),)
        return Outgoing(self.record.key, self.record.value, self.headers + place)


async def letters(
    settings: Settings,
    topics: Iterable[Topic] = tuple(Topic),
    *,
    code: str | None = None,
    older_than: timedelta | None = None,
) -> list[DeadLetter]:
    """Give the letters that are not settled, each once, oldest first; raises `StoreUnavailable`."""
    until = datetime.now(UTC) - older_than if older_than is not None else None
    found: dict[str, DeadLetter] = {}
    settled: set[str] = set()
    try:
        async with asyncio.TaskGroup() as group:  # side by side: each scan waits a while at its topic's end
            for topic in topics:
                group.create_task(_read(settings, topic, found, settled))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    kept = (letter for place, letter in found.items() if place not in settled)
    chosen = (letter for letter in kept if code is None or letter.code == code)
    return sorted((one for one in chosen if until is None or one.at < until), key=lambda one: (one.at, one.place))


async def _read(settings: Settings, topic: Topic, found: dict[str, DeadLetter], settled: set[str]) -> None:
    """Read one topic's letters and marks into `found`, by place, and `settled`."""
    async for records in scan(settings, topic.dead_letters_in(settings)):
        for record in records:
            name = header(record, LETTER_HEADER)
            if name is not None and record.value is None:
                settled.add(name)
            elif (parted := split_headers(record.headers)) is not None:
                letter = DeadLetter(topic, record, *parted)
                found.setdefault(letter.place, letter)


async def redrive(settings: Settings, chosen: Sequence[DeadLetter]) -> int:
    """Send the letters' records back to their topics, then settle them; gives how many. Raises `StoreUnavailable`."""
    async with Publisher.open(settings) as publisher:
        tenants_topics = Producers.of(settings).topics
        for topic, group in _by_topic(chosen):
            origins: dict[str, list[tuple[int, Outgoing]]] = {}
            for letter in group:
                # a letter goes back to a tenant's own topic, and never to a topic that its header alone names
                named = letter.error[ErrorHeader.TOPIC]
                known = tenants_topics is not None and tenants_topics.match(named) is not None
                origin = named if known else topic.name_in(settings)
                origins.setdefault(origin, []).append((letter.record.partition, letter.original()))
            for origin, originals in origins.items():
                await publisher.publish_to(origin, originals)
            await settle(settings, publisher, topic, group, Settled.REDRIVEN)
    return len(chosen)


async def drop(settings: Settings, chosen: Sequence[DeadLetter]) -> int:
    """Settle the letters without sending anything back; gives how many. Raises `StoreUnavailable`."""
    async with Publisher.open(settings) as publisher:
        for topic, group in _by_topic(chosen):
            await settle(settings, publisher, topic, group, Settled.DROPPED)
    return len(chosen)


async def settle(
    settings: Settings, publisher: Publisher, topic: Topic, group: Sequence[DeadLetter], how: Settled
) -> None:
    """Write beside letters of one topic what became of them."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds").encode()
    marks = [
        (
            letter.record.partition,
            Outgoing(
                letter.record.key,
                None,
                (
                    (LETTER_HEADER, letter.place.encode()),
                    (SETTLED_HEADER, how.value.encode()),
                    (SETTLED_AT_HEADER, at),
                ),
            ),
        )
        for letter in group
    ]
    await publisher.publish_to(topic.dead_letters_in(settings), marks)


def _by_topic(chosen: Sequence[DeadLetter]) -> list[tuple[Topic, list[DeadLetter]]]:
    groups: dict[Topic, list[DeadLetter]] = {}
    for letter in chosen:
        groups.setdefault(letter.topic, []).append(letter)
    return list(groups.items())
