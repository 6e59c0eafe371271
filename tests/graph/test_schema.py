"""The schema in both dialects."""

import pytest

from memory.graph.schema import Dialect, Label, ddl, dialect_of


@pytest.mark.parametrize(
    ("agent", "dialect"),
    [
        ("Neo4j/v5.11.0 compatible graph database server - Memgraph", Dialect.MEMGRAPH),
        ("Neo4j/5.26.0 compatible (ArcadeDB 26.10.2)", Dialect.NEO4J),
    ],
)
def test_the_dialect_comes_from_the_agent(agent: str, dialect: Dialect) -> None:
    assert dialect_of(agent) is dialect


def test_memgraph_gets_a_constraint_and_an_index_for_every_key() -> None:
    statements = list(ddl(Dialect.MEMGRAPH))
    for label in Label:
        assert f"CREATE CONSTRAINT ON (n:{label.value}) ASSERT n.uid IS UNIQUE" in statements
        assert f"CREATE INDEX ON :{label.value}(uid)" in statements
    assert "CREATE INDEX ON :Event(chain)" in statements
    assert "CREATE INDEX ON :Awaited(cause_uid)" in statements


def test_the_local_server_gets_the_same_by_the_other_words() -> None:
    statements = list(ddl(Dialect.NEO4J))
    assert len([one for one in statements if "IS UNIQUE" in one]) == len(Label)
    assert "CREATE INDEX event_chain IF NOT EXISTS FOR (n:Event) ON (n.chain)" in statements
    assert all("IF NOT EXISTS" in one for one in statements)
