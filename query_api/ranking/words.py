"""The words of a pool against the terms of a question: counts, rarities, static vectors, laid out once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from query_api.ranking.arrays import Floats, Ints, Matrix
from query_api.ranking.documents import Documents
from query_api.ranking.pool import Pool
from query_api.ranking.questions import Question
from query_api.ranking.signals import Signal

#: Rarity above which a term counts no more: one typing error must not outweigh all other terms.
IDF_CAP = 6.0


@dataclass(frozen=True, slots=True)
class Words:
    """Terms by row and words by row.

    Only terms that occur in the pool have columns: `counts` (n, terms), their `idf`, and `content`: not a name of a
    speaker. `lengths`: tokens of each row. `soft_terms`: all terms but speakers' names, with `soft_idf` (capped), their
    `soft_vectors`, and for each its column in `counts` or -1.
    The body's words: `word` gives for each word in each row its place among `vectors` (distinct words of the pool, in
    order of first occurrence); rows are segments (`starts`, `sizes`). `word_df`, `word_idf`: by distinct word;
    `asked`: distinct words that the question has.
    """

    counts: Floats
    idf: Floats
    content: NDArray[np.bool_]
    lengths: Floats
    terms: int
    soft_idf: Floats
    soft_vectors: Matrix
    soft_column: Ints
    word: Ints
    starts: Ints
    sizes: Ints
    vectors: Matrix
    word_df: Floats
    word_idf: Floats
    asked: NDArray[np.bool_]
    signals: Floats

    @classmethod
    def of(cls, question: Question, pool: Pool, documents: Documents) -> "Words":
        """Lay out; rarities come from the pool, whose rare terms are all of the memory's, and the memory's size."""
        numbers = documents.numbers(question.terms)
        surface = documents.numbers(list(question.surface.values()))
        stems, lengths = _joined([document.stems for document in pool.documents])
        counts = np.zeros((len(pool), len(numbers)))
        row_of = np.repeat(np.arange(len(pool)), lengths)
        for column, number in enumerate(numbers):
            counts[:, column] = np.bincount(row_of[stems == number], minlength=len(pool))
        idf = _idf((counts > 0).sum(axis=0), pool.total)
        names = {name for index, name in _named(question, pool)}
        is_name = np.array([bool({term, word} & names) for term, word in question.surface.items()], dtype=bool)
        kept = (counts > 0).any(axis=0) if len(pool) else np.zeros(len(numbers), dtype=bool)
        column_of = np.where(kept, np.cumsum(kept) - 1, -1)
        soft = ~is_name
        body, sizes = _joined([document.body for document in pool.documents])
        distinct, word = _distinct(body)
        df = np.bincount(word, minlength=len(distinct)).astype(np.float64)
        return cls(
            counts=counts[:, kept],
            idf=idf[kept],
            content=soft[kept],
            lengths=lengths.astype(np.float64),
            terms=len(numbers),
            soft_idf=np.minimum(idf[soft], IDF_CAP),
            soft_vectors=documents.vectors(surface[soft]),
            soft_column=column_of[soft],
            word=word,
            starts=np.cumsum(sizes) - sizes,
            sizes=sizes,
            vectors=documents.vectors(distinct),
            word_df=df,
            word_idf=_idf(df, pool.total),
            asked=np.isin(distinct, surface),
            signals=np.array([document.signals for document in pool.documents]).reshape(len(pool), len(Signal)),
        )


def named_speakers(question: Question, pool: Pool) -> list[int]:
    """Give the numbers of the speakers whose whole name stands in the question."""
    return sorted({index for index, _ in _named(question, pool)})


def _named(question: Question, pool: Pool) -> list[tuple[int, str]]:
    return [
        (index, word)
        for index, words in enumerate(pool.speakers)
        if words and words <= question.words
        for word in sorted(words)
    ]


def _joined(parts: list[Ints]) -> tuple[Ints, Ints]:
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    return (np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)), sizes


def _distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """Give distinct numbers by first occurrence, and each number's place among them: their values must not matter."""
    values, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return values[order], place[inverse]


def _idf(df: Floats, total: int) -> Floats:
    found: Floats = np.log(1 + (total - df + 0.5) / (df + 0.5))
    return found
