"""Who speaks (SPOKEN_BY), and what rare things events have in common (MENTIONS)."""

import math

import numpy as np

from memory.relations import Relation
from query_api.ranking.table import Family, Table
from query_api.ranking.words import named_speakers

#: How rare a word must be to join two events: in 2 events at least, in this share of the memory at most.
COMMON_SHARE = 0.05

_STEPS = (-3, -2, -1, 1, 2, 3)

#: asked_speaker: the question names exactly one speaker, and it is this one's (1) or not (0), else .5; q_speakers: how
#: many it names. own_near: the best `fused` within three steps by the same speaker. via: rarity of the entity that the
#: walk came by.
FAMILY = Family(("asked_speaker", "q_speakers", "own_near", "via"), Relation.ENTITY)

#: shared: rarity of the words in common with the best events so far; shared_far: with one of another session.
SHARED = Family(("shared", "shared_far"), Relation.ENTITY)


def compute(table: Table) -> None:
    """Compute what speakers tell."""
    speaker, fused = table.pool.speaker, table["fused"]
    known = bool((speaker >= 0).any())
    named = named_speakers(table.question, table.pool) if known else []
    table["asked_speaker"] = (speaker == named[0]).astype(np.float64) if len(named) == 1 else np.full(len(speaker), 0.5)
    table.constant("q_speakers", len(named))
    own = (speaker + 1).astype(np.float64)  # 0 is what a missing neighbour has
    near = [np.where((table.at(own, step) == own) & (own > 0), table.at(fused, step), 0.0) for step in _STEPS]
    table["own_near"] = np.maximum.reduce(near)
    table["via"] = table.pool.via


def compute_shared(table: Table) -> None:
    """Compute what events share with the best so far."""
    words, rows = table.words, len(table.pool)
    if not table.allows(Relation.ENTITY) or not len(words.word):
        table["shared"] = table["shared_far"] = np.zeros(rows)
        return
    total = table.pool.total
    joins = (words.word_df >= 2) & (words.word_df <= COMMON_SHARE * total) & ~words.asked
    rarity = np.where(joins, np.log(total / np.maximum(words.word_df, 1)) / math.log(max(total, 2)), 0.0)
    seeds = table.seeds()
    has = np.zeros((len(words.vectors), len(seeds.rows)), dtype=np.float32)
    for column, row in enumerate(seeds.rows):
        has[words.word[words.starts[row] : words.starts[row] + words.sizes[row]], column] = 1.0
    common = table.words_per_row((has * (rarity**2)[:, None])[words.word]) * seeds.weights
    table["shared"] = (common * seeds.others).sum(axis=1) / np.sqrt(1 + words.sizes)
    table["shared_far"] = (common * seeds.others * seeds.elsewhere).max(axis=1)
