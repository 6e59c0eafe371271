"""`examples/incident.jsonl` holds what it promises: valid events, planned chains, spellings, lateness, questions."""

import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from cli.readers import ReadItem, read_events
from memory.events import AgentEvent, EventKind, content_digest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CUES = ("because", "which caused", "due to", "led to", "as a result of")


@pytest.fixture(scope="module")
def items() -> list[ReadItem]:
    return list(read_events(EXAMPLES / "incident.jsonl"))


@pytest.fixture(scope="module")
def arrivals(items: list[ReadItem]) -> list[AgentEvent]:
    return [item.event for item in items if item.event]


@pytest.fixture(scope="module")
def events(arrivals: list[AgentEvent]) -> dict[str, AgentEvent]:
    return {str(event.id): event for event in arrivals}


@pytest.fixture(scope="module")
def plan() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((EXAMPLES / "incident.chains.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (EXAMPLES / "incident.questions.jsonl").read_bytes().splitlines()]


def chain_of(plan: dict[str, Any], name: str) -> list[str]:
    return next(chain["events"] for chain in plan["chains"] if chain["name"] == name)


def test_the_script_reproduces_every_file_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(EXAMPLES / "make_incident.py"), str(tmp_path)], check=True, timeout=60)
    made = sorted(tmp_path.iterdir())
    assert [path.name for path in made] == ["incident.chains.json", "incident.jsonl", "incident.questions.jsonl"]
    for path in made:
        assert path.read_bytes() == (EXAMPLES / path.name).read_bytes(), path.name


def test_every_line_is_a_valid_event(items: list[ReadItem]) -> None:
    assert [(item.line, item.problem) for item in items if item.problem] == []
    assert 290 <= len({item.event.id for item in items if item.event}) <= 310


def test_ids_are_unique_but_for_the_planned_duplicates_which_are_true_ones(
    arrivals: list[AgentEvent], plan: dict[str, Any]
) -> None:
    digests = defaultdict(list)
    for event in arrivals:
        digests[event.id].append(content_digest(event))
    repeated = {ident for ident, seen in digests.items() if len(seen) > 1}
    assert repeated == set(plan["duplicates"])
    assert len(repeated) >= 4
    assert all(len(set(seen)) == 1 for seen in digests.values())


def test_the_texts_are_written_not_stamped_out(events: dict[str, AgentEvent]) -> None:
    texts = [event.text for event in events.values()]
    assert len(set(texts)) == len(texts)
    openings = Counter(" ".join(text.split()[:4]) for text in texts)
    assert openings.most_common(1)[0][1] <= 5


def test_six_agents_use_every_kind_over_two_days_in_many_sessions(events: dict[str, AgentEvent]) -> None:
    assert len({event.agent for event in events.values()}) == 6
    assert {event.kind for event in events.values()} == set(EventKind)
    assert len({event.session for event in events.values()}) >= 8
    moments = sorted(event.occurred_at for event in events.values())
    assert 30 <= (moments[-1] - moments[0]).total_seconds() / 3600 <= 48


def test_times_carry_two_offsets(events: dict[str, AgentEvent]) -> None:
    offsets = Counter(event.occurred_at.utcoffset() for event in events.values())
    assert len(offsets) == 2
    assert min(offsets.values()) >= 50


def test_events_arrive_out_of_order_within_sessions_and_the_late_ones_later_than_their_followers(
    arrivals: list[AgentEvent], plan: dict[str, Any]
) -> None:
    place = {str(event.id): number for number, event in reversed(list(enumerate(arrivals)))}
    by_id = {str(event.id): event for event in arrivals}
    assert len(plan["late"]) >= 5
    overtaken_in_session = 0
    for ident in plan["late"]:
        late = by_id[ident]
        overtaking = [event for event in arrivals[: place[ident]] if event.occurred_at > late.occurred_at]
        assert overtaking, ident
        overtaken_in_session += any(event.session == late.session for event in overtaking)
    assert overtaken_in_session >= 2


def test_equal_times_in_a_session_are_ordered_by_a_sequence(events: dict[str, AgentEvent]) -> None:
    at = defaultdict(list)
    for event in events.values():
        at[event.session, event.occurred_at].append(event.sequence)
    ties = [sequences for sequences in at.values() if len(sequences) > 1]
    assert ties
    assert all(None not in sequences and len(set(sequences)) == len(sequences) for sequences in ties)


def test_three_chains_of_four_steps_or_more_whose_edges_go_forward_in_time(
    events: dict[str, AgentEvent], plan: dict[str, Any]
) -> None:
    assert {chain["found_by"] for chain in plan["chains"]} == {"explicit", "structure", "cue"}
    for chain in plan["chains"]:
        assert len(chain["edges"]) >= 4
        assert chain["edges"] == [list(pair) for pair in pairwise(chain["events"])]
        for cause, effect in chain["edges"]:
            assert events[cause].occurred_at < events[effect].occurred_at
    members = [ident for chain in plan["chains"] for ident in chain["events"]]
    assert len(members) == len(set(members))


