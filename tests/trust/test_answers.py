"""Answers say whose word they rest on, and a policy may let some words count less."""

import pytest

from memory.events import Trust
from memory.settings import Settings
from query_api.engine import Retriever
from query_api.models import QueryRequest
from query_api.policy import Policy, RankerName, RankingPolicy, shipped_policy
from tests.query.small_memory import Said, SmallMemory, small_memory

QUESTION = QueryRequest(question="What is the code of the vault?", explain=True)
SAID = [
    Said("e1", "2026-05-08T10:00:00+00:00", "Ada", "The code of the vault is 1234.", "a", trust=Trust.UNTRUSTED),
    Said("e2", "2026-05-08T11:00:00+00:00", "Ben", "Somebody told me the vault has a code: 9876.", "b"),
    Said("e3", "2026-05-08T12:00:00+00:00", "Cem", "The code of the vault was 1234.", "c", derived_from=("e1",)),
    Said("e4", "2026-05-08T13:00:00+00:00", "Dan", "Lunch was late.", "d"),
]


def with_factors(ranker: RankerName, **factors: float) -> Policy:
    policy = shipped_policy("default")
    return policy.model_copy(update={"ranking": policy.ranking.model_copy(update={"ranker": ranker, **factors})})


async def order(memory: SmallMemory, policy: Policy) -> tuple[list[str], dict[str, float]]:
    """Give refs by falling salience, and what trust took from each."""
    result = await Retriever(memory.graph, memory.vectors, memory.encoder, policy).query(memory.tenant, QUESTION)
    for event in result.events:
        assert event.terms is not None
        assert sum(event.terms.values()) == pytest.approx(event.salience, abs=1e-4)
    saliences = [event.salience for event in result.events]
    assert saliences == sorted(saliences, reverse=True)
    return [event.ref for event in result.events], {
        event.ref: (event.terms or {}).get("trust", 0.0) for event in result.events
    }


def test_the_shipped_policies_let_every_word_count_alike() -> None:
    for name in ("default", "uniform", "paper"):
        ranking = shipped_policy(name).ranking
        assert (ranking.untrusted, ranking.recalled) == (1.0, 1.0)
    assert RankingPolicy().untrusted == 1.0


@pytest.mark.stack
@pytest.mark.parametrize("ranker", [RankerName.FITTED, RankerName.BASE, RankerName.SALIENCE])
async def test_a_policy_lets_untrusted_and_recalled_words_count_less(
    settings: Settings, tenant: str, ranker: RankerName
) -> None:
    async with small_memory(settings, tenant) as memory:
        await memory.write(*SAID)
        alike, taken = await order(memory, with_factors(ranker))
        assert alike.index("e1") < alike.index("e2")
        assert set(taken.values()) == {0.0}
        less, taken = await order(memory, with_factors(ranker, untrusted=0.1))
        assert less.index("e1") > less.index("e2")
        assert taken["e1"] < 0 == taken["e2"] == taken["e3"]
        assert sorted(less) == sorted(alike)  # lowered, and still found
        none, taken = await order(memory, with_factors(ranker, untrusted=0.0, recalled=0.0))
        assert none.index("e2") < min(none.index("e1"), none.index("e3"))
        assert taken["e3"] < 0


@pytest.mark.stack
async def test_an_answer_shows_source_trust_and_what_is_repeated(settings: Settings, tenant: str) -> None:
    async with small_memory(settings, tenant) as memory:
        await memory.write(*SAID)
        result = await memory.retriever.query(tenant, QUESTION)
        by_ref = {event.ref: event for event in result.events}
        assert by_ref["e1"].trust is Trust.UNTRUSTED
        assert by_ref["e2"].trust is Trust.NORMAL
        assert by_ref["e3"].derived_from == [memory.id("e1")] or by_ref["e3"].derived_from == (memory.id("e1"),)
        (first,) = [line for line in result.context.splitlines() if "<ref:e1>" in line]
        (third,) = [line for line in result.context.splitlines() if "<ref:e3>" in line]
        assert "[untrusted source]" in first
        assert "[recalled: repeats earlier events]" in third
