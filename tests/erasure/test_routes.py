"""Forgetting over HTTP: an order of the caller's own tenant, its scope, its receipt."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from memory.erasure import Receipt
from memory.receipts import is_genuine
from memory.records import Record
from memory.settings import Settings
from query_api.auth.caller import Scope
from query_api.service import make_app
from streams.admin import ensure_topics
from streams.erasures import ask, open_erase
from streams.topics import Topic
from tests.query.small_memory import Said, SmallMemory, small_memory
from tests.security.faces import bearer, make_key
from tests.streams.helpers import read

pytestmark = [pytest.mark.stack, pytest.mark.timeout(120)]

SAID = [
    Said(f"e{number}", f"2023-05-08T10:0{number}:00+00:00", "Ada", f"The plan has {number} parts.", session)
    for number, session in enumerate(["a", "a", "b"])
]


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[SmallMemory]:
    await ensure_topics(settings)
    async with small_memory(settings, tenant) as opened:
        await opened.write(*SAID)
        yield opened


@pytest.fixture
async def client(settings: Settings, memory: SmallMemory) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(settings, order=partial(ask, settings))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://127.0.0.1",
            headers={"X-Magma-Tenant": memory.tenant},
            timeout=30,
        ) as opened,
    ):
        yield opened


async def carry_out(settings: Settings) -> None:
    """Do what a worker of the stage does with the orders that are in the log."""
    records = await read(settings, Topic.MEMORY_ERASURES.name_in(settings))
    async with open_erase(settings) as handler:
        await handler.handle([Record("memory.erasures", 0, n, 0, one.key, one.value) for n, one in enumerate(records)])


async def test_a_session_is_ordered_carried_out_and_receipted(
    client: httpx.AsyncClient, settings: Settings, memory: SmallMemory
) -> None:
    answer = await client.delete("/v1/sessions/a")
    assert answer.status_code == 202
    receipt = f"/v1/receipts/{answer.json()['receipt']}"
    assert (await client.get(receipt)).status_code == 404
    await carry_out(settings)
    told = (await client.get(receipt)).json()["receipt"]
    assert (told["events"], told["verified"]) == (2, True)
    assert {name: what for name, what in told["scope"].items() if what} == {"tenant": memory.tenant, "session": "a"}
    assert is_genuine(Receipt.model_validate(told), told["key"])
    assert [one["session"] for one in (await client.get("/v1/sessions")).json()["sessions"]] == ["b"]
    body = (await client.post("/v1/query", json={"question": "What has the plan?"})).json()
    assert {event["session"] for event in body["events"]} == {"b"}


@pytest.mark.parametrize("path", ["/v1/tenant", "/v1/agents/Ada", "/v1/events/5f9a3c1e-8f3b-5d64-9a43-0c6d1f2b7e10"])
async def test_every_scope_can_be_ordered(client: httpx.AsyncClient, settings: Settings, path: str) -> None:
    assert (await client.delete(path)).status_code == 202
    assert len(await read(settings, Topic.MEMORY_ERASURES.name_in(settings))) == 1


async def test_what_names_nothing_is_refused_and_nothing_is_ordered(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    for path in ("/v1/events/e1", "/v1/sessions/a%7Cb", "/v1/agents/%00"):
        answer = await client.delete(path)
        assert answer.status_code == 422, path
        assert answer.headers["content-type"] == "application/problem+json"
    assert await read(settings, Topic.MEMORY_ERASURES.name_in(settings)) == []


async def test_another_tenants_receipt_is_not_there(
    client: httpx.AsyncClient, settings: Settings, memory: SmallMemory
) -> None:
    ident = (await client.delete("/v1/tenant")).json()["receipt"]
    await carry_out(settings)
    other = await client.get(f"/v1/receipts/{ident}", headers={"X-Magma-Tenant": f"{memory.tenant}-b"})
    assert other.status_code == 404


async def test_a_key_that_may_read_may_not_erase(settings: Settings, tmp_path: Path) -> None:
    await ensure_topics(settings)
    file = tmp_path / "keys.json"
    keys = {scope: make_key(file, "acme", [scope])[1] for scope in (Scope.READ, Scope.ERASE)}
    configured = settings.model_copy(update={"api_keys_file": file})
    app = make_app(configured, order=partial(ask, configured))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", timeout=30) as client,
    ):
        for scope, status in ((Scope.READ, 403), (Scope.ERASE, 202)):
            assert (await client.delete("/v1/tenant", headers=bearer(keys[scope]))).status_code == status
    (order,) = await read(configured, Topic.MEMORY_ERASURES.name_in(configured))
    assert order.key == b"acme"
