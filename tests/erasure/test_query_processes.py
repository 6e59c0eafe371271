"""What one process is told to erase, every query process forgets, though it was asked nothing."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial

import httpx
import pytest

from memory.erasure import Erasure, Scope
from memory.errors import StoreUnavailable
from memory.records import Outgoing, Record
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.forgetful import Forgetful, forgetful
from query_api.service import make_app
from streams.admin import ensure_topics
from streams.erasure_feed import orders
from streams.erasures import ask, open_erase
from streams.publisher import Publisher
from streams.topics import Topic
from tests.query.small_memory import Said, SmallMemory, small_memory
from tests.streams.helpers import until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(240)]

SAID = [Said(f"e{n}", f"2023-05-08T10:0{n}:00+00:00", "Ada", f"The plan has {n} parts.", "a") for n in range(3)]


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[SmallMemory]:
    await ensure_topics(settings)
    async with small_memory(settings, tenant) as opened:
        await opened.write(*SAID)
        yield opened


def held(retriever: Retriever, tenant: str) -> set[str]:
    """The stored ids that a retriever remembers of a tenant, wherever it does."""
    remembered = retriever._remembered
    places = (remembered._events._held, remembered._vectors._held, retriever._documents._known)
    return {ident for place in places for of, ident in place if of == tenant}


async def test_a_query_process_forgets_what_another_was_told_to_erase(
    settings: Settings, memory: SmallMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Retriever] = []
    honest = Retriever.forget

    def forget(retriever: Retriever, tenant: str, ids: frozenset[str] | None = None) -> None:
        told.append(retriever)
        honest(retriever, tenant, ids)

    monkeypatch.setattr(Retriever, "forget", forget)
    retrievers: list[Retriever] = []
    query = Retriever.query

    async def asked(retriever: Retriever, *given: object) -> object:
        retrievers.append(retriever)
        return await query(retriever, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Retriever, "query", asked)
    app = make_app(settings, feed=partial(orders, settings))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://127.0.0.1",
            headers={"X-Magma-Tenant": memory.tenant},
            timeout=60,
        ) as client,
    ):
        question = {"question": "What has the plan?"}
        assert (await client.post("/v1/query", json=question)).json()["events"]
        (retriever,) = retrievers
        assert held(retriever, memory.tenant)
        order = await ask(settings, Scope(tenant=memory.tenant))

        async def forgotten() -> bool:
            return not held(retriever, memory.tenant)

        await until(forgotten, within_s=90)
        # it is asked before a worker has begun, and remembers what is there still
        assert (await client.post("/v1/query", json=question)).json()["events"]
        assert held(retriever, memory.tenant)
        before = len(told)
        async with open_erase(settings) as handler:
            await handler.handle([Record("memory.erasures", 0, 0, 0, b"", order.encode())])
        await until(forgotten, within_s=90)
        assert len(told) > before
        assert (await client.post("/v1/query", json=question)).json()["events"] == []


async def test_the_feed_gives_every_order_and_leaves_out_what_is_none(settings: Settings, tenant: str) -> None:
    await ensure_topics(settings)
    first = await ask(settings, Scope(tenant=tenant))
    async with Publisher.open(settings) as publisher:
        await publisher.publish(Topic.MEMORY_ERASURES.name_in(settings), [Outgoing(tenant.encode(), b"{}")])
    second = await ask(settings, Scope(tenant=tenant, session="s"))
    found: list[Erasure] = []
    async with aclosing(orders(settings)) as turns:
        async for turn in turns:
            found += turn
            if len(found) == 2:
                break
    assert found == [first, second]


async def test_orders_are_followed_again_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query_api.forgetful._WAIT_S", (0.01, 0.02))
    opened: list[int] = []
    taken: list[Erasure] = []
    order = Erasure.of(Scope(tenant="t"), 1)

    async def feed() -> AsyncGenerator[tuple[Erasure, ...], None]:
        opened.append(1)
        yield (order,)
        raise StoreUnavailable("the broker went away")

    async def turn(_: Forgetful, orders_: tuple[Erasure, ...]) -> None:
        taken.extend(orders_)

    monkeypatch.setattr(Forgetful, "turn", turn)

    async def thrice() -> bool:
        return len(opened) >= 3

    async with forgetful(lambda: pytest.fail("nothing has to be open"), feed):
        await until(thrice, within_s=30)
    assert taken[:2] == [order, order]
