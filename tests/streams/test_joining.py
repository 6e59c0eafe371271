"""A stage joins its group at a broker that is only just starting."""

import asyncio

import orjson
import pytest
from aiokafka import AIOKafkaConsumer

from memory.settings import Settings
from streams.intake import open_intake
from streams.runtime import serve_stages
from streams.topics import Stage, Topic
from tests.streams.helpers import read, send, until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(120)]

EVENT = {
    "id": "e1",
    "tenant": "acme",
    "agent": "planner",
    "session": "s1",
    "kind": "message",
    "text": "hello",
    "occurred_at": "2026-05-08T10:00:00+00:00",
}


async def test_a_broker_that_names_no_broker_yet_is_asked_again(
    kafka: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, starts = AIOKafkaConsumer.start, []

    async def start(consumer: AIOKafkaConsumer) -> None:
        await honest(consumer)
        starts.append(consumer)
        if len(starts) <= 2:
            consumer._client.cluster._brokers.clear()  # what the client makes of an answer without brokers

    await send(kafka, [orjson.dumps(EVENT).decode()])
    monkeypatch.setattr(AIOKafkaConsumer, "start", start)
    stop = asyncio.Event()

    async def came_out() -> bool:
        return bool(await read(kafka, Topic.MEMORY_EVENTS.name_in(kafka)))

    async with asyncio.TaskGroup() as group:
        served = group.create_task(serve_stages(kafka, {Stage.INTAKE: open_intake}, stop))
        await until(lambda: len(starts) >= 3 or served.done())
        monkeypatch.setattr(AIOKafkaConsumer, "start", honest)
        await until(came_out, within_s=60)
        stop.set()
    assert served.result() == 0
