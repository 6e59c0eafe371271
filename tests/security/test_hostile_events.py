"""Producers that mean harm: whatever they send is stored as their own or lettered, and the worker goes on."""

import asyncio
import json
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.events import decode_event, derive_id
from memory.graph import Graph
from memory.records import Outgoing, Record
from memory.settings import Settings, load_settings
from streams.admin import ensure_topics
from streams.dlq import letters
from streams.ingest import open_ingest
from streams.intake import open_intake, take_in
from streams.publisher import Publisher
from streams.runtime import serve_stages
from streams.topics import Stage, Topic
from tests.security.hostile import BODIES, NASTY, deep, half, nasty, tries, values
from tests.streams.helpers import read, until

EVENT: dict[str, Any] = {
    "tenant": "ours",
    "agent": "a",
    "session": "s",
    "kind": "message",
    "text": "Deploy is done",
    "occurred_at": "2026-05-08T15:56:00+02:00",
}
FIELDS = [*EVENT, "id", "source", "speaker", "sequence", "parent", "caused_by", "entities", "attributes", "trace"]


@cache
def rules(mode: str = "payload") -> Settings:
    return load_settings(intake_tenant=mode)


def raw_json(value: object) -> bytes:
    """Write JSON as a careless producer does: halves of surrogate pairs and infinities included."""
    return json.dumps(value).encode()


@tries(400)
@given(
    changed=st.dictionaries(st.one_of(st.sampled_from(FIELDS), half), st.one_of(half, values), max_size=5),
    headers=st.lists(
        st.tuples(
            st.sampled_from(["content-type", "magma-tenant", "magma-id", "traceparent", "x"]), st.binary(max_size=30)
        ),
        max_size=3,
    ),
    mode=st.sampled_from(["payload", "header", "topic:in.{tenant}"]),
)
def test_intake_takes_or_refuses_and_never_gives_to_another_tenant(
    changed: dict[str, Any], headers: list[tuple[str, bytes]], mode: str
) -> None:
    bound = (("magma-tenant", b"ours"),) if mode == "header" else ()
    sent = tuple(one for one in headers if one[0] != "magma-tenant") + bound
    record = Record("in.ours", 0, 1, 1_700_000_000_000, b"k", raw_json({**EVENT, **changed}), sent)
    handled = take_in([record], rules(mode))
    assert len(handled.outgoing) + len(handled.rejected) == 1
    for out in handled.outgoing:
        event = decode_event(out.value)
        assert out.placed_by == f"{event.tenant}|{event.session}".encode()
        if mode != "payload":
            assert event.tenant == "ours"
        assert event.model_dump_json(exclude_defaults=True).encode() == out.value
    for refused in handled.rejected:
        assert refused.error.code in (
            "malformed_event",
            "oversize_event",
            "tenant_mismatch",
            "tenant_unknown",
        )


@tries(200)
@given(st.one_of(st.binary(max_size=200), st.sampled_from(BODIES)))
def test_no_bytes_make_intake_fail(value: bytes) -> None:
    record = Record("agent.events", 0, 1, 1_700_000_000_000, None, value)
    handled = take_in([record], rules())
    assert len(handled.outgoing) + len(handled.rejected) == 1


@given(nasty)
def test_the_reason_of_a_refusal_does_not_repeat_the_event(text: str) -> None:
    secret = "zq-secret-zq"
    record = Record("agent.events", 0, 1, 0, None, raw_json({**EVENT, "kind": secret + text, "agent": secret + "|"}))
    (refused,) = take_in([record], rules()).rejected
    assert secret not in refused.error.message


def hostile_values(tenant: str, other: str) -> list[bytes]:
    """Give what an attacker of tenant `tenant` sends who knows everything of tenant `other`."""
    fresh = {**EVENT, "tenant": tenant}
    made = [
        raw_json({**fresh, field: text}) for text in NASTY for field in ("text", "agent", "session", "speaker", "id")
    ]
    made += [raw_json({**fresh, "entities": [text], "attributes": {text: {"a": text}}}) for text in NASTY]
    made += [raw_json({**fresh, "id": f"p{n}", "parent": text}) for n, text in enumerate(NASTY)]
    theirs = {
        "id": "x1",
        "parent": "e1",
        "caused_by": ["e1", derive_id(other, None, "e1")],
        "entities": ["Their Person"],
    }
    made += [raw_json({**fresh, **theirs, "text": f"caused by {derive_id(other, None, 'e1')} of {other}"})]
    made += BODIES
    made += [b'{"tenant": "x", "attributes": ' + deep("[", "]", 200) + b"}"]
    made += [
        orjson.dumps(fresh)[:-1] + b', "attributes": ' + deep('{"a":', "}", levels) + b"}"
        for levels in (100, 300, 10_000)
    ]
    return made


@pytest.mark.stack
async def test_a_worker_lives_through_all_of_it_and_the_other_tenant_is_as_it_was(
    settings: Settings, tenant: str
) -> None:
    other = f"{tenant}-other"
    await ensure_topics(settings)
    topic = Topic.AGENT_EVENTS.name_in(settings)
    stop = asyncio.Event()
    begun = datetime.now(UTC)
    async with asyncio.TaskGroup() as group, Publisher.open(settings) as publisher, Graph.open(settings) as graph:
        worker = group.create_task(serve_stages(settings, {Stage.INTAKE: open_intake, Stage.INGEST: open_ingest}, stop))

        async def durable(whose: str, ident: str) -> bool:
            assert not worker.done()
            stored = derive_id(whose, None, ident)
            return stored in await graph.reader(whose).events([stored])

        await publisher.publish(topic, [Outgoing(b"k", raw_json({**EVENT, "tenant": other, "id": "e1"}))])
        await until(lambda: durable(other, "e1"), within_s=90)
        before = await graph.reader(other).counts()
        sent = hostile_values(tenant, other)
        await publisher.publish(topic, [Outgoing(None, value) for value in sent])
        await publisher.publish(topic, [Outgoing(b"k", raw_json({**EVENT, "tenant": tenant, "id": "last"}))])
        await until(lambda: durable(tenant, "last"), within_s=90)

        async def all_settled() -> bool:
            out = await read(settings, Topic.MEMORY_EVENTS.name_in(settings))
            refused = await letters(settings, [Topic.AGENT_EVENTS])
            return len(out) + len(refused) == len(sent) + 2

        await until(all_settled, within_s=90)
        assert not worker.done()
        assert await graph.reader(other).counts() == before
        edges = await graph.reader(other).neighbours([derive_id(other, None, "e1")], hub_limit=50)
        assert not edges.edges
        for letter in await letters(settings):
            assert letter.at >= begun.replace(microsecond=0)
            assert all(char.isprintable() for text in letter.error.values() for char in text)
        stop.set()
    assert worker.result() == 0
