"""Dead letters of what was erased: their topics are rewritten without them.

A letter keeps the key of its record, so it cannot be compacted away. The letters that stay are written again behind the
others, then everything before them is deleted. A crash between the two leaves them twice; a letter counts by its place.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from aiokafka import TopicPartition

from memory.erasure import Erasure, ScopeKind
from memory.events import derive_id
from memory.records import Record
from memory.settings import Settings
from streams.admin import delete_before
from streams.attempts import leading
from streams.dialects.named import named_in
from streams.dlq import LETTER_HEADER, DeadLetter, Settled, settle
from streams.identity import header
from streams.letters import ErrorHeader, split_headers
from streams.publisher import Publisher, Sendable
from streams.scan import scan
from streams.scope import apart
from streams.topics import Topic

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Letters:
    """`removed`: letters that the erasure covers; `left`: those that only the topic's retention will take, on a broker
    that deletes no records; `unreadable`: letters of which nobody can say whose they are."""

    removed: int = 0
    left: int = 0
    unreadable: int = 0


@dataclass(slots=True)
class _Topic:
    """One dead-letter topic as it was read: by partition the last offset, what stays and what goes."""

    last: dict[int, int] = field(default_factory=dict)
    stay: list[tuple[int, Record]] = field(default_factory=list)
    go: list[DeadLetter] = field(default_factory=list)
    unreadable: int = 0


async def remove_letters(settings: Settings, publisher: Publisher, erasure: Erasure) -> Letters:
    """Remove the letters that the erasure covers; raises `StoreUnavailable`."""
    found = Letters()
    for topic, read in (await _read_all(settings, erasure)).items():
        found.unreadable += read.unreadable
        if read.go and await _rewrite(settings, publisher, topic, read):
            found.removed += len(read.go)
        else:
            found.left += len(read.go)
    return found


async def _read_all(settings: Settings, erasure: Erasure) -> dict[Topic, _Topic]:
    """Read all topics of dead letters at once, for each read waits a while at its topic's end."""
    try:
        return await apart(_together(settings, erasure))
    except BaseExceptionGroup as group:
        raise leading(group) from group


async def _together(settings: Settings, erasure: Erasure) -> dict[Topic, _Topic]:
    async with asyncio.TaskGroup() as group:
        reads = {topic: group.create_task(_read(settings, topic, erasure)) for topic in Topic}
    return {topic: task.result() for topic, task in reads.items()}


async def _read(settings: Settings, topic: Topic, erasure: Erasure) -> _Topic:
    read = _Topic()
    letters: dict[str, tuple[Record, DeadLetter]] = {}
    settled: set[str] = set()
    async for records in scan(settings, topic.dead_letters_in(settings)):
        for record in records:
            read.last[record.partition] = max(record.offset, read.last.get(record.partition, -1))
            name = header(record, LETTER_HEADER)
            if name is not None and record.value is None:
                settled.add(name)
            elif (parted := split_headers(record.headers)) is not None:
                letter = DeadLetter(topic, record, *parted)
                letters.setdefault(letter.place, (record, letter))
    for place, (record, letter) in letters.items():
        match _whose(letter, erasure, settings):
            case None:
                read.unreadable += 1
                read.stay.append((record.partition, record))
            case True:
                read.go.append(letter)
            case _ if place not in settled:
                read.stay.append((record.partition, record))
    return read


def _whose(letter: DeadLetter, erasure: Erasure, settings: Settings) -> bool | None:
    """Say whether the erasure covers a letter, or any part of it; None when nothing in it names a tenant."""
    record = replace(letter.record, headers=letter.headers)
    told = [
        _covers(named, letter, erasure) for named in named_in(record, settings, letter.error[ErrorHeader.TOPIC]) or [{}]
    ]
    known = [one for one in told if one is not None]
    return any(known) if known else None


def _covers(named: Mapping[str, object], letter: DeadLetter, erasure: Erasure) -> bool | None:
    """Say whether the erasure covers what is named; None when no tenant is."""
    scope = erasure.scope
    key_tenant, separator, _ = (letter.record.key or b"").decode(errors="replace").partition("|")
    tenant = named.get("tenant", key_tenant if separator else None)
    if not isinstance(tenant, str):
        return None
    if tenant != scope.tenant or letter.record.timestamp_ms * 1_000 > erasure.at_us:
        return False
    match scope.kind:
        case ScopeKind.TENANT:
            return True
        case ScopeKind.SESSION:
            return named.get("session") == scope.session
        case ScopeKind.AGENT:
            return named.get("agent") == scope.agent
        case ScopeKind.EVENT:
            source, ident = named.get("source"), named.get("id")
            own = (
                derive_id(tenant, source if isinstance(source, str) else None, ident) if isinstance(ident, str) else ""
            )
            return own == str(scope.event)


async def _rewrite(settings: Settings, publisher: Publisher, topic: Topic, read: _Topic) -> bool:
    """Write what stays behind everything else, then delete what was read, where a letter has to go.

    Gives False when the broker deletes no records: then the letters are given up, and leave with the topic's retention.
    """
    name = topic.dead_letters_in(settings)
    partitions = {letter.record.partition for letter in read.go}
    stay: list[tuple[int, Sendable]] = [(number, record) for number, record in read.stay if number in partitions]
    await publisher.publish_to(name, stay)
    ends = {TopicPartition(name, number): read.last[number] + 1 for number in sorted(partitions)}
    deleted = await delete_before(settings, ends)
    if not deleted:
        _log.warning("the broker cannot delete records of %s: erased letters leave with its retention", name)
        await settle(settings, publisher, topic, read.go, Settled.ERASED)
    return deleted
