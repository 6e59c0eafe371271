"""One measurement: every system over every question, in one process and one run."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.corpus import load_corpus
from bench.datasets import Dataset, Question
from bench.fitting import Bar, Fit, fitted
from bench.judge import JudgeTable, answer_and_judge
from bench.rankings import Ranked
from bench.refit import Refitted, refitted
from bench.run_baselines import Heard, hear, measure_grids, rank_all
from bench.run_magma import Memory, ask_all, warm_up
from bench.systems import BASELINES, System
from bench.tune import TrainingQuestion, training_question
from memory.embedding import Encoder
from memory.graph import Graph
from memory.settings import Settings
from memory.vectors import Vectors
from query_api.engine import Retriever
from query_api.ranking import Documents, FittedRanker
from query_api.reading import Reading


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. `tenants`: who remembers each conversation; `budget_tokens`: of a usual context.

    `refit`: fit every variant without what it lacks, too. `judge`: settings with the model that answers and judges;
    None: nobody does.
    """

    dataset: Dataset
    systems: tuple[System, ...]
    tenants: Mapping[str, str]
    fit: Fit
    budget_tokens: int
    judge: Settings | None = None
    refit: bool = False

    @property
    def asks_magma(self) -> bool:
        """Whether anything of Magma itself is measured."""
        return self.judge is not None or any(system not in BASELINES for system in self.systems)


@dataclass(slots=True)
class Measured:
    """What came out. `repeatable`: asking Magma twice gave equal bytes; None when it was not asked."""

    outcomes: dict[System, list[Ranked]] = field(default_factory=dict)
    events: int = 0
    fit: str = "nothing of Magma was measured"
    repeatable: bool | None = None
    judge: JudgeTable | None = None
    refitted: dict[System, Refitted] = field(default_factory=dict)


async def measure(graph: Graph, vectors: Vectors, encoder: Encoder, plan: Plan, bar: Bar) -> Measured:
    """Measure the systems in the order of their names; raises as the stores and the encoder do."""
    measured = Measured()
    conversations = plan.dataset.conversations
    memories = [Memory(one, plan.tenants[one.id]) for one in conversations]
    heard: list[Heard] = []
    with bar("conversations", len(conversations)) as progress:
        for place, conversation in enumerate(conversations, start=1):
            corpus = await load_corpus(graph, vectors, plan.tenants[conversation.id])
            measured.events += len(corpus.nodes)
            if any(system in BASELINES for system in plan.systems):
                heard.append(await hear(conversation, corpus, encoder))
            progress(place)
    grids = await asyncio.to_thread(measure_grids, heard)
    for system in plan.systems:
        if system in BASELINES:
            measured.outcomes[system] = await asyncio.to_thread(rank_all, system, heard, grids, plan.budget_tokens)
    if plan.asks_magma:
        retriever, measured.fit = await fitted(graph, vectors, encoder, conversations, plan.tenants, plan.fit, bar)
        measured.repeatable = await warm_up(retriever, memories, plan.budget_tokens)
        for system in plan.systems:
            if system not in BASELINES:
                await _ask(system, retriever, memories, encoder, plan, bar, measured)
        if plan.judge is not None:
            with bar("judged", plan.dataset.questions) as progress:
                measured.judge = await answer_and_judge(plan.judge, retriever, memories, plan.budget_tokens, progress)
    measured.outcomes = {system: measured.outcomes[system] for system in plan.systems}
    return measured


async def _ask(
    system: System,
    retriever: Retriever,
    memories: Sequence[Memory],
    encoder: Encoder,
    plan: Plan,
    bar: Bar,
    measured: Measured,
) -> None:
    taught: list[TrainingQuestion] = []
    ranker = FittedRanker(None, Documents.open())

    def learn(reading: Reading, question: Question) -> None:
        taught.append(training_question(reading, question.evidence, ranker))

    with bar(system.value, plan.dataset.questions) as progress:
        ranked = await ask_all(system, retriever, memories, plan.budget_tokens, progress, learn if plan.refit else None)
    measured.outcomes[system] = ranked
    if plan.refit:
        measured.refitted[system] = await asyncio.to_thread(refitted, ranked, taught, encoder.name)
