"""What people ask in their own words, one row a question: which intent leads, which names of the memory are found."""

import pytest

from memory.names import normal_form
from query_api.intents import Intent
from query_api.router import Route, RuleRouter

WHY, WHEN, ENTITY, GENERAL = Intent.WHY, Intent.WHEN, Intent.ENTITY, Intent.GENERAL

INTENTS = [
    # direct
    ("Why did the deploy fail?", WHY),
    ("How come the queue grew overnight?", WHY),
    ("What caused the 503s?", WHY),
    ("What made her quit the choir?", WHY),
    ("What was behind the decision to move?", WHY),
    ("What's the reason they postponed it?", WHY),
    ("Because of what was the order cancelled?", WHY),
    ("For what reason was the key rotated?", WHY),
    ("What is to blame for the slow checkout?", WHY),
    ("Which change broke the login?", WHY),
    ("When was the key rotated?", WHEN),
    ("When exactly did the pager go off?", WHEN),
    ("What time did the standup start?", WHEN),
    ("On which day is the launch?", WHEN),
    ("How long did the outage last?", WHEN),
    ("How long ago was the last backup?", WHEN),
    ("How recently was it changed?", WHEN),
    ("Until when was it frozen?", WHEN),
    ("Which came first, the alert or the rollback?", WHEN),
    ("Who rolled it back?", ENTITY),
    ("Whose laptop was it?", ENTITY),
    ("Which service owns the topic?", ENTITY),
    ("What is the name of her dog?", ENTITY),
    ("What is his sister called?", ENTITY),
    # negation: what is asked is why it did NOT happen
    ("Why did it not fail?", WHY),
    ("Why didn't the alert fire?", WHY),
    ("Why doesn't he want to come?", WHY),
    ("Why isn't she interested in the job?", WHY),
    ("Why does nobody care about the backlog?", WHY),
    ("Why don't they need the cache any more?", WHY),
    ("When did the job not run?", WHEN),
    ("Who did not sign?", ENTITY),
    ("Who doesn't want a car?", ENTITY),
    # negation: what is not asked
    ("Not when, but why did it break?", WHY),
    ("I don't want to know why it broke, I want to know when it broke", WHEN),
    ("I don't care who did it, why was it done?", WHY),
    ("Don't tell me who, tell me when it was", WHEN),
    ("Regardless of why it happened, when did it happen?", WHEN),
    ("I am not asking when it happened but why", WHY),
    ("It doesn't matter when it started; who noticed it?", ENTITY),
    ("Forget why; who approved it?", ENTITY),
    # indirect
    ("Tell me the reason the rollback was needed", WHY),
    ("I'd like to understand why the test is flaky", WHY),
    ("I wonder why nobody noticed", WHY),
    ("Can you explain what led to the outage?", WHY),
    ("Explain why it is slow", WHY),
    ("Do you have any idea why she left?", WHY),
    ("I don't know why it is slow", WHY),
    ("I wonder when they met", WHEN),
    ("Could you tell me when the lease ends?", WHEN),
    ("Do you happen to know when it closes?", WHEN),
    ("I have no idea when that was", WHEN),
    ("Remind me when the dentist is", WHEN),
    ("Please find out when he was born", WHEN),
    ("I forgot when we shipped it", WHEN),
    ("Let me know when she arrived", WHEN),
    ("Give me the date of the audit", WHEN),
    ("I wonder who called", ENTITY),
    ("Tell me who was on call", ENTITY),
    ("Remind me who said that", ENTITY),
    ("Any idea whose turn it was?", ENTITY),
    ("Tell me about the migration", ENTITY),
    # not a cue: inside words, conjunctions, relative clauses, other senses
    ("Do you understand the handbook?", GENERAL),
    ("Is the whyte bike still there?", GENERAL),
    ("Whenever it rains, does the sensor drift?", GENERAL),
    ("What did she eat when she was in Paris?", GENERAL),
    ("What happens when the disk is full?", GENERAL),
    ("Did the engineer who called leave a note?", GENERAL),
    ("Was it the man whose car was towed?", GENERAL),
    ("Is this a reasonable plan?", GENERAL),
    ("Is the calendar up to date?", GENERAL),
    ("Did the cause get enough donations?", GENERAL),
    ("How many tickets are open?", GENERAL),
    ("Is the wholesale price fixed?", GENERAL),
    ("Where is the spare key?", GENERAL),
    ("What is behind the sofa?", GENERAL),
]

NAMES = [
    ("Do you understand Andrea?", {"and", "andrea"}, ("andrea",)),
    ("Did the plan change?", {"ann", "an"}, ()),
    ("what did andrea say about payments service", {"andrea", "payments service"}, ("andrea", "payments service")),
    ("Is Mel's violin new?", {"mel", "mel's"}, ("mel",)),
    ("Was it MEL?", {"mel"}, ("mel",)),
    ("Did Jean-Luc call?", {"jean-luc"}, ("jean-luc",)),
    ("What does checkout-api do?", {"checkout-api"}, ("checkout-api",)),
    ("Who closed INC-881?", {"inc-881"}, ("inc-881",)),
    ("Did Zoë call?", {"zoe"}, ("zoe",)),
    ("Is Caroline here?", set(), ()),
]


def routed(question: str, *known: str) -> Route:
    keys = frozenset(normal_form(name) for name in known)
    return RuleRouter().understand(question, reference=None, known=keys)


@pytest.mark.parametrize(("question", "intent"), INTENTS)
def test_the_leading_intent(question: str, intent: Intent) -> None:
    route = routed(question)
    assert route.intents.top is intent, route


def test_the_table_is_large_and_asks_for_every_intent() -> None:
    assert len({question for question, _ in INTENTS}) == len(INTENTS) >= 60
    assert {intent for _, intent in INTENTS} == set(Intent)


@pytest.mark.parametrize(("question", "known", "names"), NAMES)
def test_the_names_are_the_memorys_own(question: str, known: set[str], names: tuple[str, ...]) -> None:
    assert set(routed(question, *known).names) == {normal_form(name) for name in names}


@pytest.mark.parametrize("question", [question for question, _ in INTENTS])
def test_case_does_not_matter(question: str) -> None:
    assert routed(question.lower()).intents == routed(question.upper()).intents == routed(question).intents
