"""Training questions, measured by the product itself: what is learned from is what ranking will see."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.datasets import Question
from query_api.engine import Retriever
from query_api.models import QueryRequest
from query_api.ranking import Documents, FittedRanker
from query_api.ranking.arrays import Matrix
from query_api.ranking.fitted import SCORED
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
    measured = ranker.measure(reading.candidates, reading.evidence, reading.policy)
    refs = {candidate.node.id: candidate.node.ref for candidate in reading.candidates}
    rows = measured.best(SCORED)
    wanted = frozenset(evidence)
    labels = np.array([refs[measured.ids[row]] in wanted for row in rows], dtype=np.int64)
    return TrainingQuestion(measured.matrix[rows], labels, len(wanted))


async def collect(
    retriever: Retriever,
    tenant: str,
    questions: Sequence[Question],
    progress: Callable[[int], None] = lambda _: None,
) -> list[TrainingQuestion]:
    """Ask every question of a tenant and measure its candidates; raises as `Retriever.read` does."""
    ranker = FittedRanker(None, Documents.open())
    found = []
    for number, question in enumerate(questions, start=1):
        reading = await retriever.read(tenant, QueryRequest(question=question.text, as_of=question.as_of))
        found.append(training_question(reading, question.evidence, ranker))
        progress(number)
    return found
