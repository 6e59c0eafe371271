"""Nearness of events to each other (SIMILAR): what resembles the best events so far."""

import numpy as np

from memory.relations import Relation
from query_api.ranking.table import Family, Table

#: similar: mean cosine to the best events so far, weighted by their scores; similar_far: the largest to one of another
#: session.
FAMILY = Family(("similar", "similar_far"), Relation.SEMANTIC)


def compute(table: Table) -> None:
    """Compute the family."""
    if not table.allows(Relation.SEMANTIC):
        table["similar"] = table["similar_far"] = np.zeros(len(table.pool))
        return
    vectors, seeds = table.pool.vectors, table.seeds()
    cosine = (vectors @ vectors[seeds.rows].T) * seeds.others * seeds.weights
    table["similar"] = cosine.sum(axis=1) / (seeds.weights.sum() + 1e-6)
    table["similar_far"] = (cosine * seeds.elsewhere).max(axis=1).astype(np.float64)
