"""Causes and effects (CAUSES): edges the walk saw, paths it took, and cues of causes beside matches."""

import numpy as np

from memory.relations import Relation
from query_api.ranking.signals import Signal
from query_api.ranking.table import Family, Table

#: explains, explained: the best `fused` of an event's effects, and of its causes. chain: reached by causal steps
#: alone, the `fused` of where the path starts, times γ and strength of the steps. cause_before, effect_after: a cue in
#: the text times the best match of the two events before, and the same of the two after. why_cue: asked why, and a cue.
FAMILY = Family(("explains", "explained", "chain", "cause_before", "effect_after", "why_cue"), Relation.CAUSAL)


def compute(table: Table) -> None:
    """Compute the family."""
    rows, fused, pool = len(table.pool), table["fused"], table.pool
    if not table.allows(Relation.CAUSAL):
        for name in FAMILY.names:
            table[name] = np.zeros(rows)
        return
    explains, explained = np.zeros(rows), np.zeros(rows)
    np.maximum.at(explains, pool.links[:, 0], fused[pool.links[:, 1]])
    np.maximum.at(explained, pool.links[:, 1], fused[pool.links[:, 0]])
    table["explains"], table["explained"] = explains, explained
    table["chain"] = np.where(pool.chain_start >= 0, pool.chain_share * fused[pool.chain_start], 0.0)
    cue = table.signal(Signal.CUE)
    table["cause_before"] = cue * table.best_of(fused, [-2, -1])
    table["effect_after"] = table.best_of(cue * fused, [1, 2])
    table["why_cue"] = cue * table.question.flags["q_why"]
