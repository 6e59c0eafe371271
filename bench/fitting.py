"""Where the weights of Magma's ranking come from in a measurement, so that no question is ranked by its own labels."""

import asyncio
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from bench.datasets import Conversation
from bench.tune import collect, cross_fit
from memory.embedding import Encoder
from memory.graph import Graph
from memory.vectors import Vectors
from query_api.engine import Retriever
from query_api.policy import Policy
from query_api.ranking import Candidate, Documents, Evidence, FittedRanker, Scored, shipped_trees

#: Shows progress: (what, of how many) → something to be told how many are done.
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


class Fit(StrEnum):
    """LOCO: fitted for each conversation on all others. SHIPPED: the model that comes with the package."""

    LOCO = "loco"
    SHIPPED = "shipped"


@dataclass(frozen=True, slots=True)
class FoldRanker:
    """Ranks a conversation by what was fitted without it; the tenant of the candidates says which that is."""

    by_tenant: Mapping[str, FittedRanker]

    def rank(self, candidates: Sequence[Candidate], evidence: Evidence, policy: Policy) -> list[Scored]:
        """Give the candidates by falling salience; raises `KeyError` for a tenant that was not fitted for."""
        if not candidates:
            return []
        return self.by_tenant[candidates[0].node.tenant].rank(candidates, evidence, policy)


def resolve(wanted: Fit | None, conversations: int) -> Fit:
    """Choose when nothing was asked for: fitting needs lightgbm and another conversation."""
    can_fit = conversations > 1 and importlib.util.find_spec("lightgbm") is not None
    return wanted or (Fit.LOCO if can_fit else Fit.SHIPPED)


async def fitted(
    graph: Graph,
    vectors: Vectors,
    encoder: Encoder,
    conversations: Sequence[Conversation],
    tenants: Mapping[str, str],
    fit: Fit,
    bar: Bar,
) -> tuple[Retriever, str]:
    """Give a retriever for all tenants, and in words what its ranking was fitted on.

    Raises `MissingExtra` without lightgbm, `BadSetting` for too few questions, and as retrieval does.
    """
    if fit is Fit.SHIPPED:
        trees = shipped_trees(encoder.name)
        words = "shipped: none for this encoder, ranked without" if trees is None else f"shipped: {trees.fit.get('on')}"
        return Retriever(graph, vectors, encoder), words
    documents = Documents.open()
    collecting = Retriever(graph, vectors, encoder, ranker=FittedRanker(None, documents))
    sets = {}
    with bar("learnt from", sum(len(one.questions) for one in conversations)) as progress:
        done = 0
        for one in conversations:
            sets[one.id] = await collect(collecting, tenants[one.id], one.questions)
            done += len(one.questions)
            progress(done)
    folds = await asyncio.to_thread(cross_fit, sets, encoder=encoder.name)
    by_tenant = {tenants[fold.left_out]: FittedRanker(fold.trees, documents) for fold in folds}
    retriever = Retriever(graph, vectors, encoder, ranker=FoldRanker(by_tenant))
    return retriever, f"loco: each of {len(folds)} conversations ranked by weights fitted on the others"
