"""Question and answer in talk, and the adjacency score that everything else is compared with."""

import numpy as np

from memory.relations import Relation
from query_api.ranking.arrays import falling_rank, over_best
from query_api.ranking.signals import Signal
from query_api.ranking.table import Family, Table

#: Shares of a session's words and meaning, of the asked speaker and of the asked time in `base`.
SESSION_BM = 0.15
SESSION_COS = 0.1
SPEAKER = 0.2
DATE = 0.3

#: base: `spread` with shares of session, speaker and time; base_top: over the best; base_rank: log of the place by it.
FAMILY = Family(("base", "base_top", "base_rank"))

#: after_question, prev_question: the event before ends with, or holds, a question; answers_bm, answers_cos: and how
#: well that question matches.
ANSWERS = Family(("after_question", "prev_question", "answers_bm", "answers_cos"), Relation.TEMPORAL)


def compute(table: Table) -> None:
    """Compute the adjacency score."""
    base = table["spread"].copy()
    if table.allows(Relation.TEMPORAL):
        base += SESSION_BM * table["session_bm"] + SESSION_COS * table["session_cos"]
    if table["q_speakers"][0] == 1:
        base += SPEAKER * table["asked_speaker"]
    base += DATE * np.maximum(table["date"], table["talks"])
    table["base"] = base
    table["base_top"] = over_best(base)
    table["base_rank"] = np.log1p(falling_rank(base))


def compute_answers(table: Table) -> None:
    """Compute what follows a question."""
    table["after_question"] = table.at(table.signal(Signal.ENDS_QUESTION), -1)
    table["prev_question"] = table.at(table.signal(Signal.QUESTION), -1)
    table["answers_bm"] = table["after_question"] * table["bm-1"]
    table["answers_cos"] = table["after_question"] * table["cos-1"]
