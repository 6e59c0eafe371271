"""After an erasure and the broker's own compaction no byte of it is on the broker's disk; dead letters are gone too."""

from pathlib import Path

import orjson
import pytest

from memory.erasure import Scope
from memory.records import Record
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.dlq import letters
from streams.erasures import ask, open_erase
from streams.ingest import open_ingest
from streams.intake import take_in
from streams.publisher import Publisher
from streams.topics import Topic
from tests.erasure.remembered import ACCEPTED_MS, a_letter, event
from tests.kafka.cluster import KafkaCluster
from tests.streams.helpers import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]

MARKER = "Xylophone-4711"
QUICK = {"log.roll.ms": "500", "log.segment.delete.delay.ms": "100"}


def holds(root: Path, marker: str) -> set[str]:
    """The names of the files below `root` that contain the marker."""
    found = set()
    for file in root.rglob("*"):
        try:
            if file.is_file() and marker.encode() in file.read_bytes():
                found.add(file.name)
        except FileNotFoundError:  # a segment that goes while it is looked for
            continue
    return found


async def test_no_byte_is_left_on_the_brokers_disk(stack: Settings, tenant: str, tmp_path: Path) -> None:
    with KafkaCluster(tmp_path / "kafka", properties=QUICK) as cluster:
        settings = stack.model_copy(
            update={
                "kafka_bootstrap": cluster.bootstrap,
                "topic_prefix": "gone.",
                "milvus_collection": f"gone_{tenant[-8:]}",
                "topic_partitions": 1,
                "erased_from_log_within_ms": 500,
            }
        )
        await ensure_topics(settings)
        said = [event(tenant, n, text=f"{MARKER} in step {n}") for n in range(1, 40)]
        kept = [event(f"{tenant}-b", n) for n in range(1, 10)]
        records = [
            Record("agent.events", 0, n, ACCEPTED_MS, None, orjson.dumps(value)) for n, value in enumerate(said + kept)
        ]
        out = take_in(records, settings).outgoing
        log = Topic.MEMORY_EVENTS.name_in(settings)
        async with (
            Publisher.open(settings) as publisher,
            open_ingest(settings) as ingest,
            open_erase(settings) as eraser,
        ):
            await publisher.publish(log, out)
            name = Topic.AGENT_EVENTS.dead_letters_in(settings)
            bad = {**said[0], "occurred_at": "soon"}
            stays = {**kept[0], "occurred_at": "soon"}
            await publisher.publish_to(
                name, [(0, a_letter(orjson.dumps(bad), 1)), (0, a_letter(orjson.dumps(stays), 2))]
            )
            logged = [
                Record("memory.events", 0, n, ACCEPTED_MS, one.key, one.value, one.headers) for n, one in enumerate(out)
            ]
            await ingest.handle(logged)
            assert holds(tmp_path / "kafka", MARKER)
            receipt, _ = await eraser.erase(await ask(settings, Scope(tenant=tenant)))
            assert (receipt.events, receipt.log_records, receipt.letters, receipt.letters_left) == (39, 39, 1, 0)
            assert receipt.verified
            assert [one.record.value for one in await letters(settings)] == [orjson.dumps(stays)]

            async def gone() -> bool:
                # a segment is rolled when something is written after its time; letters go with their segment
                await publisher.publish(log, [one for one in out if one.key and f"{tenant}-b|".encode() in one.key])
                await publisher.publish_to(name, [(0, a_letter(orjson.dumps(stays), 2))])
                return not holds(tmp_path / "kafka", MARKER)

            await until(gone, within_s=150)
