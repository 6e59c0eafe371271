"""A secret that is sent to `agent.events` is nowhere behind intake: log, graph, vectors, dead letters."""

import asyncio
from pathlib import Path

import orjson
import pytest

from memory.embedding import make_encoder
from memory.events import derive_id
from memory.graph import Graph
from memory.records import Outgoing
from memory.settings import Settings
from memory.text import document_keywords
from memory.vectors import Vectors
from streams.admin import ensure_topics
from streams.dlq import letters, redrive
from streams.ingest import open_ingest
from streams.intake import open_intake
from streams.publisher import Publisher
from streams.runtime import serve_stages
from streams.topics import Stage, Topic
from tests.streams.helpers import read, until

pytestmark = pytest.mark.stack
CARD, MAIL, TOKEN = "4111 1111 1111 1111", "jo.doe@example.com", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
SECRETS = (CARD, CARD.replace(" ", ""), MAIL, "jo.doe", TOKEN, TOKEN.lower(), "hunter2")


def event(tenant: str, ident: str, text: str, **more: object) -> Outgoing:
    fields = {"tenant": tenant, "agent": "a", "session": "s", "kind": "message", "text": text, "id": ident}
    return Outgoing(b"k", orjson.dumps({**fields, "occurred_at": "2026-05-08T15:56:00Z", **more}))


async def test_a_secret_is_nowhere_behind_intake_and_quarantine_lets_go_what_is_released(
    settings: Settings, tenant: str, tmp_path: Path
) -> None:
    trust = tmp_path / "trust.toml"
    trust.write_text('[sources]\nscraper = "quarantined"\n', encoding="utf-8")
    settings = settings.model_copy(
        update={"redaction": "mask", "trust_file": trust, "topic_partitions": 1, "window_quiet_ms": 0}
    )
    said = f"Paid by {CARD}, receipt to {MAIL}, pushed with {TOKEN} and password=hunter2"
    sent = [
        event(tenant, "e1", said, speaker=MAIL, entities=[MAIL], attributes={"to": [MAIL], "password": "hunter2"}),
        event(tenant, "e1", f"{said} twice"),  # a conflict: its letter is of memory.events
        event(tenant, "e2", "From nobody we know", source="scraper"),
    ]
    await ensure_topics(settings)
    ids = [derive_id(tenant, None, "e1"), derive_id(tenant, "scraper", "e2")]
    encoder = make_encoder(settings)
    async with (
        Publisher.open(settings) as publisher,
        Graph.open(settings) as graph,
        Vectors.open(settings, model=encoder.name, dim=encoder.dim) as vectors,
    ):
        await publisher.publish(Topic.AGENT_EVENTS.name_in(settings), sent)
        await until_settled(settings, {"quarantined", "conflicting_event"})
        stored = await graph.reader(tenant).events(ids)
        assert set(stored) == {ids[0]}
        node = stored[ids[0]]
        assert node.text.startswith("Paid by [card], receipt to [mail], pushed with [secret]")
        found = [hit.id for hit in await vectors.reader(tenant).keywords(document_keywords(node), 5, fresh=True)]
        assert found == ids[:1]
        for secret in ("hunter2", "doe", "4111", TOKEN):
            assert not await vectors.reader(tenant).keywords(secret.lower(), 5, fresh=True)
        mine = await vectors.reader(tenant).vectors(ids, fresh=True)
        again = await encoder.encode([f"[8 May 2026] {node.speaker}: {node.text}"])
        assert float(mine[ids[0]] @ again[0]) > 0.9
        kept = repr(node).encode()
        for topic in (Topic.MEMORY_EVENTS, Topic.MEMORY_INGESTED):
            kept += repr(await read(settings, topic.name_in(settings))).encode()
        kept += repr(await letters(settings)).encode()
        for secret in SECRETS:
            assert secret.encode() not in kept, secret

        trust.write_text("", encoding="utf-8")
        await redrive(settings, await letters(settings, code="quarantined"))
        await until_settled(settings, {"conflicting_event"})
        assert set(await graph.reader(tenant).events(ids)) == set(ids)
    await encoder.close()


async def until_settled(settings: Settings, codes: set[str]) -> None:
    """Run intake and ingest until these letters are there and all that was sent is durable."""
    stop = asyncio.Event()

    async def settled() -> bool:
        done = await read(settings, Topic.MEMORY_INGESTED.name_in(settings))
        return {letter.code for letter in await letters(settings)} == codes and len(done) >= 3 - len(codes)

    async with asyncio.TaskGroup() as group:
        stages = {Stage.INTAKE: open_intake, Stage.INGEST: open_ingest}
        worker = group.create_task(serve_stages(settings, stages, stop))
        try:
            await until(settled, within_s=60)
        finally:
            stop.set()
    assert worker.result() == 0
