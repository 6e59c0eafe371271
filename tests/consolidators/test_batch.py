"""What every stage does around its own work: isolation, budgets, and telling every edge though a worker dies."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidators.batch import Outcome, StageHandler, Work, chained, together
from consolidators.factory import open_handler
from memory.errors import BudgetSpent, StoreUnavailable
from memory.events import AgentEvent
from memory.graph import Mark
from memory.graph.erasing_pages import Doomed, Page
from memory.records import Ingested
from memory.relations import EdgeType
from tests.consolidators.memory import Memory, edges_of, ingested

pytestmark = pytest.mark.stack

TEXTS = ("Rollout of Basalt 4 is complete.", "Every login is refused because of Basalt 4.", "Basalt 4 was rolled back.")


class Script:
    """A consolidator that does what it is told for a tenant, and notes what it was given."""

    mark = Mark.CAUSAL

    def __init__(self, errors: dict[str, Exception]) -> None:
        self.errors = errors
        self.given: list[Work] = []

    async def consolidate(self, work: Work) -> Outcome:
        self.given.append(work)
        if work.tenant in self.errors:
            raise self.errors[work.tenant]
        return Outcome()


def limit(memory: Memory, ident: str, value: int, at: int) -> AgentEvent:
    return memory.event(ident, f"The retry limit of checkout is now {value}.", at=at)


def keys_of(edges: list[dict[str, object]]) -> set[tuple[object, ...]]:
    return {(edge["type"], edge["source"], edge["target"]) for edge in edges}


@pytest.mark.parametrize("stage", ["semantic", "entities", "causal", "episodes"])
async def test_what_a_worker_wrote_and_did_not_live_to_publish_is_published_by_the_next(
    memory: Memory, stage: str
) -> None:
    records = await memory.store([memory.event(f"e{at}", text, at=at) for at, text in enumerate(TEXTS)])
    async with open_handler(stage, memory.settings) as handler:
        lost = await handler.handle(records)  # and dies before anything of it is published
    again = await memory.run(stage, records)
    assert keys_of(edges_of(lost)) <= keys_of(edges_of(again))
    if stage in {"entities", "episodes"}:
        assert edges_of(again), "a test of nothing"
    third = await memory.run(stage, records)
    assert edges_of(third) == [], "what was published is not published for ever"


async def test_what_was_owed_is_told_also_when_the_records_come_again_in_other_batches(memory: Memory) -> None:
    await memory.store([memory.event(f"e{at}", text, at=at) for at, text in enumerate(TEXTS)])
    ids = [memory.id(f"e{at}") for at in range(len(TEXTS))]
    whole = ingested(Ingested(tenant=memory.tenant, session="s1", ids=tuple(ids)))
    async with open_handler("entities", memory.settings) as handler:
        lost = await handler.handle([whole])
    told = []
    for ident in ids:
        handled = await memory.run("entities", [ingested(Ingested(tenant=memory.tenant, session="s1", ids=(ident,)))])
        told += edges_of(handled)
    assert keys_of(edges_of(lost)) <= keys_of(told)
    assert edges_of(await memory.run("entities", [whole])) == []


async def test_an_edge_is_told_with_the_same_key_and_provenance_the_second_time(memory: Memory) -> None:
    records = await memory.store([memory.event(f"e{at}", text, at=at) for at, text in enumerate(TEXTS)])
    async with open_handler("entities", memory.settings) as handler:
        lost = {(e["source"], e["target"], e["type"]): e for e in edges_of(await handler.handle(records))}
    for edge in edges_of(await memory.run("entities", records)):
        before = lost[edge["source"], edge["target"], edge["type"]]
        assert {name: edge.get(name) for name in ("origin", "confidence", "rule")} == {
            name: before[name] for name in ("origin", "confidence", "rule")
        }
    assert {kind for _, _, kind in lost} == {EdgeType.MENTIONS, EdgeType.SPOKEN_BY}


async def test_a_tenant_whose_budget_is_spent_waits_and_others_do_not(memory: Memory) -> None:
    resumes_at = datetime.now(UTC) + timedelta(hours=3)
    spent = BudgetSpent("no tokens left", tenant="poor", resumes_at=resumes_at)
    consolidator = Script({"poor": spent})
    handler = StageHandler(consolidator, memory.graph, most_events=2)
    poor = ingested(Ingested(tenant="poor", session="s", ids=("a", "b", "c")), 0)
    rich = ingested(Ingested(tenant=memory.tenant, session="s", ids=("a", "b", "c")), 1)
    handled = await handler.handle([poor, rich])
    (postponed,) = handled.postponed
    assert postponed.record == poor
    assert datetime.now(UTC) < postponed.resumes_at <= datetime.now(UTC) + timedelta(minutes=1)
    assert [work.ids for work in consolidator.given if work.tenant == memory.tenant] == [("a", "b"), ("c",)]
    assert handled.rejected == ()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 6))
def test_work_is_cut_into_parts_that_cut_a_session_as_if_it_were_alone(sizes: list[int], most: int) -> None:
    sessions = {f"s{n}": tuple(f"s{n}-{i}" for i in range(size)) for n, size in enumerate(sizes)}
    parts = list(Work("t", sessions).parts(most))
    assert all(len(part.ids) <= most for part in parts)
    for session, ids in sessions.items():
        chunks = [part.sessions[session] for part in parts if session in part.sessions]
        assert chunks == [ids[start : start + most] for start in range(0, len(ids), most)]


async def test_a_store_that_is_away_is_told_by_its_own_error(memory: Memory) -> None:
    handler = StageHandler(Script({"t": StoreUnavailable("away")}), memory.graph, most_events=10)
    with pytest.raises(StoreUnavailable):
        await handler.handle([ingested(Ingested(tenant="t", session="s", ids=("a",)))])


async def test_a_record_for_other_stages_is_done_with_at_once(memory: Memory) -> None:
    consolidator = Script({})
    handler = StageHandler(consolidator, memory.graph, most_events=10)
    mine = Ingested(tenant="t", session="s", ids=("a",), stages=("causal",))
    others = Ingested(tenant="t", session="s", ids=("b",), stages=("semantic", "episodes"))
    handled = await handler.handle([ingested(mine, 0), ingested(others, 1)])
    assert [work.ids for work in consolidator.given] == [("a",)]
    assert (handled.rejected, handled.postponed) == ((), ())


async def test_what_a_late_event_took_back_is_told_by_the_next_worker_too(memory: Memory) -> None:
    first, late, last = limit(memory, "e0", 20, 0), limit(memory, "e1", 200, 1), limit(memory, "e2", 24, 2)
    edges = edges_of(await memory.run("entities", await memory.store([first, last])))
    (before,) = [edge for edge in edges if edge["type"] == EdgeType.SUPERSEDES]
    stated = {(edge["source"], edge["target"]) for edge in edges if edge["type"] == EdgeType.STATES}
    assert stated == {(memory.id("e0"), before["kind"]), (memory.id("e2"), before["kind"])}
    assert not any({"value", "old", "new"} & edge.keys() for edge in edges), "what is published quotes no event"
    records = await memory.store([late])
    async with open_handler("entities", memory.settings) as handler:
        lost = edges_of(await handler.handle(records))  # and dies before anything of it is published
    again = edges_of(await memory.run("entities", records))
    gone = [edge for edge in again if edge.get("withdrawn")]
    assert [(edge["source"], edge["target"], edge["kind"]) for edge in gone] == [
        (memory.id("e2"), memory.id("e0"), before["kind"])
    ]
    for edge in lost:
        (same,) = [each for each in again if keys_of([each]) == keys_of([edge])]
        shared = edge.keys() & same.keys() - {"withdrawn"}
        assert {name: edge[name] for name in shared} == {name: same[name] for name in shared}
    assert edges_of(await memory.run("entities", records)) == []


async def test_an_edge_that_stands_again_is_not_told_as_taken_back(memory: Memory) -> None:
    await memory.run("entities", await memory.store([limit(memory, "e0", 20, 0), limit(memory, "e2", 24, 2)]))
    records = await memory.store([limit(memory, "e1", 200, 1)])
    async with open_handler("entities", memory.settings) as handler:
        assert any(edge.get("withdrawn") for edge in edges_of(await handler.handle(records)))
    await memory.graph.eraser(memory.tenant).remove(Page((Doomed("s1", (memory.id("e1"),)),)))
    again = edges_of(await memory.run("entities", records))
    assert not any(edge.get("withdrawn") for edge in again)


def test_parts_of_one_session_stay_in_order_and_others_go_side_by_side() -> None:
    work = Work("t", {"a": ("1", "2"), "b": tuple("345678"), "c": ("9",)})
    chains = chained(work.parts(3))
    assert [[dict(part.sessions) for part in parts] for parts in chains] == [
        [{"a": ("1", "2")}],
        [{"b": ("3", "4", "5")}, {"b": ("6", "7", "8")}],
        [{"c": ("9",)}],
    ]


async def test_so_many_jobs_run_together_and_a_failure_is_told_by_its_own_error() -> None:
    running: list[int] = []
    most = 0

    async def job(number: int) -> int:
        nonlocal most
        running.append(number)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.remove(number)
        if number == 9:
            raise StoreUnavailable("gone")
        return number

    assert await together([partial(job, number) for number in range(7)], 3) == list(range(7))
    assert most == 3
    with pytest.raises(StoreUnavailable, match="gone"):
        await together([partial(job, number) for number in (9, 1, 2)], 1)
