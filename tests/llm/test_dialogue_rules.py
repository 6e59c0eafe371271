"""Causes in talk: who answers whom, who does what was asked for, and what is only said next."""

from dataclasses import replace

import pytest

from tests.llm.chains import chain, found


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("ana says: Where did you buy the bicycle?", "ben says: In Lisbon, from a friend."), "question-answer"),
        (("ana says: Is it out?", "bot notes: Lunch.", "ben says: It is out."), "question-answer"),
        (("ana says: Please send me the list of partners.", "ben says: Sure, here it is."), "request-done"),
        (("ana says: Restart the relay.", "ops call: reboot(host=r2)"), "request-done"),
        (("ana says: Ben, could you sign the form?", "ben says: No, I am not allowed to."), "question-answer"),
        (("ana says: We sold the boat.", "ben says: The red one?"), "asked-back"),
        (("ana says: My bag did not arrive.", "desk says: What is the number on the tag?"), "asked-back"),
        (("ana says: The oven is broken.", "ben decides: We order pizza instead of the oven dish."), "problem-handled"),
    ],
)
def test_an_act_of_talk_is_caused_by_the_one_it_meets(lines: tuple[str, ...], expected: str) -> None:
    assert found(chain(*lines))[0, len(lines) - 1] == expected


@pytest.mark.parametrize(
    "lines",
    [
        ("ana says: I saw a heron this morning.", "ben says: My train leaves at six."),
        ("ana says: Where is the key?", "ana says: Lunch was lovely."),
        ("ana says: Where is the key?", "ben says: What colour is your scarf?"),
        ("ana says: Ben, where is the key?", "cleo says: Rain again.", "dora says: I like rain."),
        ("ana says: The coffee machine leaks.", "ana decides: Textures above 4k are refused."),
        ("ana says: I like the sea.", "ops call: build --target main"),
    ],
)
def test_what_is_only_said_next_has_no_cause_before(lines: tuple[str, ...]) -> None:
    assert found(chain(*lines)) == {}


def test_a_question_is_answered_once_and_by_the_one_it_names() -> None:
    pairs = found(
        chain(
            "ana says: Cleo, when does the ferry leave?",
            "ben says: I love ferries.",
            "cleo says: At nine.",
            "cleo says: The weather is fine.",
        )
    )
    assert pairs == {(0, 2): "question-answer"}


def test_the_one_who_asked_acts_on_the_answer() -> None:
    pairs = found(
        chain(
            "desk says: Could you give me the number on the tag?",
            "ana says: It is 0047-882193.",
            "desk call: trace_bag(tag=0047882193)",
        )
    )
    assert pairs == {(0, 1): "question-answer", (1, 2): "answer-used"}


def test_a_request_that_was_met_lets_the_one_who_asked_go_on() -> None:
    pairs = found(
        chain(
            "dario says: Jun, would you sign this one off?",
            "jun says: Signed. Only this one.",
            "dario result: Import ok.",
        )
    )
    assert pairs[1, 2] == "consent-used"


def test_two_events_a_week_apart_are_no_exchange() -> None:
    asked, answer = chain("ana says: Where is the key?", "ben says: In the drawer.")
    late = chain("ana says: x.", "ben says: In the drawer.")[1]
    assert found([asked, answer]) == {(0, 1): "question-answer"}
    week = 7 * 24 * 3600 * 1_000_000
    assert found([asked, replace(late, occurred_us=late.occurred_us + week)]) == {}
