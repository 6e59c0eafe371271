"""What shows that a turn of talk, a deed or a sign goes back to what stands right before it, and what does not."""

import pytest

from tests.llm.chains import chain, found

_TURNS = [
    ("points-back", "ana says: The harbour ferry sank.", "ben says: It was ancient."),
    ("points-back", "ana says: The harbour ferry sank.", "ben says: Impressive, for a Tuesday."),
    ("asks-on", "ana says: Luca paints the shed tomorrow.", "ben says: Is he any quick?"),
    ("word-acted-on", "ana says: Let's rerun the nightly suite.", "bot state: Pipeline 88 queued."),
    ("state-call", "bot state: Release branch cut.", "bot call: start_pipeline(full)"),
    ("well-again", "ana says: Replaced the boiler valve.", "ben says: The boiler holds its pressure."),
    ("turn-answers", "ana says: The keys are gone.", "ben says: Behind the second flowerpot."),
    ("turn-answers", "ana says: The fence needs new posts.", "ben says: You could borrow mine."),
    ("turn-answers", "ana says: Droppings like raisins everywhere.", "ben says: The rabbit next door, then."),
    ("turn-answers", "ana says: I'm scared of the flight.", "ben says: Come over and have supper."),
    ("own-state", "bot result: 41 passing", "bot state: Merge request opened."),
    ("own-sight", "mart result: Table refunds built with 90 rows.", "mart sees: 26 rows fewer in refunds than before."),
    ("result-passed", "pull result: 20 nests at 64 sites", "fit call: trend(by=site)"),
    ("word-state", "kim says: A revised version is attached.", "bot state: Version two received."),
]
_NOT = [
    ("ana says: The harbour ferry sank.", "ben says: By the way, that one with the hat won."),
    ("ana says: The harbour ferry sank.", "ben says: Hello, my train leaves at six."),
    ("ana says: Luca paints the shed tomorrow.", "ben says: Has anybody seen my folder?"),
    ("ana says: The garden is green in May.", "bot state: Pipeline 88 queued."),
    ("bot state: Release branch cut.", "other call: list_invoices(year)"),
    ("s1 sees: Battery at half.", "watch says: Lunch is at noon."),
    ("ana says: The painting hangs in Madrid.", "ben says: My sister landed her job."),
    ("ana says: Cleo, where is the key?", "ben says: Behind the second flowerpot."),
    ("other result: 41 passing", "bot state: Cache evicted."),
    ("mart result: Table refunds built.", "fridge sees: Door open for an hour."),
    ("pull result: 20 nests at 64 sites", "bill call: list_invoices(year)"),
    ("ana says: My sister plays the cello.", "bot state: Fourteen pages published."),
]


@pytest.mark.parametrize(("rule", "before", "after"), _TURNS)
def test_what_goes_back_to_the_event_right_before_it_is_found(rule: str, before: str, after: str) -> None:
    assert found(chain(before, after)) == {(0, 1): rule}


@pytest.mark.parametrize(("before", "after"), _NOT)
def test_what_turns_to_another_matter_has_no_cause(before: str, after: str) -> None:
    assert found(chain(before, after)) == {}


def test_a_call_for_a_person_is_answered_by_that_person() -> None:
    pairs = found(
        chain(
            "bot call: invite(lindqvist)",
            "host sees: Disk at half.",
            "lindqvist says: Happy to.",
            e0={"tool": "invite"},
        )
    )
    assert pairs == {(0, 2): "called-answers"}


def test_a_call_that_asks_nobody_is_answered_by_nobody() -> None:
    assert found(chain("bot call: list(north)", "lindqvist says: Happy birthday.", e0={"tool": "list"})) == {}


def test_a_deed_goes_back_to_the_word_that_was_taken_before_it() -> None:
    pairs = found(
        chain("critic says: Line 131 has the server's zone.", "coder says: Good catch.", "coder call: edit(rows.ts)")
    )
    assert pairs[0, 2] == "assent-deed"


def test_an_interjection_is_looked_past_when_what_stands_before_it_is_about_the_same() -> None:
    pairs = found(
        chain(
            "ana says: The boiler lost its pressure.",
            "cleo says: By the way, my folder is red.",
            "ben says: Who pays for another boiler?",
        )
    )
    assert (0, 2) in pairs
    assert (1, 2) not in pairs


def test_calls_made_together_have_the_same_request_before_them() -> None:
    pairs = found(
        chain(
            "ana says: Please compare the contracts of both models.",
            "bot call: run_eval(contracts, first)",
            "bot call: run_eval(contracts, second)",
            e1={"tool": "run_eval"},
            e2={"tool": "run_eval"},
        )
    )
    assert {(0, 1), (0, 2)} <= pairs.keys()


def test_a_question_of_another_matter_is_not_answered_by_what_has_no_word_of_it() -> None:
    lines = ("jonas says: Has anybody seen my folder?", "odile says: Fence posts cost fifty.")
    assert found(chain(*lines)) == {}


def test_a_sign_of_trouble_is_noticed_behind_a_note_of_another_matter() -> None:
    lines = (
        "s1 sees: Loss is NaN on the ranks.",
        "janitor notes: Old caches swept.",
        "watch says: Ranks nine and ten went astray.",
    )
    assert found(chain(*lines)) == {(0, 2): "trouble-noticed"}
