"""What an event states of an attribute of a subject: precise first."""

import pytest

from memory.events import EventKind
from memory.llm.fact_rules import facts_of
from tests.consolidators.memory import node


def stated(text: str, **given: object) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.attribute, fact.value) for fact in facts_of(node("e", text, **given))}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "The on-call owner of the Search Service is Ada Lund this week.",
            ("search service", "on call owner", "Ada Lund"),
        ),
        ("Rolled out: http.timeout_ms = 900 everywhere.", ("http.timeout ms", "value", "900")),
        ("Set cache.ttl from 60 to 300.", ("cache.ttl", "value", "300")),
        ("max_retries was raised from 3 to 5.", ("max retries", "value", "5")),
        ("Upgraded search-api from 1.2.0 to 1.3.0.", ("search api", "version", "1.3.0")),
        ("search-api is now on version 1.4.2", ("search api", "version", "1.4.2")),
        ("search-api 1.2 -> 1.3", ("search api", "version", "1.3")),
        ("search-api is now owned by Platform Team.", ("search api", "owner", "Platform Team")),
        ("The deadline for the audit has moved to 14 June.", ("audit", "deadline", "14 June")),
        ("The deadline is now Friday.", ("deadline", "value", "Friday")),
        ("The backup of the registry runs on Mondays at 03:00.", ("registry", "backup", "on Mondays at 03:00")),
        ("The ceiling of the ledger is four hundred sessions.", ("ledger", "ceiling", "four hundred sessions")),
    ],
)
def test_a_stated_value_is_found(text: str, fact: tuple[str, str, str]) -> None:
    assert stated(text, kind=EventKind.NOTE) == {fact}


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Guess what, I moved to Lisbon!", ("nora", "home", "Lisbon")),
        ("I just started working at Basalt Works, it is great.", ("nora", "employer", "Basalt Works")),
        ("My new phone number is 555 0199.", ("nora", "phone number", "555 0199")),
        ("I'm vegetarian now.", ("nora", "diet", "vegetarian")),
        ("Jonas has moved to Porto.", ("jonas", "home", "Porto")),
    ],
)
def test_what_somebody_says_of_themselves_is_theirs(text: str, fact: tuple[str, str, str]) -> None:
    assert stated(text, speaker="Nora") == {fact}


@pytest.mark.parametrize(
    "text",
    [
        "Should the deadline be moved to Friday?",
        "If http.timeout_ms = 900, the probe fails.",
        "The owner of the ledger is not Ada.",
        "I might have moved to Lisbon by then.",
        "We could raise max_retries to 5.",
        "I'm thinking of Lisbon; perhaps I work at Basalt Works one day.",
        "The importance of the friendship is emphasized.",
        "It is now 1.3.0.",
        "Everything for the launch is ready.",
    ],
)
def test_a_question_a_condition_a_plan_and_a_denial_state_nothing(text: str) -> None:
    assert stated(text, speaker="Nora") == set()


def test_a_change_told_in_attributes_is_read_there() -> None:
    change = {"key": "db.pool.max", "old": 20, "new": 200}
    assert stated("Values are live.", kind=EventKind.STATE_CHANGE, attributes=change) == {
        ("db.pool.max", "value", "200")
    }
    of = {"service": "Search-Service", "setting": "replicas", "value": 3}
    assert stated("Scaled.", kind=EventKind.STATE_CHANGE, attributes=of) == {("search service", "replicas", "3")}
    assert stated("Values are live.", kind=EventKind.TOOL_CALL, attributes=change) == set()


def test_a_call_and_its_result_state_nothing() -> None:
    assert stated("max_retries = 5", kind=EventKind.TOOL_CALL) == set()
    assert stated("max_retries = 5", kind=EventKind.TOOL_RESULT) == set()
