"""Topics as the pipeline needs them, and records on the partitions where every other client would put them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from deploy.local.ports import free_port
from memory.errors import Misconfigured, StoreUnavailable
from memory.records import Outgoing
from memory.settings import Settings
from streams.admin import ensure_topics, topic_partitions
from streams.clients import MAX_RECORD_BYTES
from streams.publisher import Publisher
from streams.topics import Topic
from tests.streams.helpers import read


async def test_topics_are_created_once_with_their_dead_letters(kafka: Settings) -> None:
    three = kafka.model_copy(update={"topic_partitions": 3})
    await ensure_topics(three)
    await ensure_topics(kafka.model_copy(update={"topic_partitions": 5}))
    there = await topic_partitions(kafka)
    for topic in Topic:
        assert there[topic.name_in(kafka)] == 3
        assert there[topic.dead_letters_in(kafka)] == 3


async def test_a_topic_with_another_number_of_partitions_is_named_in_a_sentence(kafka: Settings) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.kafka_bootstrap)
    await admin.start()
    sizes = {Topic.MEMORY_EVENTS: 2, Topic.MEMORY_INGESTED: 4}
    await admin.create_topics([NewTopic(topic.name_in(kafka), size, 1) for topic, size in sizes.items()])
    await admin.close()
    with pytest.raises(Misconfigured, match=r"memory\.events has 2, .*memory\.ingested has 4"):
        await ensure_topics(kafka)


async def test_a_broker_that_is_away_is_named(kafka: Settings) -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 does not answer"):
        await ensure_topics(kafka.model_copy(update={"kafka_bootstrap": "127.0.0.1:1"}))


async def test_a_key_is_put_where_every_client_puts_it_and_keeps_its_order(kafka: Settings) -> None:
    await ensure_topics(kafka)
    topic = Topic.MEMORY_EVENTS.name_in(kafka)
    keys = [f"tenant|session {number}".encode() for number in range(40)]
    producer = AIOKafkaProducer(bootstrap_servers=kafka.kafka_bootstrap)
    await producer.start()
    for key in keys:
        await producer.send_and_wait(topic, b"theirs", key=key)
    await producer.stop()
    async with Publisher.open(kafka) as publisher:
        await publisher.publish(topic, [Outgoing(key, b"%d" % number) for number in range(30) for key in keys])
    records = await read(kafka, topic)
    theirs = {record.key: record.partition for record in records if record.value == b"theirs"}
    assert len(set(theirs.values())) > 1
    assert len(records) == 31 * 40
    for key in keys:
        mine = [record for record in records if record.key == key and record.value != b"theirs"]
        assert {record.partition for record in mine} == {theirs[key]}
        assert [record.value for record in mine] == [b"%d" % number for number in range(30)]


async def test_large_records_headers_and_tombstones_arrive_as_they_were_sent(kafka: Settings) -> None:
    await ensure_topics(kafka)
    topic = Topic.AGENT_EVENTS.dead_letters_in(kafka)
    sent = [
        (0, Outgoing(b"k", b"x" * (MAX_RECORD_BYTES - 1_000), (("h", b"1"), ("h", b"")))),
        (0, Outgoing(None, None, ())),
        (5, Outgoing(b"", b"", ())),
    ]
    async with Publisher.open(kafka) as publisher:
        await publisher.publish_to(topic, sent)
    got = await read(kafka, topic)
    assert {(one.partition, one.key, one.value, one.headers) for one in got} == {
        (number % 4, one.key, one.value, one.headers) for number, one in sent
    }


async def test_a_publisher_finds_back_to_a_broker_that_was_away(kafka: Settings) -> None:
    await ensure_topics(kafka)
    topic = Topic.MEMORY_CHANGES.name_in(kafka)
    port = free_port()
    async with Publisher.open(kafka.model_copy(update={"kafka_bootstrap": f"127.0.0.1:{port}"})) as publisher:
        with pytest.raises(StoreUnavailable):
            await publisher.publish(topic, [Outgoing(b"k", b"too early")])
        async with await asyncio.start_server(_relay_to(kafka.kafka_bootstrap), "127.0.0.1", port):
            await publisher.publish(topic, [Outgoing(b"k", b"here")])
    assert [record.value for record in await read(kafka, topic)] == [b"here"]


def _relay_to(bootstrap: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    host, port = bootstrap.split(":")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
        sink.close()

    async def relay(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(port))
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(source, back))
            group.create_task(pump(there, sink))

    return relay
