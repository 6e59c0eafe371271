"""The order that was learned from questions with known evidence: boosted trees over the features of the pool.

What is learned from talk knows little of incidents, so causal paths are added to it for questions that ask why: an
event that explains a good match, over causal edges alone, stands right behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

import numpy as np
import orjson

from memory.errors import BadSetting
from memory.relations import Relation
from query_api.policy import Policy
from query_api.ranking.arrays import Floats, Matrix
from query_api.ranking.documents import Documents
from query_api.ranking.features import NAMES, measure
from query_api.ranking.model import Candidate, Evidence, Scored
from query_api.ranking.pool import Pool, make_pool
from query_api.ranking.questions import read_question
from query_api.ranking.trees import Trees

#: Where the shipped models stand, as package data.
MODEL_PACKAGE = "query_api.ranking"
MODEL_FOLDER = "models"
#: Candidates that the trees score, the best by `base`; the others follow in the order of `base`.
SCORED = 120

#: Share of `base` in the fitted order. On talk it changes nothing; in memories unlike those that were learned from it
#: keeps matches in sight: of 87 expected events of an incident, 77 instead of 74 stood among the first 50.
BASE_SHARE = 0.15

#: Part of the salience below which what the trees did not score stands.
_FLOOR = 0.2
_DECIMALS = 6


class Part(StrEnum):
    """What a fitted salience is the sum of.

    FITTED: the trees' score with a share of `base`, over the pool from 0 to 1. CHAIN: what a causal path carries from
    where it starts.
    """

    FITTED = "fitted"
    CHAIN = "chain"


@dataclass(frozen=True, slots=True)
class Measured:
    """The features of one question's candidates. `ids`: rows, in the order of time; `matrix`: columns as `NAMES`."""

    ids: tuple[str, ...]
    matrix: Matrix

    def column(self, name: str) -> Floats:
        """Give one feature by its name."""
        return self.matrix[:, NAMES.index(name)].astype(np.float64)

    def best(self, count: int) -> list[int]:
        """Give the rows of the best by `base`, best first; equal ones by id."""
        found: list[int] = np.lexsort((np.array(self.ids), -self.column("base")))[:count].tolist()
        return found


class FittedRanker:
    """Ranks by trees, or, without any, by the `base` feature alone: flat fusion and what stands beside it in time.

    `documents` holds what is remembered of events' words; one may serve several rankers.
    """

    def __init__(self, trees: Trees | None, documents: Documents) -> None:
        self._trees = trees
        self._columns = [] if trees is None else trees.columns(NAMES)
        self.documents = documents

    @classmethod
    def load(cls, encoder_name: str, documents: Documents | None = None) -> "FittedRanker | None":
        """Read the shipped model that was fitted on an encoder's vectors; None when none is shipped for it."""
        trees = shipped_trees(encoder_name)
        return None if trees is None else cls(trees, documents or Documents.open())

    def rank(self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience; equal saliences are ordered by id."""
        with self.documents:
            pool = make_pool(candidates, evidence, policy, self.documents)
            measured = self._measure(pool, evidence)
        fitted = self._scores(measured)
        carried = policy.ranking.chain * evidence.route.intents.why * _carried(pool, fitted)
        by_id = {candidate.node.id: candidate for candidate in candidates}
        parts = np.round(np.stack([fitted, carried]), _DECIMALS).tolist()
        scored = [
            Scored(by_id[id_], own + chain, {Part.FITTED: own, Part.CHAIN: chain})
            for id_, own, chain in zip(measured.ids, *parts, strict=True)
        ]
        return sorted(scored, key=lambda item: (-item.salience, item.candidate.node.id))

    def measure(self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy) -> Measured:
        """Give the features of the candidates, for training and for the explanation."""
        with self.documents:
            return self._measure(make_pool(candidates, evidence, policy, self.documents), evidence)

    def contributions(
        self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy
    ) -> dict[str, dict[Relation, float]]:
        """Give what each relation adds to each event's fitted salience: with it, less without it.

        Measures all features once more for each relation: for explanations.
        """
        with self.documents:
            pool = make_pool(candidates, evidence, policy, self.documents)
            whole = self._scores(self._measure(pool, evidence))
            found: dict[str, dict[Relation, float]] = {id_: {} for id_ in pool.ids}
            for relation in sorted(pool.relations):
                without = self._scores(self._measure(pool.without(relation), evidence))
                for id_, more in zip(pool.ids, (whole - without).tolist(), strict=True):
                    found[id_][relation] = round(more, _DECIMALS)
        return found

    def _measure(self, pool: Pool, evidence: Evidence) -> Measured:
        question = read_question(evidence.question)
        return Measured(pool.ids, measure(question, evidence.vector, pool, self.documents))

    def _scores(self, measured: Measured) -> Floats:
        """Bring the scores of one question to [0, 1]."""
        if not measured.ids:
            return np.zeros(0)
        base = _scaled(measured.column("base"))
        if self._trees is None:
            return base
        best = measured.best(SCORED)
        scores = _FLOOR * base
        scores[best] = _FLOOR + (1 - _FLOOR) * _scaled(self._trees.score(measured.matrix[best][:, self._columns]))
        return (1 - BASE_SHARE) * scores + BASE_SHARE * base


def _scaled(values: Floats) -> Floats:
    low, high = values.min(), values.max()
    scaled: Floats = (values - low) / (high - low) if high > low else np.ones(len(values))
    return scaled


def _carried(pool: Pool, fitted: Floats) -> Floats:
    found: Floats = np.where(pool.chain_start >= 0, pool.chain_share * fitted[pool.chain_start], 0.0)
    return found


@cache
def shipped_trees(encoder_name: str) -> Trees | None:
    """Read a shipped model; None when there is none for the encoder."""
    file = files(MODEL_PACKAGE) / MODEL_FOLDER / f"{encoder_name}.json"
    if not file.is_file():
        return None
    return read_trees(file.read_bytes(), encoder_name)


def read_trees(content: bytes, where: str) -> Trees:
    """Read a model file; raises `BadSetting` naming `where` when it is none."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise BadSetting(f"the ranking model {where} is not JSON: {error}", hint="see `magma tune`") from error
    return Trees.of(document)
