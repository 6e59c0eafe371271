"""Stages with an OpenAI-compatible model behind them: a server on loopback instead of one that thinks."""

import json
import re

import pytest
from pydantic import SecretStr

from memory.errors import RateLimited, UnusableModelOutput
from memory.events import AgentEvent
from memory.graph import Mark
from memory.relations import EdgeType
from memory.settings import LlmProvider, Settings
from tests.consolidators.memory import Memory, edges_of
from tests.llm.server import Reply, serving

pytestmark = pytest.mark.stack


def with_model(settings: Settings, url: str) -> Settings:
    return settings.model_copy(
        update={
            "llm_provider": LlmProvider.OPENAI,
            "llm_model": "test-model",
            "openai_base_url": url,
            "openai_api_key": SecretStr("k"),
        }
    )


def events(memory: Memory, session: str = "s1") -> list[AgentEvent]:
    return [
        memory.event(f"{session}-a", "Rollout of Basalt 4 is complete.", at=0, session=session),
        memory.event(f"{session}-b", "Every login is refused.", at=1, session=session),
    ]


def answer(confidence: float = 0.9) -> str:
    def read(ident: str, *names: str) -> dict[str, object]:
        named = [{"name": name, "type": "product"} for name in names]
        lists: dict[str, object] = {"relationships": [], "semantic_facts": [], "dates_mentioned": []}
        return {"id": ident, "entities": named, "topic": "login", "summary": "s", **lists}

    link = {"cause": "e1", "effect": "e2", "kind": "leads_to", "confidence": confidence, "rationale": "then refused"}
    return json.dumps({"events": [read("e1", "Basalt 4"), read("e2")], "causal_links": [link]})


async def test_a_models_edges_carry_their_model_prompt_and_evidence(memory: Memory) -> None:
    records = await memory.store(events(memory))
    with serving(Reply(answer())) as script:
        (edge,) = edges_of(await memory.run("causal", records, with_model(memory.settings, script.url)))
    assert (edge["source"], edge["target"]) == (memory.id("s1-a"), memory.id("s1-b"))
    assert (edge["origin"], edge["model"]) == ("llm", "test-model")
    assert re.fullmatch(r"consolidate-\d+", edge["prompt_version"])
    assert edge["evidence"] == [memory.id("s1-a"), memory.id("s1-b")]


async def test_an_unsure_cause_of_a_model_is_not_kept(memory: Memory) -> None:
    records = await memory.store(events(memory))
    with serving(Reply(answer(confidence=0.6))) as script:
        handled = await memory.run("causal", records, with_model(memory.settings, script.url))
    assert edges_of(handled) == []
    assert EdgeType.CAUSES not in (await memory.reader.counts()).edges


async def test_a_models_entities_join_those_of_the_rules_by_their_normal_form(memory: Memory) -> None:
    records = await memory.store(events(memory))
    with serving(Reply(answer())) as script:
        edges = edges_of(await memory.run("entities", records, with_model(memory.settings, script.url)))
    named = {edge["target"]: edge["origin"] for edge in edges if edge["type"] == EdgeType.MENTIONS}
    assert named == {"basalt 4": "llm"}
    assert [edge["target"] for edge in edges if edge["type"] == EdgeType.SPOKEN_BY] == ["ana", "ana"]


async def test_a_session_that_the_model_cannot_read_is_rejected_alone(memory: Memory) -> None:
    good = events(memory, "s2")
    bad = [memory.event(f"s1-{at}", f"Lunch is at {at}.", at=at, session="s1") for at in range(2)]
    records = await memory.store([*bad, *good])
    with serving(Reply(read=lambda asked: "no" if "Lunch" in asked["messages"][1]["content"] else answer())) as script:
        handled = await memory.run("causal", records, with_model(memory.settings, script.url))
    (rejected,) = handled.rejected
    assert rejected.record == records[0]
    assert isinstance(rejected.error, UnusableModelOutput)
    ids = [memory.id(event.id or "") for event in (*bad, *good)]
    assert await memory.reader.unfinished(ids, [Mark.CAUSAL]) == set(ids[:2])
    assert len(edges_of(handled)) == 1


async def test_what_is_finished_is_not_paid_for_twice(memory: Memory) -> None:
    records = await memory.store(events(memory))
    with serving(Reply(answer())) as script:
        settings = with_model(memory.settings, script.url)
        await memory.run("causal", records, settings)
        await memory.run("causal", records, settings)
    assert len(script.requests) == 1


async def test_a_rate_limit_leaves_everything_to_be_done_again(memory: Memory) -> None:
    records = await memory.store(events(memory))
    with serving(Reply(status=429, headers={"retry-after": "1"})) as script, pytest.raises(RateLimited):
        await memory.run("causal", records, with_model(memory.settings, script.url))
    ids = [memory.id("s1-a"), memory.id("s1-b")]
    assert await memory.reader.unfinished(ids, [Mark.CAUSAL]) == set(ids)
