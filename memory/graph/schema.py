"""Constraints and indexes, in the dialect of the server at hand.

A constraint makes no index on Memgraph, so both are created; on the local server the constraint is one already.
Running it again changes nothing.
"""

from collections.abc import Iterator
from enum import StrEnum


class Label(StrEnum):
    """Labels of nodes; a node carries exactly one."""

    EVENT = "Event"
    SESSION = "Session"
    AGENT = "Agent"
    STINT = "Stint"
    ENTITY = "Entity"
    EPISODE = "Episode"
    AWAITED = "Awaited"
    LOCK = "Lock"
    NAME = "Name"
    BLOCK = "Block"
    ENTITY_CHANGE = "EntityChange"
    SLOT = "Slot"
    EXTRACTION = "Extraction"
    BUDGET = "Budget"
    OUTBOX = "Outbox"
    ERASED = "Erased"
    ERASURE = "Erasure"


class Dialect(StrEnum):
    """Which DDL the server understands in every version that is supported."""

    MEMGRAPH = "memgraph"
    NEO4J = "neo4j"


#: Properties with a plain index. `chain` serves splicing, timelines and windows of time by ranges, a stint's `place`
#: splices an agent's sessions; equality on `cause_uid` finds who waits for an event that has just arrived; `place`
#: walks over a tenant's extractions by age; equality on the outbox's `place` finds what a session's windows have still
#: to tell.
INDEXED: tuple[tuple[Label, str], ...] = (
    (Label.EVENT, "chain"),
    (Label.STINT, "place"),
    (Label.AWAITED, "cause_uid"),
    (Label.EXTRACTION, "place"),
    (Label.OUTBOX, "place"),
)


def dialect_of(agent: str) -> Dialect:
    """Choose the dialect from the server's agent string ("Neo4j/v5.11.0 compatible … - Memgraph")."""
    return Dialect.MEMGRAPH if "memgraph" in agent.lower() else Dialect.NEO4J


def ddl(dialect: Dialect) -> Iterator[str]:
    """Give the statements that make the schema, each to be run outside of a transaction."""
    for label in Label:
        if dialect is Dialect.MEMGRAPH:
            yield f"CREATE CONSTRAINT ON (n:{label.value}) ASSERT n.uid IS UNIQUE"
            yield f"CREATE INDEX ON :{label.value}(uid)"
        else:
            name = f"{label.value.lower()}_uid"
            yield f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label.value}) REQUIRE n.uid IS UNIQUE"
    for label, key in INDEXED:
        if dialect is Dialect.MEMGRAPH:
            yield f"CREATE INDEX ON :{label.value}({key})"
        else:
            name = f"{label.value.lower()}_{key}"
            yield f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{label.value}) ON (n.{key})"
