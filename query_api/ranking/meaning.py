"""Meaning in common: the cosine of event and question, and of their words one by one. Needs no edge.

The word vectors are a static table; where there is none, only exact matches count.
"""

import numpy as np

from query_api.ranking.arrays import Floats, falling_rank, over_best, standardised
from query_api.ranking.table import Family, Table

#: cos_z: z-score of the cosine in the pool; cos_top: over the best; cos_best: the best; cos_rank: log of its place.
#: fused: words and meaning together.
FAMILY = Family(("cos_z", "cos_top", "cos_best", "cos_rank", "fused"))

#: soft, soft_mean, soft_min: how near the nearest word of the event is to each term of the question (1 for an exact
#: match), weighted by rarity, plain, and the least; soft_only, soft_best: of terms not matched exactly; soft_head: of
#: the first term, mostly what kind of thing is asked for. bag_z: cosine of the words' weighted sums.
SOFT = Family(("soft", "soft_mean", "soft_min", "soft_only", "soft_best", "soft_head", "bag_z"))

#: Shares of words and meaning in `fused`.
WORDS_SHARE = 0.75
MEANING_SHARE = 0.25


def compute(table: Table) -> None:
    """Compute the cosines and `fused`."""
    vectors, rows = table.pool.vectors, len(table.pool)
    cosine: Floats = np.zeros(rows)
    if table.vector is not None and vectors.shape[1] == len(table.vector):
        cosine = (vectors @ table.vector).astype(np.float64)
    z = standardised(cosine)
    table["cos_z"] = z
    table["cos_top"] = cosine / max(cosine.max(), 1e-6)
    table.constant("cos_best", cosine.max())
    table["cos_rank"] = np.log1p(falling_rank(cosine))
    table["fused"] = WORDS_SHARE * table["bm_top"] + MEANING_SHARE * over_best(np.maximum(z, 0.0))


def compute_soft(table: Table) -> None:
    """Compute the soft matches; zeros when question or pool has no words."""
    words = table.words
    nearness, exact = table.nearness()
    if not nearness.shape[1] or not len(words.word):
        for name in SOFT.names:
            table[name] = np.zeros(len(table.pool))
        return
    weights = words.soft_idf / words.soft_idf.sum()
    inexact = np.where(exact, np.float32(0), nearness)
    table["soft"] = (nearness * weights).sum(axis=1)
    table["soft_mean"] = nearness.mean(axis=1).astype(np.float64)
    table["soft_min"] = nearness.min(axis=1).astype(np.float64)
    table["soft_only"] = (inexact * weights).sum(axis=1)
    table["soft_best"] = inexact.max(axis=1).astype(np.float64)
    table["soft_head"] = nearness[:, 0].astype(np.float64)
    asked = (words.soft_vectors * words.soft_idf[:, None]).sum(axis=0)
    direction = (asked / (np.linalg.norm(asked) + 1e-9)).astype(np.float32)
    along = table.words_per_row(words.word_idf[words.word] * (words.vectors @ direction)[words.word])
    # the words are taken as orthogonal for the length of their sum
    length = np.sqrt(table.words_per_row(words.word_idf[words.word] ** 2) + 1e-9)
    table["bag_z"] = standardised(along / length)
