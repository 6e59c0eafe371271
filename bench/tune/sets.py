"""Training questions, measured by the product itself: what is learned from is what ranking will see."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.datasets import Question
from query_api.engine import Retriever
from query_api.models import QueryRequest
from query_api.ranking import Evidence, FittedRanker
from query_api.ranking.arrays import Matrix
from query_api.ranking.fitted import SCORED, Measured
from query_api.ranking.pool import Pool
from query_api.reading import Reading

#: Candidates of a question that are learned from, the best by `base`: the hard ones. More of them teach less.
CANDIDATES = 60


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """One question's candidates, best by `base` first.

    `matrix`: columns as `query_api.ranking.NAMES`; `labels`: 1 for evidence; `evidence`: turns that hold the answer,
    found or not. Evidence is never added to the candidates: that would teach that what ranks low is evidence.
    """

    matrix: Matrix
    labels: NDArray[np.int64]
    evidence: int

    @property
    def teaches(self) -> bool:
        """Whether there is evidence among the candidates that are learned from."""
        return bool(self.labels[:CANDIDATES].any())


def training_question(reading: Reading, evidence: Collection[str], ranker: FittedRanker) -> TrainingQuestion:
    """Make a training question of a reading; `evidence`: refs of the turns that hold the answer."""
    return of_measured(ranker.measure(reading.candidates, reading.evidence, reading.policy), reading, evidence)


def of_measured(measured: Measured, reading: Reading, evidence: Collection[str]) -> TrainingQuestion:
    """Make a training question of features that are measured already."""
    refs = {candidate.node.id: candidate.node.ref for candidate in reading.candidates}
    rows = measured.best(SCORED)
    wanted = frozenset(evidence)
    labels = np.array([refs[measured.ids[row]] in wanted for row in rows], dtype=np.int64)
    return TrainingQuestion(measured.matrix[rows], labels, len(wanted))


class KeepingRanker(FittedRanker):
    """Keeps the features that it measured last, for who learns from them: measuring them is half of a query."""

    measured: Measured | None = None

    def _measure(self, pool: Pool, evidence: Evidence) -> Measured:
        self.measured = super()._measure(pool, evidence)
        return self.measured

    def take(self) -> Measured:
        """Give what was measured last, once; raises `RuntimeError` when nothing was since."""
        measured, self.measured = self.measured, None
        if measured is None:
            raise RuntimeError("nothing was ranked by this ranker: is it the retriever's?")
        return measured


async def collect(
    retriever: Retriever,
    ranker: KeepingRanker,
    tenant: str,
    questions: Sequence[Question],
    progress: Callable[[int], None] = lambda _: None,
) -> list[TrainingQuestion]:
    """Ask every question of a tenant and keep its candidates; `ranker` is the retriever's.

    Raises as `Retriever.read` does.
    """
    found = []
    for number, question in enumerate(questions, start=1):
        # nobody reads the context
        request = QueryRequest(question=question.text, as_of=question.as_of, top_k=1)
        reading = await retriever.read(tenant, request)
        found.append(of_measured(ranker.take(), reading, question.evidence))
        progress(number)
    return found
