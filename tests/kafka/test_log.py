"""What only a log that is kept can do to a pipeline: restarts, failover, retention, compaction, refused sizes."""

import signal
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from memory.errors import StoreUnavailable
from memory.settings import Settings
from streams.topics import Stage, Topic
from tests.kafka.cluster import KafkaCluster
from tests.kafka.conftest import settings_of
from tests.streams.helpers import WorkerProcess, committed, read, send, until
from tests.streams.ledger import Ledger

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

STAGE = Stage.INTAKE


def numbered(begin: int, end: int) -> list[str]:
    return [f"k{number % 11}-{number:05d}" for number in range(begin, end)]


async def create(settings: Settings, topic: str, *, partitions: int = 4, **configs: str) -> None:
    """Create a topic as somebody else would have: with their own configuration."""
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    try:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        new = NewTopic(topic, partitions, settings.topic_replication, topic_configs=named)
        answer = await admin.create_topics([new])
        assert all(code == 0 for _, code, *_ in answer.topic_errors), answer
    finally:
        await admin.close()


async def keep(settings: Settings, topic: str, *, retention_ms: int) -> None:
    """Set how long a topic keeps its records; -1: for ever."""
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    try:
        await admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": str(retention_ms)})]
        )
    finally:
        await admin.close()


async def send_at_last(settings: Settings, values: list[str]) -> None:
    """Produce as a producer does that waits for its cluster: what fails for now is sent again."""

    async def sent() -> bool:
        try:
            await send(settings, values)
        except StoreUnavailable:
            return False
        return True

    await until(sent, within_s=120)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_broker_that_restarts_is_a_pause_and_loses_nothing(
    tmp_path: Path, how: signal.Signals, ledger: Ledger
) -> None:
    with KafkaCluster(tmp_path / "kafka") as cluster:
        kafka = settings_of(cluster, topic_prefix="r.")
        worker = WorkerProcess(kafka, ledger, ("intake",), {"batch_max_events": 25})
        try:
            await send(kafka, numbered(0, 400))
            await until(lambda: len(ledger.came()) >= 50)
            cluster.restart(cluster.nodes[0], how)
            await send_at_last(kafka, numbered(400, 600))
            await until(lambda: set(ledger.came()) == set(numbered(0, 600)), within_s=90)
            out = await read(kafka, STAGE.output.name_in(kafka))
            assert {record.value for record in out} == {value.encode() for value in numbered(0, 600)}
            assert worker.running, worker.told()
        finally:
            worker.kill()


async def test_three_brokers_carry_on_when_any_one_of_them_is_killed(tmp_path: Path, ledger: Ledger) -> None:
    with KafkaCluster(tmp_path / "kafka", 3, properties={"min.insync.replicas": "2"}) as cluster:
        kafka = settings_of(cluster, topic_prefix="f.", topic_replication=3)
        worker = WorkerProcess(kafka, ledger, ("intake",), {"batch_max_events": 25, "topic_replication": 3})
        try:
            for round_, node in enumerate(cluster.nodes):
                await send_at_last(kafka, numbered(round_ * 200, round_ * 200 + 100))
                cluster.kill(node)
                await send_at_last(kafka, numbered(round_ * 200 + 100, round_ * 200 + 200))
                await until(lambda end=(round_ + 1) * 200: len(set(ledger.came())) == end, within_s=90)
                cluster.start(node)
                cluster.wait(node)
            assert set(ledger.came()) == set(numbered(0, 600))
            assert worker.running, worker.told()
        finally:
            worker.kill()


async def test_records_that_retention_took_do_not_stop_the_next_ones(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    topic = STAGE.source.name_in(kafka)
    await create(kafka, topic, segment_ms="200", file_delete_delay_ms="100")
    await send(kafka, numbered(0, 40))
    first = workers()
    await until(lambda: len(ledger.came()) == 40)
    assert first.terminate() < 10
    await send(kafka, numbered(40, 80))
    await keep(kafka, topic, retention_ms=500)  # only now: nothing is taken from a worker that is slow to begin

    async def gone() -> bool:
        # a segment is rolled, and the old one taken, when something is written after its time
        await send(kafka, ["k0-filler"])
        return not {b"k1-00045", b"k2-00046"} & {record.value for record in await read(kafka, topic)}

    await until(gone, within_s=60)
    await keep(kafka, topic, retention_ms=-1)  # what comes now must outlive a slow machine
    second = workers()
    await until(second.is_ready)
    await send(kafka, numbered(80, 120))
    await until(lambda: set(numbered(80, 120)) <= set(ledger.came()))


async def test_offsets_that_compaction_took_are_passed_over_and_acknowledged(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    topic = STAGE.source.name_in(kafka)
    await create(
        kafka,
        topic,
        cleanup_policy="compact",
        segment_ms="200",
        min_cleanable_dirty_ratio="0.001",
        max_compaction_lag_ms="500",
    )
    await send(kafka, [value for number in range(8) for value in numbered(number * 40, number * 40 + 40)])

    async def compacted() -> bool:
        # what is written last is never compacted: each partition needs something after it
        await send(kafka, numbered(0, 11))
        return len(await read(kafka, topic)) < 200

    await until(compacted, within_s=90)
    worker = workers()
    left = {(record.value or b"").decode() for record in await read(kafka, topic)}
    await until(lambda: left <= set(ledger.came()))
    last = {record.partition: record.offset + 1 for record in await read(kafka, topic)}

    async def all_acknowledged() -> bool:
        return await committed(kafka, STAGE) == sum(last.values())

    await until(all_acknowledged)
    assert worker.running


async def test_memory_topics_that_differ_in_partitions_stop_the_worker_with_a_sentence(
    kafka: Settings, workers: WorkerProcess.Maker
) -> None:
    await create(kafka, Topic.MEMORY_EVENTS.name_in(kafka), partitions=4)
    await create(kafka, Topic.MEMORY_INGESTED.name_in(kafka), partitions=3)
    worker = workers("ingest")
    assert await worker.ended() == 1
    assert "must have the same number of partitions" in worker.told()


async def test_a_dead_letter_topic_that_refuses_the_size_stops_the_worker_and_acknowledges_nothing(
    kafka: Settings, ledger: Ledger, workers: WorkerProcess.Maker
) -> None:
    await create(kafka, STAGE.source.dead_letters_in(kafka), max_message_bytes="50000")
    await send(kafka, ["reject-" + "x" * 200_000])
    worker = workers()
    assert await worker.ended() == 1
    assert "refuses a record of this size" in worker.told()
    assert await committed(kafka, STAGE) == 0


async def test_a_record_over_the_size_of_an_event_is_dead_lettered_whole(
    kafka: Settings, workers: WorkerProcess.Maker
) -> None:
    big = "reject-" + "x" * 2_000_000
    await send(kafka, [big, *numbered(0, 20)])
    workers()

    async def lettered() -> bool:
        letters = await read(kafka, STAGE.source.dead_letters_in(kafka))
        return [letter.value for letter in letters] == [big.encode()]

    await until(lettered)
