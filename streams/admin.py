"""The topics: created by us, with the partitions and sizes the pipeline relies on, never by the broker's default."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.errors import (
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    TopicAlreadyExistsError,
    UnsupportedVersionError,
    for_code,
)

from memory.errors import Misconfigured
from memory.settings import Settings
from streams.clients import LETTER_HEADERS_BYTES, MAX_RECORD_BYTES, REQUEST_TIMEOUT_S, kafka_away, make_admin
from streams.topics import Topic

#: Topics whose partition numbers must agree: one partition owns a session from the log to the last consolidator.
ALIGNED = (Topic.MEMORY_EVENTS, Topic.MEMORY_INGESTED, Topic.MEMORY_CHANGES)
#: After how many requests that it answers by hanging up, and others that it answers, a broker is taken at its word.
HANG_UPS = 3
#: How often and how long a new topic is asked for until every broker knows it.
SEEN_EVERY_S = 0.1
SEEN_WITHIN_S = 20.0


async def ensure_topics(settings: Settings) -> None:
    """Create the topics that are missing, with their dead-letter topics, and check those that are there.

    May be called at any time by any number of processes. Raises `StoreUnavailable` when Kafka is away, `Misconfigured`
    when the `memory.*` topics differ in partitions, or when the broker refuses what the settings ask for.
    """
    async with admin(settings) as client:
        there = await _partitions(client)
        wanted = {topic.name_in(settings): topic for topic in Topic}
        missing = {name: _sizes(settings, there, topic) for name, topic in wanted.items() if name not in there}
        letters = {topic.dead_letters_in(settings): there.get(name) or missing[name] for name, topic in wanted.items()}
        missing |= {name: partitions for name, partitions in letters.items() if name not in there}
        if missing:
            await _create(client, settings, missing, set(letters))
            there = await _seen(client, set(missing))
        _check_aligned(settings, there)


async def topic_partitions(settings: Settings) -> dict[str, int]:
    """Give the number of partitions of every topic of the cluster; raises `StoreUnavailable`."""
    async with admin(settings) as client:
        return await _partitions(client)


async def delete_before(settings: Settings, ends: Mapping[TopicPartition, int]) -> bool:
    """Delete the records before these offsets; gives False when the broker does not know how.

    Raises `StoreUnavailable`. The local broker hangs up instead of saying so; one that is only away does not answer the
    question in between.
    """
    for _ in range(HANG_UPS):
        async with admin(settings) as client:
            try:
                await client.delete_records({place: RecordsToDelete(offset) for place, offset in ends.items()})
                return True
            except (IncompatibleBrokerVersion, UnsupportedVersionError):
                return False
            except KafkaConnectionError:
                pass
        await topic_partitions(settings)
    return False


def _sizes(settings: Settings, there: Mapping[str, int], topic: Topic) -> int:
    """Give the partitions of a new topic: those of the aligned topics that are there, else the setting."""
    others = [there[other.name_in(settings)] for other in ALIGNED if other.name_in(settings) in there]
    return others[0] if others and topic in ALIGNED else settings.topic_partitions


def _check_aligned(settings: Settings, there: Mapping[str, int]) -> None:
    counts = {topic.name_in(settings): there[topic.name_in(settings)] for topic in ALIGNED}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {partitions}" for name, partitions in counts.items())
        raise Misconfigured(
            f"topics that share their keys must have the same number of partitions, but {told}",
            hint="drain the pipeline, recreate the differing topics with one number and replay",
        )


async def _create(
    client: AIOKafkaAdminClient, settings: Settings, missing: Mapping[str, int], letters: set[str]
) -> None:
    kept = _kept(settings)
    new = [
        NewTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=settings.topic_replication,
            topic_configs={
                "max.message.bytes": str(MAX_RECORD_BYTES + (LETTER_HEADERS_BYTES if name in letters else 0)),
                **kept.get(name, {}),
            },
        )
        for name, partitions in missing.items()
    ]
    response = await client.create_topics(new, timeout_ms=int(REQUEST_TIMEOUT_S * 1000))
    for name, code, *rest in response.topic_errors:
        error = for_code(code)
        if code == 0 or error is TopicAlreadyExistsError:
            continue
        if error.retriable:
            raise kafka_away(settings, error())
        why = next((str(part) for part in rest if part), error.description)
        raise Misconfigured(
            f"Kafka refuses to create topic {name} with {missing[name]} partitions and"
            f" {settings.topic_replication} replicas: {why}",
            hint="set MAGMA_TOPIC_PARTITIONS and MAGMA_TOPIC_REPLICATION to what the cluster allows",
        )


def _kept(settings: Settings) -> dict[str, dict[str, str]]:
    """Give how topics are kept, where it is not the broker's default, by name."""
    return {
        # the memory can be rebuilt from it for ever, and a tombstone takes an erased event out of it in bounded time
        Topic.MEMORY_EVENTS.name_in(settings): {
            "cleanup.policy": "compact",
            "max.compaction.lag.ms": str(settings.erased_from_log_within_ms),
        },
        # a replay into empty stores must know for ever what not to bring back
        Topic.MEMORY_ERASURES.name_in(settings): {"cleanup.policy": "delete", "retention.ms": "-1"},
    }


async def _seen(client: AIOKafkaAdminClient, names: set[str]) -> dict[str, int]:
    """Ask until the new topics are known: creating is done by the controller, and the brokers hear of it later."""
    deadline_s = time.monotonic() + SEEN_WITHIN_S
    there = await _partitions(client)
    while not names <= there.keys() and time.monotonic() < deadline_s:
        await asyncio.sleep(SEEN_EVERY_S)
        there = await _partitions(client)
    if not names <= there.keys():
        raise TimeoutError(f"topics created and not seen: {sorted(names - there.keys())}")
    return there


async def _partitions(client: AIOKafkaAdminClient) -> dict[str, int]:
    described: list[dict[str, Any]] = await client.describe_topics()
    return {topic["topic"]: len(topic["partitions"]) for topic in described if topic["partitions"]}


@asynccontextmanager
async def admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """Give a connected admin client, closed after use; raises `StoreUnavailable` for what Kafka does not answer."""
    client = make_admin(settings)
    try:
        async with asyncio.timeout(3 * REQUEST_TIMEOUT_S):
            await client.start()
            yield client
    except (KafkaError, TimeoutError, OSError) as error:
        raise kafka_away(settings, error) from error
    finally:
        await client.close()
