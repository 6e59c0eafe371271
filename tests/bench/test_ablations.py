"""Over the consolidated examples: what an ablation lacks is not walked, and walking without it differs."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.datasets import Conversation, Question
from bench.recalled import OpenStores, open_recalled
from bench.run_magma import Memory, request_for
from bench.systems import ABLATIONS, System, relations_of
from bench.tune import KeepingRanker, OutOfFold, Parameters, choose, collect, moves, proposals, try_policies
from cli.bench_stack import bench_stack, remember
from cli.loop import run
from cli.opened import open_stores
from cli.readers import Format, ReadItem, read_events
from cli.readers.items import encode_event
from memory.relations import Relation
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.policy import shipped_policy
from query_api.ranking import Documents
from query_api.reading import Reading

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = ("incident", "conversation")


def some_questions(name: str) -> Conversation:
    lines = (EXAMPLES / f"{name}.questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::5]]
    return Conversation(name, tuple(Question(row["question"], row["intent"], tuple(row["expected"])) for row in rows))


CONVERSATIONS = [some_questions(name) for name in FILES]


@pytest.fixture(scope="module")
def remembered(stack: Settings) -> Iterator[tuple[Settings, dict[str, str]]]:
    """Both examples, sent through Kafka and consolidated; gives the tenant of each."""
    with bench_stack(stack.data_dir, None) as bench:
        tenants = {name: bench.tenant(f"ablation-{name}") for name in FILES}

        def items() -> Iterator[ReadItem]:
            for name in FILES:
                for item in read_events(EXAMPLES / f"{name}.jsonl", Format.JSONL):
                    assert item.event is not None, item
                    moved = item.event.model_copy(update={"tenant": tenants[name]})
                    yield ReadItem(item.line, encode_event(moved), moved)

        run(remember(bench, items()))
        yield bench.settings, tenants


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[OpenStores, OpenStores]]:
    async with open_stores(settings) as stores, open_recalled(settings, stores.encoder) as recalled:
        yield OpenStores(stores.graph, stores.vectors, stores.encoder), recalled


async def readings(stores: OpenStores, tenants: dict[str, str], system: System) -> list[Reading]:
    retriever = Retriever(stores.graph, stores.vectors, stores.encoder)
    memories = [Memory(one, tenants[one.id]) for one in CONVERSATIONS]
    return [
        await retriever.read(memory.tenant, request_for(system, question, 3_000))
        for memory in memories
        for question in memory.conversation.questions
    ]


async def test_every_ablation_walks_only_what_it_has_and_changes_what_is_visited(
    remembered: tuple[Settings, dict[str, str]],
) -> None:
    settings, tenants = remembered
    async with opened(settings) as (_, recalled):
        whole = [frozenset(one.walk.visits) for one in await readings(recalled, tenants, System.MAGMA)]
        for system in ABLATIONS:
            found = await readings(recalled, tenants, system)
            walked = {
                visit.arrival.hop.relation for one in found for visit in one.walk.visits.values() if visit.arrival
            }
            assert walked <= relations_of(system), system
            differ = sum(frozenset(one.walk.visits) != before for one, before in zip(found, whole, strict=True))
            assert differ > 0, f"{system} visits what the whole visits"
            if system.value.startswith("only_"):
                assert walked == {Relation(system.value.removeprefix("only_"))}


async def test_stores_that_remember_say_what_the_stores_say(remembered: tuple[Settings, dict[str, str]]) -> None:
    settings, tenants = remembered
    async with opened(settings) as (plain, recalled):
        for system in (System.MAGMA, System.NO_TEMPORAL):
            first = await readings(plain, tenants, system)
            for _ in range(2):
                again = await readings(recalled, tenants, system)
                for one, before in zip(again, first, strict=True):
                    assert (one.walk, one.anchors, one.context) == (before.walk, before.anchors, before.context)
                    assert [(item.candidate.node.id, item.salience) for item in one.scored] == [
                        (item.candidate.node.id, item.salience) for item in before.scored
                    ]


async def test_a_policy_is_chosen_by_the_other_conversations_and_measured_on_the_one_left_out(
    remembered: tuple[Settings, dict[str, str]],
) -> None:
    settings, tenants = remembered
    parameters = Parameters(seeds=(1,), rounds=10, min_data_in_leaf=10)
    async with opened(settings) as (_, recalled):
        ranker = KeepingRanker(None, Documents.open())
        retriever = Retriever(recalled.graph, recalled.vectors, recalled.encoder, ranker=ranker)
        sets = {one.id: await collect(retriever, ranker, tenants[one.id], one.questions) for one in CONVERSATIONS}
        judge = OutOfFold(sets, recalled.encoder.name, parameters)
        tried = proposals(shipped_policy("default"), 2)
        outcomes = await try_policies(recalled, tenants, CONVERSATIONS, tried, judge)
    found = choose(tried, outcomes, list(FILES))
    assert [fold.left_out for fold in found.folds] == list(FILES)
    for fold, other in zip(found.folds, reversed(FILES), strict=True):
        means = [one.inner[fold.left_out, other].mean() for one in outcomes]
        assert means[fold.chosen] == max(means)
        assert fold.fitted.mean == pytest.approx(outcomes[fold.chosen].held_out[fold.left_out].mean())
        assert fold.shipped.mean == pytest.approx(outcomes[0].held_out[fold.left_out].mean())
        assert fold.questions == len(outcomes[0].held_out[fold.left_out])
    assert found.gain is not None
    assert found.gain.low <= found.gain.mean <= found.gain.high
    assert (moves(tried[0], found.chosen) == {}) is (found.place == 0)
