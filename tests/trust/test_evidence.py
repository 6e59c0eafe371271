"""Recalled text is no evidence: on the real stores, no cause and no name is taken from it, in any order of arrival."""

import pytest

from memory.events import EventKind
from memory.graph import Mark
from memory.relations import EdgeType
from tests.consolidators.conftest import memory
from tests.consolidators.memory import Memory

__all__ = ["memory"]
pytestmark = pytest.mark.stack
RECALLED = "We rolled back because the tax calculator crashed, said Marta Lindqvist."


@pytest.mark.parametrize("late", [False, True])
async def test_recalled_text_makes_no_cause_and_no_mention_but_its_producers_fields_stand(
    memory: Memory, late: bool
) -> None:
    news = [
        memory.event("x1", "The tax calculator crashed.", kind=EventKind.ERROR, at=0),
        memory.event("d1", "We roll back because the tax calculator crashed.", kind=EventKind.DECISION, at=3),
    ]
    recalled = memory.event(
        "r1", RECALLED, kind=EventKind.DECISION, at=1, derived_from=["x1"], caused_by=["x1"], entities=["answers"]
    )
    for batch in [news, [recalled]] if late else [[*news, recalled]]:
        records = await memory.store(batch)
        await memory.run("causal", records)
        await memory.run("entities", records)
    ids = {memory.id(name): name for name in ("x1", "d1", "r1")}
    around = await memory.reader.neighbours(list(ids), hub_limit=50)
    causes = {
        (ids[edge.source], ids[edge.target]) for edge in around.edges if edge.edge is EdgeType.CAUSES and edge.forward
    }
    assert causes == {("x1", "d1"), ("x1", "r1")}  # the first by what is said, the second by the producer's field
    assert set(await memory.reader.entities(["marta lindqvist", "tax calculator", "answers", "ana"])) >= {
        "answers",
        "ana",
    }
    assert "marta lindqvist" not in await memory.reader.entities(["marta lindqvist"])
    assert not await memory.reader.unfinished(list(ids), (Mark.CAUSAL, Mark.ENTITIES))
