"""What a model read is asked once, kept, and forgotten with any event that it was made from."""

import asyncio

import pytest

from memory.graph import Claimed, Extractions, Graph
from tests.graph.build import event

pytestmark = pytest.mark.stack

NOW = 1_700_000_000_000_000


async def stored(graph: Graph, tenant: str, *names: str) -> list[str]:
    nodes = [event(tenant, name) for name in names]
    await graph.writer().write_events(nodes)
    return [node.id for node in nodes]


async def claim(of: Extractions, *keys: str, holder: str = "me", now_us: int = NOW) -> Claimed:
    return await of.claim(keys, holder=holder, now_us=now_us, until_us=now_us + 1_000)


async def test_one_of_many_at_once_gets_the_claim(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(claim(of, "a", "b", holder=f"h{at}")) for at in range(6)]
    claims = [task.result() for task in tasks]
    assert sorted(key for each in claims for key in each.mine) == ["a", "b"]
    assert all(not each.kept and not each.unusable for each in claims)


async def test_a_claim_ends_by_itself(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    assert (await claim(of, "a", holder="dead")).mine == {"a"}
    assert (await claim(of, "a", holder="other")).mine == frozenset()
    assert (await claim(of, "a", holder="other", now_us=NOW + 1_001)).mine == {"a"}


async def test_a_claim_that_was_given_back_is_free_and_one_with_a_reason_is_not(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    await claim(of, "a", "b")
    await of.release(["a"], holder="me")
    await of.release(["b"], holder="me", why="it was a refusal", until_us=NOW + 50)
    again = await claim(of, "a", "b", holder="other")
    assert again.mine == {"a"}
    assert again.unusable == {"b": "it was a refusal"}
    assert (await claim(of, "b", holder="other", now_us=NOW + 51)).mine == {"b"}


async def test_nobody_gives_back_what_another_holds(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    await claim(of, "a", holder="owner")
    await of.release(["a"], holder="other")
    assert (await claim(of, "a", holder="other")).mine == frozenset()


async def test_what_is_kept_comes_back_byte_for_byte_to_this_tenant_only(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    ids = await stored(graph, tenant, "e1")
    await claim(of, "a")
    reading = '{"said": "Zoë — 東京"}'.encode()
    assert await of.keep({"a": reading}, ids, now_us=NOW)
    assert (await claim(of, "a", holder="other")).kept == {"a": reading}
    assert (await claim(graph.extractions(f"{tenant}-2"), "a")).kept == {}


async def test_nothing_is_kept_of_an_event_that_is_gone(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    ids = await stored(graph, tenant, "e1")
    await claim(of, "a")
    assert not await of.keep({"a": b"x"}, [*ids, "never-stored"], now_us=NOW)
    assert (await claim(of, "a", holder="other")).mine == {"a"}


async def test_forgetting_an_event_takes_all_that_the_model_made_with_it_in_sight(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    first, second, third = await stored(graph, tenant, "e1", "e2", "e3")
    await of.keep({"a": b"a"}, [first, second], now_us=NOW)
    await of.keep({"b": b"b"}, [second, third], now_us=NOW + 1)
    await of.keep({"c": b"c"}, [third], now_us=NOW + 2)
    await graph.extractions(f"{tenant}-2").claim(["a"], holder="h", now_us=NOW, until_us=NOW)
    assert await graph.writer().forget_extractions(tenant, [second]) == 2
    assert (await claim(of, "a", "b", "c")).kept == {"c": b"c"}
    assert await graph.writer().forget_extractions(tenant, None) == 3
    assert (await claim(of, "c")).kept == {}


async def test_the_old_ones_go_and_the_walk_passes_its_pages(graph: Graph, tenant: str) -> None:
    of = graph.extractions(tenant)
    ids = await stored(graph, tenant, "e1")
    for at in range(0, 1_100, 550):
        await of.keep({f"k{at + n:04d}": b"x" for n in range(550)}, ids, now_us=NOW + at)
    assert await of.forget(before_us=NOW + 1) == 550
    assert await of.forget() == 550
