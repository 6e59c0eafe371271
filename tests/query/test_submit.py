"""Events over HTTP: in Kafka when answered, the tenant is the credential's, and what is refused is refused now."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from memory.events import decode_event, derive_id
from memory.settings import Settings
from memory.settings_privacy import RedactionMode
from query_api.auth.caller import Scope
from query_api.service import make_app
from streams.door import open_door
from streams.identity import ID_HEADER
from streams.intake import take_in
from streams.topics import Topic
from tests.security.faces import bearer, make_key, outcome
from tests.streams.helpers import read

pytestmark = [pytest.mark.stack, pytest.mark.timeout(120)]

EVENT = {
    "id": "e1",
    "source": "svc",
    "agent": "planner",
    "session": "s1",
    "kind": "message",
    "text": "the deploy is done",
    "occurred_at": "2026-05-08T15:56:00+02:00",
}


@asynccontextmanager
async def serving(settings: Settings, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(settings, door=partial(open_door, settings))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", headers=headers, timeout=60
        ) as client,
    ):
        yield client


async def test_what_is_answered_is_in_the_log_and_intake_stores_it_under_the_ids_that_were_answered(
    settings: Settings, tenant: str
) -> None:
    async with serving(settings, **{"X-Magma-Tenant": tenant}) as client:
        one = await client.post("/v1/events", json=EVENT)
        nameless = {key: value for key, value in EVENT.items() if key != "id"}
        many = await client.post("/v1/events", json=[{**EVENT, "id": "e2"}, nameless, nameless])
    assert (one.status_code, many.status_code) == (202, 202)
    assert one.json() == {"ids": [derive_id(tenant, "svc", "e1")]}
    answered = [*one.json()["ids"], *many.json()["ids"]]
    assert len(set(answered)) == 4
    records = await read(settings, Topic.AGENT_EVENTS.name_in(settings))
    handled = take_in(records, settings)
    assert not handled.rejected
    assert sorted(dict(out.headers)[ID_HEADER].decode() for out in handled.outgoing) == sorted(answered)
    assert {decode_event(out.value).tenant for out in handled.outgoing} == {tenant}


async def test_the_tenant_is_the_credentials_and_the_scope_is_write(
    settings: Settings, tenant: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.json"
    _, writes = make_key(keys, tenant, [Scope.WRITE])
    _, reads = make_key(keys, tenant, [Scope.READ, Scope.ERASE])
    configured = settings.model_copy(update={"api_keys_file": keys, "intake_tenant": "header"})
    async with serving(configured) as client:
        assert outcome(await client.post("/v1/events", json=EVENT)) == (401, "credential_required")
        assert outcome(await client.post("/v1/events", json=EVENT, headers=bearer(reads))) == (403, "scope_missing")
        named = {**EVENT, "tenant": "other"}
        assert outcome(await client.post("/v1/events", json=named, headers=bearer(writes)))[0] == 422
        assert (await client.post("/v1/events", json=EVENT, headers=bearer(writes))).status_code == 202
    (record,) = await read(settings, Topic.AGENT_EVENTS.name_in(settings))
    assert ("magma-tenant", tenant.encode()) in record.headers


async def test_what_intake_would_refuse_is_refused_at_once_and_nothing_of_the_list_is_sent(
    settings: Settings, tenant: str
) -> None:
    strict = settings.model_copy(update={"event_refs_max": 1, "redaction": RedactionMode.REFUSE})
    async with serving(strict, **{"X-Magma-Tenant": tenant}) as client:

        async def sent(*events: object) -> tuple[int, str]:
            return outcome(await client.post("/v1/events", json=list(events)))

        assert await sent(EVENT, {**EVENT, "entities": ["a", "b"]}) == (422, "oversize_event")
        assert await sent(EVENT, {**EVENT, "text": "write to jo@example.com"}) == (422, "sensitive_data")
        assert await sent(EVENT, {**EVENT, "text": " "}) == (422, "malformed_event")
        assert await sent(EVENT, {**EVENT, "occurred_at": "2026-05-08T15:56:00"}) == (422, "invalid_request")
        assert await sent(EVENT, {**EVENT, "sequence": "1"}) == (422, "invalid_request")
        assert await sent() == (422, "invalid_request")
        assert await sent(*[EVENT] * 501) == (413, "body_too_large")
        assert await sent({**EVENT, "text": "x" * 66_000}) == (413, "body_too_large")
        await client.post("/v1/events", json={**EVENT, "id": "last"})
    (record,) = await read(settings, Topic.AGENT_EVENTS.name_in(settings))
    assert decode_event(record.value).id == "last"


async def test_while_kafka_is_away_the_answer_says_so(settings: Settings, tenant: str) -> None:
    away = settings.model_copy(update={"kafka_bootstrap": "127.0.0.1:9"})
    async with serving(away, **{"X-Magma-Tenant": tenant}) as client:
        response = await client.post("/v1/events", json=EVENT)
    assert outcome(response) == (503, "store_unavailable")
    assert int(response.headers["Retry-After"]) > 0
