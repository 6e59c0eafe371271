"""What a question asks, by rules: word boundaries, indirect questions, negation, names, windows."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query_api.cues import AnswerKind
from query_api.intents import Intent, IntentMix
from query_api.router import Route, RuleRouter, name_candidates

REFERENCE = datetime(2023, 10, 20, 12, tzinfo=UTC)


def routed(question: str, *known: str, reference: datetime | None = REFERENCE) -> Route:
    return RuleRouter().understand(question, reference=reference, known=frozenset(known))


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Why did the deploy fail?", Intent.WHY),
        ("How come checkout is slow?", Intent.WHY),
        ("What caused the outage in payments?", Intent.WHY),
        ("Which change triggered it, and what led to the rollback?", Intent.WHY),
        ("What was the root cause of the incident?", Intent.WHY),
        ("Tell me the reason for the rollback", Intent.WHY),
        ("I don't know why it failed", Intent.WHY),
        ("Do you know why she moved?", Intent.WHY),
        ("What made Caroline change her mind?", Intent.WHY),
        ("When did Caroline go to the support group?", Intent.WHEN),
        ("Do you remember when the cache was purged?", Intent.WHEN),
        ("On what date was the release?", Intent.WHEN),
        ("How long has she lived there?", Intent.WHEN),
        ("How many weeks passed between the two deploys?", Intent.WHEN),
        ("In what order did the alerts fire?", Intent.WHEN),
        ("Since when is the flag on?", Intent.WHEN),
        ("Who acknowledged the alert?", Intent.ENTITY),
        ("Which agent rolled it back?", Intent.ENTITY),
        ("Tell me everything about the payments service", Intent.ENTITY),
        ("To whom was it handed over?", Intent.ENTITY),
        ("Is the cache warm?", Intent.GENERAL),
        ("Do you understand the sandwich?", Intent.GENERAL),
        ("Summary of the whole thing", Intent.GENERAL),
    ],
)
def test_the_leading_intent(question: str, intent: Intent) -> None:
    assert routed(question, reference=None).intents.top is intent


@pytest.mark.parametrize(
    ("question", "not_intent", "intent"),
    [
        ("Not why it failed, but when did it fail?", Intent.WHY, Intent.WHEN),
        ("I don't care when it happened, why did it happen?", Intent.WHEN, Intent.WHY),
        ("Never mind who did it: what caused it?", Intent.ENTITY, Intent.WHY),
    ],
)
def test_what_is_negated_is_not_asked(question: str, not_intent: Intent, intent: Intent) -> None:
    route = routed(question, reference=None)
    assert route.intents.top is intent
    assert route.intents.shares()[not_intent] < 0.15


def test_a_conjunction_does_not_ask_for_a_time() -> None:
    assert routed("What did she eat when she was in Paris?", reference=None).intents.top is not Intent.WHEN


def test_a_relative_pronoun_does_not_ask_for_a_person() -> None:
    assert routed("Did the person who called leave a message?", reference=None).intents.top is not Intent.ENTITY


def test_a_name_counts_only_when_the_memory_knows_it() -> None:
    question = "What instruments does Melanie play?"
    assert routed(question).names == ()
    assert routed(question, "melanie").names == ("melanie",)
    assert routed(question, "melanie").intents.top is Intent.ENTITY


def test_a_known_name_is_found_in_lower_case_and_over_several_words() -> None:
    assert routed("what happened to payments service yesterday", "payments service").names == ("payments service",)


def test_names_stand_inside_words_only_as_words() -> None:
    assert "ann" not in name_candidates("Did the plan change?")


def test_the_window_is_relative_to_the_reference_and_to_nothing_else() -> None:
    window = routed("What happened yesterday?").window
    assert window is not None
    assert window.start_us == int(datetime(2023, 10, 19, tzinfo=UTC).timestamp()) * 1_000_000
    assert window.end_us - window.start_us == 86_400_000_000


def test_without_a_reference_there_is_no_window() -> None:
    assert routed("What happened yesterday?", reference=None).window is None


def test_the_cues_say_what_decided() -> None:
    assert "why" in routed("Why?").cues


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did she leave?", AnswerKind.TEMPORAL),
        ("Would Caroline likely enjoy a concert?", AnswerKind.INFERENCE),
        ("What activities do both of them like?", AnswerKind.MULTI_HOP),
        ("Where is the office?", AnswerKind.FACTUAL),
    ],
)
def test_the_answer_kind_comes_from_the_question(question: str, kind: AnswerKind) -> None:
    assert routed(question, reference=None).kind is kind


async def test_the_router_is_one_of_its_kind() -> None:
    route = await RuleRouter().route("Why?", reference=None, known=frozenset())
    assert route == routed("Why?", reference=None)


@given(st.text(max_size=200))
def test_any_text_gives_a_distribution(question: str) -> None:
    shares = routed(question).intents.shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0


@given(st.dictionaries(st.sampled_from(list(Intent)), st.floats(0, 100)))
def test_evidence_is_normalised(evidence: dict[Intent, float]) -> None:
    assert sum(IntentMix.of(evidence).shares().values()) == pytest.approx(1.0)


def test_what_is_not_a_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match="not a distribution"):
        IntentMix(why=0.7, when=0.7)
