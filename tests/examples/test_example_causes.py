"""What the offline rules find in the examples: every planned chain and no link between two of them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from cli.readers import read_events
from memory.events import EventNode, derive_id
from memory.graph.causality import MAX_EDGES
from memory.llm.model import FoundCause, Window
from memory.llm.rules import all_causes
from streams.prepare import event_node

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def sessions_of(file: str) -> list[list[EventNode]]:
    """Give the chains of a file's sessions, its duplicates left out."""
    nodes: dict[str, EventNode] = {}
    for item in read_events(EXAMPLES / file):
        assert item.event is not None
        event = item.event
        ident = derive_id(event.tenant, event.source, event.id or "")
        nodes.setdefault(ident, event_node(event, ident, arrival=0, ingested_us=0))
    sessions: dict[str, list[EventNode]] = {}
    for node in sorted(nodes.values(), key=lambda node: node.order):
        sessions.setdefault(node.session, []).append(node)
    return list(sessions.values())


def found_in(sessions: Sequence[Sequence[EventNode]]) -> dict[tuple[str, str], FoundCause]:
    """Give what rules find, by the producers' ids of cause and effect."""
    found = {}
    for chain in sessions:
        refs = {node.id: node.ref for node in chain}
        for cause in all_causes(Window("t", chain[0].session, tuple(chain), frozenset(refs))):
            found[refs[cause.cause], refs[cause.effect]] = cause
    return found


@pytest.fixture(scope="module")
def plan() -> dict[str, Any]:
    read: dict[str, Any] = orjson.loads((EXAMPLES / "incident.chains.json").read_bytes())
    return read


@pytest.fixture(scope="module")
def incident() -> dict[tuple[str, str], FoundCause]:
    return found_in(sessions_of("incident.jsonl"))


@pytest.mark.parametrize("way", ["structure", "cue"])
def test_every_link_of_a_planned_chain_is_found(
    incident: dict[tuple[str, str], FoundCause], plan: dict[str, Any], way: str
) -> None:
    edges = [tuple(edge) for chain in plan["chains"] if chain["found_by"] == way for edge in chain["edges"]]
    assert [edge for edge in edges if edge not in incident] == []
    rules = {incident[edge].rule for edge in edges}
    assert rules <= ({"call-result", "error-retry"} if way == "structure" else {"cue-because", "cue-led-to"})


def test_the_chain_that_producers_tell_is_whole_by_what_they_say(plan: dict[str, Any]) -> None:
    nodes = {node.ref: node for chain in sessions_of("incident.jsonl") for node in chain}
    edges = [edge for chain in plan["chains"] if chain["found_by"] == "explicit" for edge in chain["edges"]]
    assert edges
    assert all(nodes[cause].id in nodes[effect].parents for cause, effect in edges)


def test_no_link_joins_two_chains(incident: dict[tuple[str, str], FoundCause], plan: dict[str, Any]) -> None:
    chain_of = {event: chain["name"] for chain in plan["chains"] for event in chain["events"]}
    joined = [
        pair for pair in incident if chain_of.get(pair[0], 0) != chain_of.get(pair[1], 0) and set(pair) <= set(chain_of)
    ]
    assert joined == []


def test_no_link_inside_a_chain_but_the_planned_ones(
    incident: dict[tuple[str, str], FoundCause], plan: dict[str, Any]
) -> None:
    planned = {tuple(edge) for chain in plan["chains"] for edge in chain["edges"]}
    members = [set(chain["events"]) for chain in plan["chains"]]
    extra = [pair for pair in incident if pair not in planned and any(set(pair) <= events for events in members)]
    assert extra == []


@pytest.mark.parametrize("file", ["incident.jsonl", "conversation.jsonl"])
def test_edges_are_few_and_run_forward(file: str) -> None:
    sessions = sessions_of(file)
    found = found_in(sessions)
    order = {node.ref: node.order for chain in sessions for node in chain}
    assert all(order[cause] < order[effect] for cause, effect in found)
    assert len(found) <= sum(map(len, sessions))
    assert max(Counter(effect for _, effect in found).values()) <= MAX_EDGES


def test_talk_is_joined_by_questions_and_answers_and_small_talk_is_not() -> None:
    found = {pair: cause.rule for pair, cause in found_in(sessions_of("conversation.jsonl")).items()}
    answered = {("c1-03", "c1-04"), ("c1-14", "c1-15"), ("c2-10", "c2-11"), ("c4-13", "c4-14"), ("c7-07", "c7-08")}
    assert {found.get(pair) for pair in answered} == {"question-answer"}
    assert found["c5-19", "c5-20"] == "cue-that-is-why"
    assert found["c2-03", "c2-04"] == "cue-that-is-why"
    new_topics = {("c1-09", "c1-10"), ("c1-17", "c1-18"), ("c2-07", "c2-08"), ("c3-10", "c3-11"), ("c6-09", "c6-10")}
    assert new_topics.isdisjoint(found.keys() - {("c1-17", "c1-18")})
