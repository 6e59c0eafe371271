"""One measurement: every system over every question, in one process and one run."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.corpus import load_corpus
from bench.datasets import Dataset, Question
from bench.fitting import Bar, Fit, Fitting, fitted
from bench.judge import JudgeTable, answer_and_judge
from bench.rankings import Ranked
from bench.recalled import OpenStores
from bench.refit import Anew, Refitted, fitted_anew, refitted
from bench.run_baselines import Heard, hear, measure_grids, rank_all
from bench.run_magma import Memory, ask_all, warm_up
from bench.systems import BASELINES, System
from bench.tune import TrainingQuestion, cross_fit, of_measured, training_question
from memory.settings import Settings
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


async def measure(plain: OpenStores, recalled: OpenStores, plan: Plan, bar: Bar) -> Measured:
    """Measure the systems in the order of their names; raises as the stores and the encoder do.

    Magma itself and its time are measured on the `plain` stores; what is learned from, and its variants, on the
    `recalled` ones: most of what a variant asks was asked before.
    """
    measured = Measured()
    conversations = plan.dataset.conversations
    memories = [Memory(one, plan.tenants[one.id]) for one in conversations]
    heard: list[Heard] = []
    with bar("conversations", len(conversations)) as progress:
        for place, conversation in enumerate(conversations, start=1):
            corpus = await load_corpus(plain.graph, plain.vectors, plan.tenants[conversation.id])
            measured.events += len(corpus.nodes)
            if any(system in BASELINES for system in plan.systems):
                heard.append(await hear(conversation, corpus, plain.encoder))
            progress(place)
    grids = await asyncio.to_thread(measure_grids, heard)
    for system in plan.systems:
        if system in BASELINES:
            measured.outcomes[system] = await asyncio.to_thread(rank_all, system, heard, grids, plan.budget_tokens)
    if plan.asks_magma:
        fitting = await fitted(recalled, conversations, plan.tenants, plan.fit, bar)
        measured.fit = fitting.words
        asking = _Asking(plan, memories, fitting, measured, bar)
        retriever = _retriever(plain, fitting)
        measured.repeatable = await warm_up(retriever, memories, plan.budget_tokens)
        variants = _retriever(recalled, fitting)
        for system in plan.systems:
            if system not in BASELINES:
                await asking.ask(system, retriever if system is System.MAGMA else variants, plain.encoder.name)
        if plan.judge is not None:
            with bar("judged", plan.dataset.questions) as progress:
                measured.judge = await answer_and_judge(plan.judge, retriever, memories, plan.budget_tokens, progress)
    measured.outcomes = {system: measured.outcomes[system] for system in plan.systems}
    return measured


def _retriever(stores: OpenStores, fitting: Fitting) -> Retriever:
    return Retriever(stores.graph, stores.vectors, stores.encoder, ranker=fitting.ranker)


class _Asking:
    """Asks the variants of Magma one after the other, and fits each anew where that is wanted."""

    def __init__(self, plan: Plan, memories: Sequence[Memory], fitting: Fitting, measured: Measured, bar: Bar) -> None:
        self._plan = plan
        self._memories = memories
        self._fitting = fitting
        self._measured = measured
        self._bar = bar
        self._measuring = FittedRanker(None, Documents.open())
        self._whole: Anew | None = None

    async def ask(self, system: System, retriever: Retriever, encoder: str) -> None:
        """Ask every question of one variant."""
        plan = self._plan
        sets: dict[str, list[TrainingQuestion]] = {one.id: [] for one in plan.dataset.conversations}
        # the whole was learned from already, when anything was fitted at all
        known = system is System.MAGMA and bool(self._fitting.folds)

        def learn(conversation: str, reading: Reading, question: Question) -> None:
            sets[conversation].append(self._learned(reading, question))

        with self._bar(system.value, plan.dataset.questions) as progress:
            self._measured.outcomes[system] = await ask_all(
                system,
                retriever,
                self._memories,
                plan.budget_tokens,
                progress,
                learn if plan.refit and not known else None,
            )
        if plan.refit:
            conversations = plan.dataset.conversations
            if known:
                one = fitted_anew(conversations, self._fitting.sets, self._fitting.folds)
            else:
                folds = await asyncio.to_thread(cross_fit, sets, encoder=encoder)
                one = fitted_anew(conversations, sets, folds)
            self._measured.refitted[system] = await asyncio.to_thread(refitted, one, self._whole)
            if system is System.MAGMA:
                self._whole = one

    def _learned(self, reading: Reading, question: Question) -> TrainingQuestion:
        ranker = self._fitting.ranker
        if ranker is not None and ranker.measured is not None:
            return of_measured(ranker.measured, reading, question.evidence)
        return training_question(reading, question.evidence, self._measuring)
