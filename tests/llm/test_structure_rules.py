"""Causes that the structure of telemetry shows."""

from memory.events import EventKind, EventNode
from memory.llm.model import FoundCause
from memory.llm.scene import scenes
from memory.llm.structure_rules import structural_causes
from memory.relations import CausalKind
from tests.consolidators.memory import node

CALL, RESULT, ERROR = EventKind.TOOL_CALL, EventKind.TOOL_RESULT, EventKind.ERROR


def pairs(events: list[EventNode]) -> list[tuple[str, str, str]]:
    names = {event.id: event.ref for event in events}
    return [(names[found.cause], names[found.effect], found.rule) for found in causes(events)]


def causes(events: list[EventNode]) -> list[FoundCause]:
    return [found for scene in scenes(events) for found in structural_causes(scene)]


def test_a_result_belongs_to_the_call_with_its_id_however_they_interleave() -> None:
    events = [
        node("c1", "Reading the log.", kind=CALL, at=0, attributes={"tool_call_id": "x1", "tool": "read"}),
        node("c2", "Reading the table.", kind=CALL, at=1, attributes={"tool_call_id": "x2", "tool": "read"}),
        node("r2", "Forty rows.", kind=RESULT, at=2, attributes={"tool_call_id": "x2", "tool": "read"}),
        node("r1", "Three lines.", kind=RESULT, at=3, attributes={"tool_call_id": "x1", "tool": "read"}),
    ]
    assert pairs(events) == [("c2", "r2", "call-result"), ("c1", "r1", "call-result")]


def test_without_ids_the_next_result_of_the_same_agent_and_tool_is_taken_once() -> None:
    events = [
        node("c1", "Searching flights.", kind=CALL, at=0, agent="a", attributes={"tool": "search"}),
        node("c2", "Searching hotels.", kind=CALL, at=1, agent="b", attributes={"tool": "search"}),
        node("r2", "No hotel.", kind=RESULT, at=2, agent="b", attributes={"tool": "search"}),
        node("r1", "Two flights.", kind=RESULT, at=3, agent="a", attributes={"tool": "search"}),
        node("r3", "Two flights, again.", kind=RESULT, at=4, agent="a", attributes={"tool": "search"}),
    ]
    assert pairs(events) == [("c2", "r2", "call-result"), ("c1", "r1", "call-result")]


def test_an_error_leads_to_the_retry_of_the_same_tool_and_not_to_another_call() -> None:
    events = [
        node("c1", "Building the image.", kind=CALL, at=0, attributes={"tool": "build", "call_id": "1"}),
        node("e1", "The mirror answered 502.", kind=ERROR, at=1, attributes={"tool": "build", "call_id": "1"}),
        node("c2", "Reading the wiki.", kind=CALL, at=2, attributes={"tool": "read"}),
        node("c3", "Building the image once more.", kind=CALL, at=3, attributes={"tool": "build", "call_id": "2"}),
    ]
    assert ("e1", "c3", "error-retry") in pairs(events)
    assert not [pair for pair in pairs(events) if pair[1] == "c2"]


def test_a_failed_result_counts_as_an_error_and_a_good_one_does_not() -> None:
    def story(status: str) -> list[EventNode]:
        return [
            node("r1", "Push done.", kind=RESULT, at=0, attributes={"tool": "push", "status": status}),
            node("c2", "Pushing again.", kind=CALL, at=1, attributes={"tool": "push"}),
        ]

    assert pairs(story("failed")) == [("r1", "c2", "error-retry")]
    assert pairs(story("ok")) == []


def test_the_same_tool_with_other_arguments_is_no_retry() -> None:
    events = [
        node("c1", "Look up Oslo.", kind=CALL, at=0, attributes={"tool": "get", "args": {"city": "Oslo"}}),
        node("e1", "Unknown city.", kind=ERROR, at=1, attributes={"tool": "get"}),
        node("c2", "Look up the tariff.", kind=CALL, at=2, attributes={"tool": "get", "args": {"city": "Rome"}}),
    ]
    assert [pair for pair in pairs(events) if pair[2] == "error-retry"] == []


def test_a_decision_follows_from_the_error_it_speaks_of_and_leads_to_the_deed() -> None:
    events = [
        node("e1", "Checkout refuses 38 percent of the cards.", kind=ERROR, at=0, agent="monitor"),
        node("n1", "Lunch is at noon.", kind=EventKind.NOTE, at=1, agent="desk"),
        node("d1", "Roll back, as checkout refuses cards.", kind=EventKind.DECISION, at=2, agent="fix"),
        node("c1", "Rolling back checkout to 2.13.", kind=CALL, at=3, agent="fix"),
    ]
    assert pairs(events) == [("e1", "d1", "error-decision"), ("d1", "c1", "decision-action")]


def test_a_decision_about_something_else_is_not_caused_by_the_error() -> None:
    events = [
        node("e1", "Checkout refuses 38 percent of the cards.", kind=ERROR, at=0, agent="monitor"),
        node("d1", "The team picnic moves to Friday.", kind=EventKind.DECISION, at=2, agent="fix"),
    ]
    assert pairs(events) == []


def test_a_handoff_leads_to_what_the_agent_does_that_it_names() -> None:
    events = [
        node("h1", "Passing the invoice to billing-agent.", kind=EventKind.HANDOFF, at=0, agent="triage-agent"),
        node("m1", "I see the parcel.", at=1, agent="courier-agent"),
        node("m2", "The invoice is wrong by two euros.", at=2, agent="billing-agent"),
    ]
    assert pairs(events) == [("h1", "m2", "handoff-taken")]
    assert causes(events)[0].kind is CausalKind.LEADS_TO
