"""Where the weights of Magma's ranking come from in a measurement, so that no question is ranked by its own labels."""

import asyncio
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum

from bench.datasets import Conversation
from bench.recalled import OpenStores
from bench.tune import Fold, KeepingRanker, TrainingQuestion, collect, cross_fit
from query_api.engine import Retriever
from query_api.policy import Policy
from query_api.ranking import Candidate, Documents, Evidence, Scored, shipped_trees
from query_api.ranking.fitted import Measured

#: Shows progress: (what, of how many) → something to be told how many are done.
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


class Fit(StrEnum):
    """LOCO: fitted for each conversation on all others. SHIPPED: the model that comes with the package."""

    LOCO = "loco"
    SHIPPED = "shipped"


class FoldRanker:
    """Ranks a conversation by what was fitted without it; the tenant of the candidates says which that is.

    `measured`: the features of the last question ranked, None before the first and for one without candidates.
    """

    def __init__(self, by_tenant: Mapping[str, KeepingRanker]) -> None:
        self._by_tenant = by_tenant
        self.measured: Measured | None = None

    def rank(self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience; raises `KeyError` for a tenant that was not fitted for."""
        if not candidates:
            self.measured = None
            return []
        ranker = self._by_tenant[candidates[0].node.tenant]
        scored = ranker.rank(candidates, evidence, policy)
        self.measured = ranker.measured
        return scored


@dataclass(frozen=True, slots=True)
class Fitting:
    """What ranks in a measurement. `ranker`: None for the one that the policy chooses; `words`: what it was fitted on.

    `sets`, `folds`: what was learned from and what came out, by conversation; empty when nothing was fitted.
    """

    ranker: FoldRanker | None
    words: str
    sets: Mapping[str, list[TrainingQuestion]] = field(default_factory=dict)
    folds: Sequence[Fold] = ()


def resolve(wanted: Fit | None, conversations: int) -> Fit:
    """Choose when nothing was asked for: fitting needs lightgbm and another conversation."""
    can_fit = conversations > 1 and importlib.util.find_spec("lightgbm") is not None
    return wanted or (Fit.LOCO if can_fit else Fit.SHIPPED)


async def fitted(
    stores: OpenStores,
    conversations: Sequence[Conversation],
    tenants: Mapping[str, str],
    fit: Fit,
    bar: Bar,
) -> Fitting:
    """Fit what ranks all tenants.

    Raises `MissingExtra` without lightgbm, `BadSetting` for too few questions, and as retrieval does.
    """
    encoder = stores.encoder.name
    if fit is Fit.SHIPPED:
        trees = shipped_trees(encoder)
        return Fitting(
            None, "shipped: none for this encoder, ranked without" if trees is None else f"shipped: {trees.fit['on']}"
        )
    documents = Documents.open()
    ranker = KeepingRanker(None, documents)
    collecting = Retriever(stores.graph, stores.vectors, stores.encoder, ranker=ranker)
    sets = {}
    with bar("learnt from", sum(len(one.questions) for one in conversations)) as progress:
        done = 0
        for one in conversations:
            sets[one.id] = await collect(collecting, ranker, tenants[one.id], one.questions)
            done += len(one.questions)
            progress(done)
    folds = await asyncio.to_thread(cross_fit, sets, encoder=encoder)
    by_tenant = {tenants[fold.left_out]: KeepingRanker(fold.trees, documents) for fold in folds}
    words = f"loco: each of {len(folds)} conversations ranked by weights fitted on the others"
    return Fitting(FoldRanker(by_tenant), words, sets, folds)
