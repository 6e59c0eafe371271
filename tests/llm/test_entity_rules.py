"""Names in one event: what is found depends on its text alone, and what is only possible is marked so."""

import pytest

from memory.events import EventKind
from memory.llm import FoundEntity, Window
from memory.llm.entity_rules import EntityRules
from memory.names import name_form, normal_form
from memory.relations import EntityType
from tests.consolidators.memory import node


@pytest.fixture(scope="module")
def rules() -> EntityRules:
    return EntityRules()


def names(rules: EntityRules, text: str, kind: EventKind = EventKind.MESSAGE) -> dict[str, FoundEntity]:
    event = node("e", text, kind=kind)
    found = rules.find(Window("t", "s", (event,), frozenset({event.id})))
    return {one.surface: one for one in found}


@pytest.mark.parametrize(
    ("text", "surface", "kind"),
    [
        ("I spoke with Mrs Galani about it.", "Mrs Galani", EntityType.PERSON),
        ("The voucher goes to I. Brandt today.", "I. Brandt", EntityType.PERSON),
        ("We fly with NW 212 from here.", "NW 212", EntityType.IDENTIFIER),
        ("Nightly build 1189 is green.", "build 1189", EntityType.IDENTIFIER),
        ("The tag is 0047-882193.", "0047-882193", EntityType.IDENTIFIER),
        ("R-07 docked again.", "R-07", EntityType.IDENTIFIER),
        ("We keep a pool of connections to vaultd.", "vaultd", EntityType.SERVICE),
        ("Calls to payments-service are slow.", "payments-service", EntityType.SERVICE),
    ],
)
def test_a_name_is_found_with_its_type(rules: EntityRules, text: str, surface: str, kind: EntityType) -> None:
    found = names(rules, text)[surface]
    assert (found.entity_type, found.doubtful) == (kind, False)


@pytest.mark.parametrize(
    "text", ["Henk is away until Friday.", "Done. Tamsin has the radio.", "Oyelaran, can you help?"]
)
def test_an_unknown_word_that_acts_at_the_start_of_a_sentence_is_a_name(rules: EntityRules, text: str) -> None:
    [found] = [one for one in names(rules, text).values() if not one.doubtful]
    assert found.surface in {"Henk", "Tamsin", "Oyelaran"}


@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("Painting relaxes me.", "Painting"),
        ("Nobody touched the payments service today.", "payments service"),
        ('checkout(method="paylink")', "paylink"),
        ("Rollout agent, go on.", "Rollout agent"),
    ],
)
def test_what_may_be_a_name_is_given_as_doubtful(rules: EntityRules, text: str, surface: str) -> None:
    assert names(rules, text)[surface].doubtful


def test_among_agents_a_word_in_lower_case_may_be_one_of_them(rules: EntityRules) -> None:
    text = "Split in two: scout collects studies, checker reads the sections."
    assert {"scout", "checker"} <= names(rules, text, EventKind.DECISION).keys()
    assert all(one.doubtful for one in names(rules, text, EventKind.DECISION).values())
    assert names(rules, text).keys() == {"Split"}


def test_ordinary_words_are_no_names(rules: EntityRules) -> None:
    text = "Battery is low. Restacked. Good whiteboard! Harvest was done, and the world is old and hard."
    assert [one.surface for one in names(rules, text).values() if not one.doubtful] == []


def test_other_events_of_the_window_do_not_change_what_is_found(rules: EntityRules) -> None:
    one, other = node("a", "Stavros, come."), node("b", "Hello from Stavros.", speaker="Stavros")
    alone = rules.find(Window("t", "s", (one,), frozenset({one.id})))
    beside = rules.find(Window("t", "s", (one, other), frozenset({one.id, other.id})))
    assert [found for found in beside if found.event == one.id] == list(alone)


def test_a_title_is_no_part_of_a_names_form() -> None:
    assert name_form("Ms Brandt") == name_form("ms. brandt") == normal_form("Brandt")
    assert name_form("Mister") == "mister"
    assert name_form("Dr") == "dr"
