"""What stands beside an event in time (NEXT): who answers stands beside who asked, and says fewer of the words."""

import numpy as np

from memory.relations import Relation
from query_api.ranking.arrays import Floats, over_best, standardised
from query_api.ranking.lexical import bm25
from query_api.ranking.pool import REACH
from query_api.ranking.table import Family, Table

#: Shares of the neighbours' scores in `spread`, one and two steps away.
NEAR = 0.4
NEAR_TWO = 0.2

_BM_STEPS = (-3, -2, -1, 1, 2, 3)
_COS_STEPS = (-2, -1, 1, 2)
_BESIDE = [-2, -1, 1, 2]

#: bm±n, cos±n, bag_prev, bag_next, soft_prev, prev_length: the neighbours' values. cover_*: the share of rarity
#: matched by the event and those before or around it together; soft_w, soft_head_w: the same of soft matches. bm_w1,
#: bm_w2: BM25 of windows of 3 and 5 events. cos_pair, cos_w2: cosine of the sum of the vectors of the event and the one
#: before, and of five. spread: own score and shares of the neighbours'. near_best, peak: the best of the neighbours,
#: and how far the event stands above it; prev_best: the best of the two before; soft_peak: as peak. date, talks: the
#: asked time.
FAMILY = Family(
    (
        *(f"bm{step:+d}" for step in _BM_STEPS),
        *(f"cos{step:+d}" for step in _COS_STEPS),
        *("bag_prev", "bag_next", "soft_prev", "prev_length", "cover_prev", "cover_w1", "cover_w2", "cover_w4"),
        *("soft_w", "soft_head_w", "bm_w1", "bm_w2", "cos_pair", "cos_w2", "spread", "near_best", "peak", "prev_best"),
        *("soft_peak", "date", "talks"),
    ),
    Relation.TEMPORAL,
)


def compute(table: Table) -> None:
    """Compute the family."""
    fused, at = table["fused"], table.at
    for step in _BM_STEPS:
        table[f"bm{step:+d}"] = at(table["bm_top"], step)
    for step in _COS_STEPS:
        table[f"cos{step:+d}"] = at(table["cos_z"], step)
    table["bag_prev"], table["bag_next"] = at(table["bag_z"], -1), at(table["bag_z"], 1)
    table["soft_prev"], table["prev_length"] = at(table["soft"], -1), at(table["length"], -1)
    table["spread"] = spread(table, fused)
    table["near_best"] = table.best_of(fused, _BESIDE)
    table["peak"] = fused - table["near_best"]
    table["prev_best"] = table.best_of(fused, [-2, -1])
    table["soft_peak"] = table["soft"] - table.best_of(table["soft"], _BESIDE)
    table["date"], table["talks"] = table.pool.date, table.pool.talks
    _together(table)
    _vectors_together(table)


def spread(table: Table, values: Floats) -> Floats:
    """Give each event shares of its neighbours' values."""
    at = table.at
    near, two = at(values, 1) + at(values, -1), at(values, 2) + at(values, -2)
    found: Floats = values + NEAR * near + NEAR_TWO * two
    return found


def _together(table: Table) -> None:
    words = table.words
    matched = (words.counts[:, words.content] > 0).astype(np.float32)
    idf = words.idf[words.content]
    total = idf.sum() + 1e-6
    table["cover_prev"] = (np.maximum(matched, table.at(matched, -1)) * idf).sum(axis=1) / total
    for reach in (1, 2, 4):
        table[f"cover_w{reach}"] = (table.around_matrix(matched, reach) * idf).sum(axis=1) / total
    counts, lengths = words.counts, words.lengths
    for reach in (1, 2):
        counts = counts + table.at(words.counts, reach) + table.at(words.counts, -reach)
        lengths = lengths + table.at(words.lengths, reach) + table.at(words.lengths, -reach)
        table[f"bm_w{reach}"] = over_best(bm25(counts, lengths, words.idf).sum(axis=1))
    nearness, _ = table.nearness()
    if nearness.shape[1] and len(words.word):
        weights = words.soft_idf / words.soft_idf.sum()
        table["soft_w"] = (table.around_matrix(nearness, 2) * weights).sum(axis=1)
        table["soft_head_w"] = table.around(nearness[:, 0].astype(np.float64), 1)
    else:
        table["soft_w"] = table["soft_head_w"] = np.zeros(len(table.pool))


def _vectors_together(table: Table) -> None:
    vectors = table.pool.vectors
    if table.vector is None or vectors.shape[1] != len(table.vector):
        table["cos_pair"] = table["cos_w2"] = np.zeros(len(table.pool))
        return
    padded = np.concatenate([vectors, np.zeros((1, vectors.shape[1]), dtype=np.float32)])
    pair = vectors + padded[table.pool.chain[:, REACH - 1]]
    five = pair + sum(padded[table.pool.chain[:, REACH + step]] for step in (1, 2, -2))
    for name, summed in (("cos_pair", pair), ("cos_w2", five)):
        cosine = (summed @ table.vector) / (np.linalg.norm(summed, axis=1) + 1e-9)
        table[name] = standardised(cosine.astype(np.float64))
