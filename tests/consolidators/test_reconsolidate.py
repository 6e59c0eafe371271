"""Consolidation done again: what was inferred goes and comes back, what a producer said stays, interruption is safe."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from memory.graph import Mark
from memory.records import Ingested, Record, decode_ingested
from memory.relations import CausalEdge, CausalKind, EdgeType, Origin, Provenance
from memory.settings import Settings
from streams.publisher import Publisher
from streams.reconsolidate import ReconsolidateReport, Selection, reconsolidate
from streams.scan import scan
from streams.topics import Topic
from tests.consolidators.memory import Memory
from tests.dump import dump

pytestmark = pytest.mark.stack

TEXTS = (
    "Rollout of Basalt 4 is complete.",
    "Every login is refused because of Basalt 4.",
    "Maria Lopez rolled Basalt 4 back.",
    "Logins work again since Maria Lopez rolled Basalt 4 back.",
)
STAGES = tuple(mark.value for mark in Mark)


class Interrupted(Exception):
    pass


@pytest.fixture
def own(memory: Memory) -> Settings:
    """Settings with topics of the test's own."""
    return memory.settings.model_copy(update={"topic_prefix": f"t{uuid4().hex[:10]}."})


async def filled(memory: Memory) -> None:
    parents: dict[str, Any] = {"caused_by": ["e0"]}
    events = [memory.event(f"e{at}", text, at=at, **(parents if at == 1 else {})) for at, text in enumerate(TEXTS)]
    records = await memory.store(events)
    for stage in STAGES:
        await memory.run(stage, records)


async def announced(settings: Settings) -> list[tuple[Record, Ingested]]:
    topic = Topic.MEMORY_INGESTED.name_in(settings)
    return [(record, decode_ingested(record.value)) async for read in scan(settings, topic) for record in read]


async def again(memory: Memory, own: Settings, **selected: Any) -> ReconsolidateReport:
    selection = Selection(**({"kinds": tuple(Mark)} | selected))
    return await reconsolidate(own, memory.graph, [memory.tenant], selection)


async def worked_off(memory: Memory, own: Settings) -> None:
    for record, value in await announced(own):
        for stage in STAGES:
            if value.is_for(stage):
                await memory.run(stage, [record])


async def test_what_was_inferred_comes_back_the_same_and_what_the_producer_said_was_never_gone(
    memory: Memory, own: Settings
) -> None:
    await filled(memory)
    before = dump(memory.settings, memory.tenant)
    report = await again(memory, own)
    assert report.edges > 0
    assert (report.tenants, report.sessions, report.events) == (1, 1, len(TEXTS) * len(STAGES))
    ids = [memory.id(f"e{at}") for at in range(len(TEXTS))]
    for mark in Mark:
        assert await memory.reader.unfinished(ids, (mark,)) == set(ids)
    counts = (await memory.reader.counts()).edges
    assert counts[EdgeType.CAUSES] == 1, "the producer's own cause stays"
    assert counts[EdgeType.SPOKEN_BY] == len(TEXTS), "so does who spoke"
    await worked_off(memory, own)
    assert dump(memory.settings, memory.tenant) == before
    assert (await memory.reader.unfinished(ids, tuple(Mark))) == set()


async def test_only_the_kind_that_was_asked_for_is_cleared_and_announced_and_to_its_stage_alone(
    memory: Memory, own: Settings
) -> None:
    await filled(memory)
    before = dump(memory.settings, memory.tenant)
    await again(memory, own, kinds=(Mark.ENTITIES,))
    assert {value.stages for _, value in await announced(own)} == {("entities",)}
    after = dump(memory.settings, memory.tenant)
    for kind in ("SIMILAR", "CAUSES", "PART_OF", "NEXT"):
        assert after.edges_of(kind) == before.edges_of(kind)


async def test_an_interrupted_run_is_finished_by_the_next_one(
    memory: Memory, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(memory)
    before = dump(memory.settings, memory.tenant)

    async def interrupted(*_: object) -> None:
        raise Interrupted

    with monkeypatch.context() as broken:
        broken.setattr(Publisher, "publish", interrupted)
        with pytest.raises(Interrupted):
            await again(memory, own, kinds=(Mark.ENTITIES,))
    assert await announced(own) == []
    future = datetime(2090, 1, 1, tzinfo=UTC)
    report = await again(memory, own, kinds=(Mark.ENTITIES,), since=future)
    assert report.events == len(TEXTS), "cleared and not announced is announced, whatever is selected"
    await worked_off(memory, own)
    assert dump(memory.settings, memory.tenant) == before
    assert (await again(memory, own, kinds=(Mark.ENTITIES,), since=future)).events == 0


async def test_edges_of_another_prompt_version_stay_and_bounds_on_causes_are_counted_again(
    memory: Memory, own: Settings
) -> None:
    await filled(memory)
    ids = [memory.id(f"e{at}") for at in range(len(TEXTS))]

    def edge(cause: str, effect: str, version: str, kind: CausalKind) -> CausalEdge:
        return CausalEdge(cause, effect, kind, Provenance(Origin.LLM, 0.9, 0, model="m", prompt_version=version))

    old = edge(ids[0], ids[3], "consolidate-1", CausalKind.PREVENTS)
    new = edge(ids[1], ids[3], "consolidate-2", CausalKind.PREVENTS)
    assert len(await memory.graph.writer().write_causes(memory.tenant, [old, new])) == 2
    report = await again(memory, own, kinds=(Mark.CAUSAL,), prompt_version="consolidate-1")
    assert report.edges == 1
    assert report.events == len(TEXTS)
    left = [line for line in dump(memory.settings, memory.tenant).edges_of("CAUSES") if "prevents" in line]
    assert len(left) == 1
    assert "consolidate-2" in left[0]
    nodes = {node["id"]: node for node in dump(memory.settings, memory.tenant).nodes_of("Event")}
    inferred = [
        line for line in dump(memory.settings, memory.tenant).edges_of("CAUSES") if '"origin": "producer"' not in line
    ]
    assert nodes[ids[3]]["causes_in"] == sum(f'"{memory.tenant}|{ids[3]}", {{' in line for line in inferred)
    assert (await again(memory, own, kinds=(Mark.CAUSAL,), prompt_version="consolidate-9")).edges == 0
