"""What consolidation costs in calls of a model: at most a quarter of one for each event."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from consolidators import open_handler
from memory.events import AgentEvent
from memory.settings import Settings
from tests.consolidators.memory import Memory, edges_of, open_memory
from tests.llm.reader import reading
from tests.llm.server import Reply, serving
from tests.llm.test_shared import configured

pytestmark = pytest.mark.stack

INCIDENT = Path(__file__).parents[2] / "examples" / "incident.jsonl"


def incident(tenant: str) -> list[AgentEvent]:
    events = [AgentEvent.model_validate_json(line) for line in INCIDENT.read_text(encoding="utf-8").splitlines()]
    return [event.model_copy(update={"tenant": tenant}) for event in events]


@pytest.fixture
async def memory(settings: Settings, tenant: str) -> AsyncIterator[Memory]:
    async with open_memory(settings, tenant) as opened:
        yield opened


async def test_both_stages_that_ask_cost_a_quarter_of_a_call_for_an_event_at_most(memory: Memory) -> None:
    events = incident(memory.tenant)
    records = await memory.store(events)
    with serving(Reply(read=lambda request: reading(request, lambda cause, effect: True))) as script:
        settings = configured(memory.settings, script)
        async with open_handler("entities", settings) as entities, open_handler("causal", settings) as causal:
            done = await asyncio.gather(entities.handle(records), causal.handle(records))
        first = len(script.requests)
        for stage in ("entities", "causal"):  # and once more, after a restart
            await memory.run(stage, records, settings)
    assert not any(handled.rejected or handled.postponed for handled in done)
    assert all(edges_of(handled) for handled in done)
    assert first / len(events) <= 0.25
    assert len(script.requests) == first
