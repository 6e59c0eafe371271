"""Each tenant with a topic of its own: the broker's access rules say who writes, the topic says whose it is."""

import asyncio

import orjson
from aiokafka.admin import NewTopic

from memory.events import decode_event
from memory.records import Outgoing
from memory.settings import Settings
from streams.admin import ensure_topics
from streams.clients import make_admin
from streams.dlq import letters, redrive
from streams.intake import open_intake
from streams.publisher import Publisher
from streams.runtime import serve_stages
from streams.topics import Stage, Topic
from tests.streams.helpers import read, until


def event(ident: str, **more: object) -> Outgoing:
    fields = {"agent": "a", "session": "s", "kind": "message", "text": "Deploy is done", "id": ident}
    return Outgoing(b"k", orjson.dumps({**fields, "occurred_at": "2026-05-08T15:56:00Z", **more}))


async def make_topics(settings: Settings, *names: str) -> None:
    admin = make_admin(settings)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 2, 1) for name in names])
    finally:
        await admin.close()


async def test_topics_of_tenants_are_taken_in_also_new_ones_and_letters_go_back_where_they_came_from(
    kafka: Settings,
) -> None:
    settings = kafka.model_copy(update={"intake_tenant": "topic:in.{tenant}"})
    prefix = settings.topic_prefix
    acme, later = f"{prefix}in.acme", f"{prefix}in.later"
    await ensure_topics(settings)
    await make_topics(settings, acme)
    stop = asyncio.Event()

    async def came() -> set[tuple[str, str | None]]:
        out = await read(settings, Topic.MEMORY_EVENTS.name_in(settings))
        return {(found.tenant, found.id) for found in (decode_event(record.value) for record in out)}

    async with asyncio.TaskGroup() as group, Publisher.open(settings) as publisher:
        worker = group.create_task(serve_stages(settings, {Stage.INTAKE: open_intake}, stop))
        await publisher.publish(acme, [event("e1"), event("e2", tenant="acme"), event("e3", tenant="later")])

        async def first() -> bool:
            assert not worker.done()
            return await came() == {("acme", "e1"), ("acme", "e2")}

        await until(first, within_s=60)
        await make_topics(settings, later)
        await publisher.publish(later, [event("e4")])

        async def second() -> bool:
            return ("later", "e4") in await came()

        await until(second, within_s=60)
        (letter,) = await letters(settings, [Topic.AGENT_EVENTS])
        assert (letter.code, letter.place.rpartition("/")[0].rpartition("/")[0]) == ("tenant_mismatch", acme)
        before = len(await read(settings, acme))
        await redrive(settings, [letter])
        assert len(await read(settings, acme)) == before + 1
        assert await read(settings, Topic.AGENT_EVENTS.name_in(settings)) == []
        stop.set()
    assert worker.result() == 0
