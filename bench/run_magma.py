"""Asks Magma, whole or with parts of it taken away, every question of a data set, one after the other."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.datasets import Conversation, Question
from bench.rankings import CONTEXTS, RANKS, Ranked
from bench.systems import System, policy_of, relations_of
from query_api.engine import Retriever
from query_api.models import QueryRequest, QueryResult
from query_api.reading import Reading
from query_api.synthesis import synthesize
from query_api.views import result_view

#: Questions asked twice before anything is measured: caches fill, connections open.
WARM_UP = 60


@dataclass(frozen=True, slots=True)
class Memory:
    """A conversation and the tenant that remembers it."""

    conversation: Conversation
    tenant: str


def request_for(system: System, question: Question, budget_tokens: int) -> QueryRequest:
    """Make the request: nothing of a label is in it."""
    return QueryRequest(
        question=question.text,
        as_of=question.as_of,
        budget_tokens=budget_tokens,
        relations=relations_of(system),
        policy=policy_of(system),
    )


async def warm_up(retriever: Retriever, memories: Sequence[Memory], budget_tokens: int) -> bool:
    """Ask the first questions of each memory twice; say whether both results were equal, byte for byte."""
    equal = True
    for memory in memories:
        for question in memory.conversation.questions[: max(1, WARM_UP // len(memories))]:
            request = request_for(System.MAGMA, question, budget_tokens)
            both = [await retriever.query(memory.tenant, request) for _ in range(2)]
            equal &= _bytes(both[0]) == _bytes(both[1])
    return equal


async def ask_all(
    system: System,
    retriever: Retriever,
    memories: Sequence[Memory],
    budget_tokens: int,
    progress: Callable[[int], None] = lambda _: None,
    learn: Callable[[str, Reading, Question], None] | None = None,
) -> list[Ranked]:
    """Ask every question; `learn` is shown its conversation and what was found. Raises as `Retriever.query` does."""
    # what a context holds is of interest for the whole, and writing three of them takes longer than a query
    contexts = CONTEXTS if system is System.MAGMA else ()
    ranked: list[Ranked] = []
    for memory in memories:
        for question in memory.conversation.questions:
            request = request_for(system, question, budget_tokens)
            began, cpu = time.perf_counter(), time.process_time()
            reading = await retriever.read(memory.tenant, request)
            result_view(reading, request)
            spent = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
            ranked.append(await asyncio.to_thread(_ranked, memory.conversation.id, question, reading, spent, contexts))
            if learn is not None:
                await asyncio.to_thread(learn, memory.conversation.id, reading, question)
            progress(len(ranked))
    return ranked


def _ranked(
    conversation: str, question: Question, reading: Reading, spent: tuple[float, float], contexts: Sequence[int]
) -> Ranked:
    nodes = [item.candidate.node for item in reading.scored]
    return Ranked(
        conversation=conversation,
        question=question,
        turns=tuple(node.ref for node in nodes[: max(RANKS)]),
        sessions=tuple(dict.fromkeys(node.session for node in nodes)),
        shown={budget: _shown(reading, budget) for budget in contexts},
        tokens=reading.context.tokens,
        ms=spent[0],
        cpu_ms=spent[1],
        visited=frozenset(reading.walk.visits),
    )


def _shown(reading: Reading, budget: int) -> frozenset[str]:
    """Give the turns in a context of another budget, written as the query's own was."""
    context = synthesize(
        reading.scored,
        reading.route.intents.top,
        budget_tokens=budget,
        causes=reading.walk.causes,
        names=reading.route.names,
    )
    refs = {item.candidate.node.id: item.candidate.node.ref for item in reading.scored}
    return frozenset(refs[id_] for id_ in context.shown)


def _bytes(result: QueryResult) -> str:
    return result.model_dump_json(exclude={"timings_ms"})
