"""Every Cypher statement about what a language model read and what it cost; same rules as `memory.graph.statements`."""

from memory.graph.cypher import Cypher


class ModelStatement(Cypher):
    """Statements of `memory.graph.extractions` and `memory.graph.budgets`."""

    # ---- extractions ------------------------------------------------------------------------------------------------
    EXTRACTIONS_KEPT = """
UNWIND $uids AS uid
MATCH (x:Extraction {uid: uid})
WHERE x.reading <> ''
RETURN collect([x.uid, x.reading])"""

    # Changing `rev` first makes claims of one extraction exclude each other; who holds it is decided on what was there.
    EXTRACTIONS_CLAIM = """
UNWIND $rows AS row
MERGE (x:Extraction {uid: row.uid})
ON CREATE SET x.tenant = row.tenant, x.place = row.place, x.reading = '', x.seen = [], x.holder = '', x.why = '',
  x.until_us = 0, x.rev = 0
WITH x, x.holder AS holder, x.why AS why, x.until_us AS until_us, x.reading = '' AND x.until_us < $now_us AS free
SET x.rev = x.rev + 1,
  x.holder = CASE WHEN free THEN $holder ELSE holder END,
  x.why = CASE WHEN free THEN '' ELSE why END,
  x.until_us = CASE WHEN free THEN $until_us ELSE until_us END
RETURN collect([x.uid, x.reading, x.holder, x.why])"""

    EXTRACTIONS_KEEP = """
UNWIND $rows AS row
MERGE (x:Extraction {uid: row.uid})
SET x += row"""

    EXTRACTIONS_RELEASE = """
UNWIND $uids AS uid
MATCH (x:Extraction {uid: uid})
WHERE x.holder = $holder AND x.reading = ''
SET x.holder = '', x.why = $why, x.until_us = $until_us"""

    EXTRACTIONS_PAGE_END = (
        "MATCH (x:Extraction) WHERE x.place > $low AND x.place < $high WITH x.place AS at LIMIT $limit RETURN max(at)"
    )
    EXTRACTIONS_PAGE = """
MATCH (x:Extraction) WHERE x.place > $low AND x.place <= $top
RETURN collect([x.uid, x.seen])"""

    EXTRACTIONS_DROP = """
UNWIND $uids AS uid
MATCH (x:Extraction {uid: uid})
DETACH DELETE x"""

    # ---- budgets ----------------------------------------------------------------------------------------------------
    BUDGET_CHARGE = """
MERGE (b:Budget {uid: $uid})
ON CREATE SET b.tenant = $tenant, b.day = $day, b.tokens = 0, b.rev = 0
WITH b, b.tokens AS before
SET b.rev = b.rev + 1, b.tokens = CASE WHEN before < $most THEN before + $tokens ELSE before END
RETURN before"""

    BUDGET_CORRECT = """
MATCH (b:Budget {uid: $uid})
SET b.rev = b.rev + 1, b.tokens = b.tokens + $change
RETURN b.tokens"""

    BUDGET_SPENT = "MATCH (b:Budget {uid: $uid}) RETURN b.tokens"

    BUDGETS_DROP = """
MATCH (b:Budget) WHERE b.uid > $low AND b.uid < $high
DETACH DELETE b"""
