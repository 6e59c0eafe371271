"""All features of a pool's rows, by name, each with the relation it comes from.

Each family of features is one file; a family says its names and its relation in `FAMILY` and computes in one function.
"""

from collections.abc import Callable

import numpy as np

from memory.relations import Relation
from query_api.ranking import causal, dialogue, entity, lexical, meaning, semantic, sessions, temporal, walked
from query_api.ranking.arrays import Matrix
from query_api.ranking.documents import Documents
from query_api.ranking.model import Vector
from query_api.ranking.pool import Pool
from query_api.ranking.questions import FLAGS, Question
from query_api.ranking.table import Family, Table
from query_api.ranking.words import Words

#: Families in the order they are computed in: later ones read what earlier ones found.
FAMILIES: tuple[tuple[Family, Callable[[Table], None]], ...] = (
    (lexical.FAMILY, lexical.compute),
    (meaning.FAMILY, meaning.compute),
    (meaning.SOFT, meaning.compute_soft),
    (temporal.FAMILY, temporal.compute),
    (sessions.FAMILY, sessions.compute),
    (entity.FAMILY, entity.compute),
    (walked.FAMILY, walked.compute),
    (dialogue.FAMILY, dialogue.compute),
    (dialogue.ANSWERS, dialogue.compute_answers),
    (entity.SHARED, entity.compute_shared),
    (semantic.FAMILY, semantic.compute),
    (causal.FAMILY, causal.compute),
)

#: Every feature and its relation; None for what needs no edge.
FEATURES: dict[str, Relation | None] = {
    **{name: family.relation for family, _ in FAMILIES for name in family.names},
    **dict.fromkeys(FLAGS),
}
NAMES: tuple[str, ...] = tuple(FEATURES)


def measure(question: Question, vector: Vector | None, pool: Pool, documents: Documents) -> Matrix:
    """Give the features of the pool's rows, (n, len(NAMES)), columns in the order of `NAMES`."""
    return matrix(tabulate(question, vector, pool, documents))


def tabulate(question: Question, vector: Vector | None, pool: Pool, documents: Documents) -> Table:
    """Compute all features; an empty pool gives a table without rows."""
    table = Table(question, vector, pool, Words.of(question, pool, documents))
    if len(pool):
        for _, compute in FAMILIES:
            compute(table)
        for name, value in question.flags.items():
            table[name] = np.full(len(pool), value)
    return table


def matrix(table: Table) -> Matrix:
    """Lay out a table's columns in the order of `NAMES`."""
    rows = len(table.pool)
    if rows == 0:
        return np.zeros((0, len(NAMES)), dtype=np.float32)
    return np.stack([table[name] for name in NAMES], axis=1).astype(np.float32)