def test_events_outside_a_chain_stand_between_its_steps(events: dict[str, AgentEvent], plan: dict[str, Any]) -> None:
    order = {ident: number for number, ident in enumerate(sorted(events, key=lambda i: events[i].occurred_at))}
    for chain in plan["chains"]:
        span = order[chain["events"][-1]] - order[chain["events"][0]]
        assert span >= 3 * len(chain["edges"]) or chain["name"] == "migration"
        assert span > len(chain["edges"])


def test_the_explicit_chain_is_told_by_caused_by_and_by_nothing_else(
    events: dict[str, AgentEvent], plan: dict[str, Any]
) -> None:
    chain = chain_of(plan, "pool")
    for cause, effect in pairwise(chain):
        assert cause in (*events[effect].caused_by, events[effect].parent)
    for ident in chain:
        assert "tool" not in events[ident].attributes
        assert not any(cue in events[ident].text.lower() for cue in CUES)


def test_the_structural_chain_is_told_by_calls_results_errors_and_attempts_only(
    events: dict[str, AgentEvent], plan: dict[str, Any]
) -> None:
    steps = [events[ident] for ident in chain_of(plan, "migration")]
    assert [step.kind.value for step in steps] == [
        "tool_call",
        "error",
        "tool_call",
        "error",
        "tool_call",
        "tool_result",
    ]
    for call, result in zip(steps[::2], steps[1::2], strict=True):
        assert call.attributes["tool_call_id"] == result.attributes["tool_call_id"]
    assert {step.attributes["tool"] for step in steps} == {"run_migration"}
    assert [step.attributes.get("attempt") for step in steps[::2]] == [None, 2, 3]
    assert all(step.parent is None and step.caused_by == () for step in steps)
    assert not any(cue in step.text.lower() for step in steps for cue in CUES)


def test_the_cue_chain_is_told_in_words_only(events: dict[str, AgentEvent], plan: dict[str, Any]) -> None:
    steps = [events[ident] for ident in chain_of(plan, "certificate")]
    assert all(step.parent is None and step.caused_by == () and "tool" not in step.attributes for step in steps)
    told = [any(cue in step.text.lower() for cue in CUES) for step in steps]
    assert all(told[number] or told[number + 1] for number in range(len(steps) - 1))


def test_every_tool_result_answers_a_call_of_its_session(events: dict[str, AgentEvent]) -> None:
    calls = {
        (event.session, event.attributes["tool_call_id"]): event
        for event in events.values()
        if event.kind is EventKind.TOOL_CALL
    }
    answers = [e for e in events.values() if e.kind is not EventKind.TOOL_CALL and "tool_call_id" in e.attributes]
    assert len(answers) == len(calls) >= 40
    for answer in answers:
        call = calls[answer.session, answer.attributes["tool_call_id"]]
        assert call.occurred_at < answer.occurred_at
        assert (call.agent, call.attributes["tool"]) == (answer.agent, answer.attributes["tool"])


def test_parents_and_causes_exist(events: dict[str, AgentEvent]) -> None:
    named = [ref for event in events.values() for ref in (event.parent, *event.caused_by) if ref]
    assert len(named) >= 12
    assert set(named) <= set(events)


def test_a_cause_arrives_after_its_effect(arrivals: list[AgentEvent]) -> None:
    seen: set[str] = set()
    early = 0
    for event in arrivals:
        early += sum(cause not in seen for cause in event.caused_by)
        seen.add(str(event.id))
    assert early >= 1


def test_every_spelling_stands_in_some_event(events: dict[str, AgentEvent], plan: dict[str, Any]) -> None:
    written = [f"{event.text} {event.speaker or ''}" for event in events.values()]
    assert len(plan["spellings"]["payments-service"]) == 3
    for spellings in plan["spellings"].values():
        for spelling in spellings:
            assert any(spelling in text for text in written), spelling


def test_a_superseding_statement_is_newer(events: dict[str, AgentEvent], plan: dict[str, Any]) -> None:
    assert len(plan["supersessions"]) >= 2
    for change in plan["supersessions"]:
        assert events[change["older"]].occurred_at < events[change["newer"]].occurred_at


def test_questions_of_all_intents_name_events_that_exist(
    questions: list[dict[str, Any]], events: dict[str, AgentEvent]
) -> None:
    assert len(questions) >= 16
    assert {question["intent"] for question in questions} == {"WHY", "WHEN", "ENTITY", "GENERAL"}
    for question in questions:
        assert question["expected"], question["question"]
        assert set(question["expected"]) <= set(events)
        assert len(set(question["expected"])) == len(question["expected"])


def test_the_root_of_the_pool_chain_shares_no_word_with_its_question(
    questions: list[dict[str, Any]], events: dict[str, AgentEvent], plan: dict[str, Any]
) -> None:
    root = chain_of(plan, "pool")[0]
    question = next(q for q in questions if root in q["expected"] and "authorised twice" in q["question"])
    words = {word.strip("?.,:=").lower() for word in question["question"].split()}
    assert not {word for word in words if len(word) > 3} & set(events[root].text.lower().split())
