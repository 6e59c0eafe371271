"""A session as a whole: a talk about the asked matter holds its answer somewhere."""

import numpy as np

from memory.relations import Relation
from query_api.ranking.arrays import best_by_group, falling_rank, mean_of_best, over_best, standardised, sum_by_group
from query_api.ranking.lexical import K1, B
from query_api.ranking.table import Family, Table

#: Events of a session that stand for it.
BEST = 3

#: session_bm: BM25 over sessions; session_cos: z-score of the mean of its best cosines; session_best: its best
#: `spread`; session_top3, session_rank: mean of its best `fused`, and the place by it; session_cover: share of rarity
#: matched anywhere in it; soft_session: the same of soft matches; below_session: how far the event stands below the
#: session's best; place: the producer's number in it, at most 20. All from the events of the pool.
FAMILY = Family(
    (
        *("session_bm", "session_cos", "session_best", "session_top3", "session_rank", "session_cover"),
        *("soft_session", "below_session", "place"),
    ),
    Relation.TEMPORAL,
)


def compute(table: Table) -> None:
    """Compute the family."""
    words, session = table.words, table.pool.session
    counts = sum_by_group(words.counts, session)
    lengths = sum_by_group(words.lengths, session)
    number = len(lengths)
    df = (counts > 0).sum(axis=0)
    idf = np.log(1 + (number - df + 0.5) / (df + 0.5))
    norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
    score = over_best((idf * counts / (counts + norm[:, None])).sum(axis=1))
    best_fused = mean_of_best(table["fused"], session, BEST)
    table["session_bm"] = score[session]
    table["session_cos"] = standardised(mean_of_best(table["cos_z"], session, BEST))[session]
    table["session_best"] = best_by_group(table["spread"], session)[session]
    table["session_top3"] = best_fused[session]
    table["session_rank"] = falling_rank(best_fused)[session]
    weights = words.idf[words.content]
    covered = ((counts > 0)[:, words.content] * weights).sum(axis=1) / (weights.sum() + 1e-6)
    table["session_cover"] = covered[session]
    nearness, _ = table.nearness()
    if nearness.shape[1] and len(words.word):
        best = best_by_group(nearness.astype(np.float64), session)
        table["soft_session"] = ((best * words.soft_idf).sum(axis=1) / words.soft_idf.sum())[session]
    else:
        table["soft_session"] = np.zeros(len(session))
    table["below_session"] = table["session_best"] - table["spread"]
    table["place"] = table.pool.place
