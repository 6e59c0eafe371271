"""Causes that the words show: cue phrases, their direction, and the event they speak of."""

import pytest

from memory.events import EventKind, EventNode
from memory.llm.claims import MAX_CHARS
from memory.llm.cue_rules import cue_causes
from memory.llm.model import FoundCause
from memory.llm.scene import scenes
from tests.consolidators.memory import node

_STORY = [
    ("a", "The bundle of certificates on mailer-2 was replaced."),
    ("b", "Coffee is ready."),
    ("c", "Sixty thousand visitors wait for the tickets."),
    ("d", "The tax calculator crashed with a null pointer."),
]


def story(text: str, kind: EventKind = EventKind.MESSAGE) -> list[EventNode]:
    events = [node(ident, said, at=at) for at, (ident, said) in enumerate(_STORY)]
    return [*events, node("z", text, at=len(events), kind=kind)]


def causes(events: list[EventNode]) -> list[FoundCause]:
    return [found for scene in scenes(events) for found in cue_causes(scene)]


def pairs(events: list[EventNode]) -> list[tuple[str, str]]:
    names = {event.id: event.ref for event in events}
    return [(names[found.cause], names[found.effect]) for found in causes(events)]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("We rolled back because the tax calculator crashed.", "d"),
        ("We rolled back because of the crashed tax calculator.", "d"),
        ("Orders fail due to the crash of the tax calculator.", "d"),
        ("The outage was caused by the new certificates on mailer-2.", "a"),
        ("As a result of the replaced certificates, mails bounce.", "a"),
        ("Because of the replaced certificates, the queue of the relay is long and its disk is full.", "a"),
        ("After the tax calculator crashed, we switched it off.", "d"),
        ("Thanks to sixty thousand waiting visitors the sale is a success.", "c"),
        ("As a result, the tax of every order whose calculator is down must be checked.", "d"),
        ("The gate opened early in response to the sixty thousand visitors who wait.", "c"),
        ("The root cause was the replaced bundle of certificates.", "a"),
    ],
)
def test_the_clause_behind_the_cue_is_found_among_the_events_before(text: str, cause: str) -> None:
    assert pairs(story(text)) == [(cause, "z")]


def test_led_to_joins_the_two_events_that_it_speaks_of() -> None:
    events = [
        node("a", "The pool was raised to 200 sessions on every pod.", at=0),
        node("b", "The database refuses new connections.", at=1),
        node("c", "Review: raising the pool to 200 sessions led to the refused database connections.", at=2),
    ]
    assert pairs(events) == [("a", "b")]


@pytest.mark.parametrize(
    "text",
    [
        "We stay because I like the sea.",
        "It is not because the tax calculator crashed.",
        "Perhaps due to the crash of the tax calculator.",
        "We wait because the tax calculator did not crash yet.",
        "Since the tax calculator crashed I have had two coffees.",
        "Did the tax calculator crash?",
        "The tax calculator crashed, says the log.",
        "because",
        "",
    ],
)
def test_no_cause_without_a_sure_cue_and_an_event_that_fits(text: str) -> None:
    assert pairs(story(text or "-")) == []


def test_a_page_that_quotes_causes_is_not_read() -> None:
    text = "We rolled back because the tax calculator crashed. " + "x " * MAX_CHARS
    assert pairs(story(text)) == []


def test_a_cause_never_comes_after_its_effect() -> None:
    events = [
        node("z", "We rolled back because the tax calculator crashed.", at=0),
        node("d", "The tax calculator crashed with a null pointer.", at=1),
    ]
    assert pairs(events) == []


def test_the_nearest_of_equal_causes_is_taken() -> None:
    events = [
        node("d1", "The tax calculator crashed.", at=0),
        node("d2", "The tax calculator crashed.", at=1),
        node("z", "We rolled back because the tax calculator crashed.", at=2),
    ]
    assert pairs(events) == [("d2", "z")]


def test_the_rationale_shows_the_words_that_said_so() -> None:
    (found,) = causes(story("We rolled back because the tax calculator crashed."))
    assert found.rationale == '"because" the tax calculator crashed.'
    assert found.rule == "cue-because"
    assert 0.7 <= found.confidence <= 1
