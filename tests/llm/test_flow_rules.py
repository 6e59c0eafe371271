"""Causes in work: findings that are told and used, actions and their states, changes and their alarms."""

import pytest

from tests.llm.chains import chain, found


@pytest.mark.parametrize(
    ("lines", "pair", "rule"),
    [
        (
            ("bot error: checkout: card 0441 expired", "bot says: Your card ran out in April, Mia."),
            (0, 1),
            "result-told",
        ),
        (("bot result: order PP-55120 confirmed", "ana says: Ordered: PP-55120."), (0, 1), "result-told"),
        (("bot result: 1 match: SoftPaw Classic", "bot call: add(item=SoftPaw Classic)"), (0, 1), "result-used"),
        (("ops notes: checkout-api 7.2 goes to Dublin.", "ops call: upgrade checkout-api to 7.2"), (0, 1), "plan-call"),
        (("R-11 error: lift aborted, imbalance", "boss says: R11, set it down and wait."), (0, 1), "failure-order"),
        (("ops call: upgrade checkout-api to 7.2", "ops state: checkout-api runs 7.2."), (0, 1), "action-state"),
        (("ops state: Breaker 4 tripped.", "ops sees: Charge current is 0 A."), (0, 1), "change-alarm"),
        (
            ("ops state: Pool of ledger-db set to 200.", "mon error: Pool of ledger-db exhausted."),
            (0, 1),
            "change-alarm",
        ),
        (("ops call: restart mailer-2", "mon state: mailer-2 is healthy again."), (0, 1), "remedy-recovery"),
        (
            ("tomas says: I want a column for settlements.", "ops notes: Tomas asked for the column."),
            (0, 1),
            "as-asked",
        ),
        (
            ("ana says: We lost the terrace to frost.", "ben notes: Fans, so this never happens again."),
            (0, 1),
            "never-again",
        ),
    ],
)
def test_a_finding_shows_in_what_comes_of_it(lines: tuple[str, ...], pair: tuple[int, int], rule: str) -> None:
    assert found(chain(*lines)).get(pair) == rule


@pytest.mark.parametrize(
    "lines",
    [
        ("mon sees: Log host at 61 percent.", "mon error: Health probe of checkout-api failed."),
        ("mon state: Card form is fast.", "mon notes: The certificate renews itself in 19 days."),
        ("R-07 decides: Leaving aisle 6.", "R-11 sees: Pallet P-3381 leans."),
        ("bot notes: Reminder set for Friday.", "watch sees: SoftPaw drops to 13.90."),
        ("ops state: Pool of ledger-db set to 200.", "mon sees: Search answers in 80 ms."),
        ("ops call: restart mailer-2", "mon state: seat-map is healthy again."),
    ],
)
def test_a_neighbour_about_something_else_is_no_effect(lines: tuple[str, ...]) -> None:
    assert found(chain(*lines)) == {}


def test_a_result_leads_to_no_call_of_the_same_tool_about_the_next_thing() -> None:
    events = chain(
        "bot call: Releasing batch one at Nordpay.",
        "bot result: Nordpay released 700.",
        "bot call: Releasing batch two at Quillbank.",
        e0={"tool": "release"},
        e1={"tool": "release"},
        e2={"tool": "release"},
    )
    assert found(events) == {(0, 1): "call-result"}


def test_a_handoff_to_a_role_is_taken_by_the_first_newcomer() -> None:
    pairs = found(
        chain(
            "ana says: My insulin is in that bag!",
            "bot hands: Medical need, passing Ana to a human colleague.",
            "rodrigo says: This is the duty lead.",
        )
    )
    assert pairs[1, 2] == "handoff-taken"
