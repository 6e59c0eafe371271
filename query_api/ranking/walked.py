"""What the walk over the four relations found out of an event. No relation is named: a walk without one lacks it."""

from query_api.ranking.table import Family, Table

#: depth: hops from an anchor, 9 when not visited; walked: highest S over the walk's highest; rrf: fused anchor score
#: over the best.
FAMILY = Family(("depth", "walked", "rrf"))


def compute(table: Table) -> None:
    """Compute the family."""
    table["depth"], table["walked"], table["rrf"] = table.pool.depth, table.pool.walked, table.pool.rrf
