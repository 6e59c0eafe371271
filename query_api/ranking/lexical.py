"""Words in common: BM25 and how much of the question is matched. Needs no edge."""

import numpy as np

from query_api.ranking.arrays import Floats, falling_rank, over_best
from query_api.ranking.signals import Signal
from query_api.ranking.table import Family, Table

#: BM25 as it was tuned for talk, where short answers must not be favoured.
K1 = 0.9
B = 0.3

_TEXT_SIGNALS = {
    "length": Signal.LENGTH,
    "first_person": Signal.FIRST_PERSON,
    "second_person": Signal.SECOND_PERSON,
    "relative_date": Signal.RELATIVE_DATE,
    "cue": Signal.CUE,
    "question": Signal.QUESTION,
    "ends_question": Signal.ENDS_QUESTION,
    "photo": Signal.PHOTO,
    "number": Signal.NUMBER,
}

#: bm: BM25; bm_top: over the best; bm_best: the best, same for all rows; bm_rank: log of its place. bm_topic: without
#: speakers' names. cover: share of the terms' rarity that is matched; matched: how many; rarest: the rarest of them.
#: q_idf, q_terms: the question's. idf_sum, idf_mean: information of the words; new_words, new_idf: that of words not
#: said before. when_dated: asked when, and the text has a relative date. The rest: see `signals.Signal`.
FAMILY = Family(
    (
        *("bm", "bm_top", "bm_best", "bm_rank", "bm_topic", "cover", "matched", "rarest", "q_idf", "q_terms"),
        *("idf_sum", "idf_mean", "new_words", "new_idf", "when_dated"),
        *_TEXT_SIGNALS,
    )
)


def bm25(counts: Floats, lengths: Floats, idf: Floats) -> Floats:
    """Give the BM25 part of each term, (n, terms)."""
    norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
    parts: Floats = idf * counts / (counts + norm[:, None])
    return parts


def compute(table: Table) -> None:
    """Compute the family."""
    words = table.words
    parts = bm25(words.counts, words.lengths, words.idf)
    score = parts.sum(axis=1)
    table["bm"] = score
    table["bm_top"] = over_best(score)
    table.constant("bm_best", score.max())
    table["bm_rank"] = np.log1p(falling_rank(score))
    table["bm_topic"] = over_best(parts[:, words.content].sum(axis=1))
    matched = words.counts[:, words.content] > 0
    idf = words.idf[words.content]
    total = idf.sum() + 1e-6
    table["cover"] = (matched * idf).sum(axis=1) / total
    table["matched"] = matched.sum(axis=1).astype(np.float64)
    table["rarest"] = (matched * idf).max(axis=1) if idf.size else np.zeros(len(score))
    table.constant("q_idf", total)
    table.constant("q_terms", words.terms)
    for name, signal in _TEXT_SIGNALS.items():
        table[name] = table.signal(signal)
    table["when_dated"] = table["relative_date"] * table.question.flags["q_when"]
    _information(table)


def _information(table: Table) -> None:
    words = table.words
    rarity = words.word_idf[words.word]
    first = np.zeros(len(words.word))
    # rows stand in the order of time: a word's first occurrence is where it was said first
    first[np.unique(words.word, return_index=True)[1]] = 1.0
    table["idf_sum"] = table.words_per_row(rarity)
    table["idf_mean"] = table["idf_sum"] / np.maximum(words.sizes, 1)
    table["new_words"] = table.words_per_row(first)
    table["new_idf"] = table.words_per_row(first * rarity)
