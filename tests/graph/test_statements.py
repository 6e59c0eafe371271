"""The registry's Cypher stays within what both servers understand the same way."""

import ast
import re
from pathlib import Path

import pytest

from memory.graph import statements
from memory.graph.cause_statements import CauseStatement
from memory.graph.clearing import ClearStatement
from memory.graph.cypher import Cypher
from memory.graph.entity_statements import EntityStatement
from memory.graph.fact_statements import FactStatement
from memory.graph.mends import Mend
from memory.graph.model_statements import ModelStatement
from memory.graph.outbox import OutboxStatement
from memory.graph.queries import Query
from memory.graph.schema import Label
from memory.graph.statements import Statement
from memory.graph.stint_statements import StintStatement
from memory.graph.untold import UntoldStatement
from memory.relations import EdgeType

_ALL: list[Cypher] = [
    *CauseStatement,
    *Statement,
    *StintStatement,
    *EntityStatement,
    *FactStatement,
    *Query,
    *Mend,
    *ModelStatement,
    *OutboxStatement,
    *UntoldStatement,
    *ClearStatement,
]

#: What is forbidden, and why.
_FORBIDDEN = {
    r"shortestPath|\*BFS|\*WSHORTEST|\*ALLSHORTEST": "path search that one of the servers lacks",
    r"\b(timestamp|datetime|date|localdatetime|duration)\s*\(": "server clock or temporal type",
    r"\bIN\s+\$": "a list is unwound: a list before an expand costs 10 to 25 times as much",
    r"\bSET\s+\w+\s*:\s*\w": "adding a label moves the record",
    r"\bCALL\b": "procedure or subquery",
    r"\belementId\s*\(|(?<![\w.])id\s*\(": "internal id",
    r"\bCOUNT\s*\{|\bCOLLECT\s*\{|\bEXISTS\s*\{": "subquery expression",
    r"\{\s*\d+\s*,": "quantified path",
    r"\bexists\s*\(": "removed function",
    r"\bLOAD\s+CSV\b|\bPERIODIC\s+COMMIT\b|IN\s+TRANSACTIONS": "bulk dialect",
    r"['\"`]\s*\+|\+\s*['\"`]": "text built by concatenation",
    r"\brandomUUID\b|\brand\s*\(": "a value that the client does not choose",
}
_LABEL = re.compile(r"\(\s*\w*\s*:(\w+)((?::\w+)*)")
_TYPE = re.compile(r"-\[\s*\w*\s*:([\w|]+)")


@pytest.mark.parametrize("statement", _ALL, ids=lambda item: f"{type(item).__name__}.{item.name}")
def test_a_statement_stays_within_the_common_cypher(statement: Cypher) -> None:
    for pattern, why in _FORBIDDEN.items():
        assert not re.search(pattern, statement.value, re.IGNORECASE), f"{statement.name}: {why}"
    for label, further in _LABEL.findall(statement.value):
        assert label in {known.value for known in Label}, f"{statement.name}: label {label}"
        assert not further, f"{statement.name}: one label a node"
    for types in _TYPE.findall(statement.value):
        assert set(types.split("|")) <= {known.value for known in EdgeType}, f"{statement.name}: type {types}"


@pytest.mark.parametrize("statement", _ALL, ids=lambda item: f"{type(item).__name__}.{item.name}")
def test_a_walk_begins_at_a_node_that_is_held(statement: Cypher) -> None:
    """The local server walks a pattern from its left: from a label alone it looks at every node there is."""
    bound = set(re.findall(r"\((\w+):\w+ \{uid: ", statement.value))
    for match in re.finditer(r"MATCH \((\w*)(:\w+)?\)\s*<?-", statement.value):
        named = match[1] and re.search(rf"\b{match[1]}\b", statement.value[: match.start()])
        assert match[1] in bound or named, f"{statement.name}: {match[0]}"


@pytest.mark.parametrize("statement", _ALL, ids=lambda item: f"{type(item).__name__}.{item.name}")
def test_a_node_is_merged_by_its_key_and_nothing_else(statement: Cypher) -> None:
    for pattern in re.findall(r"MERGE\s*\((\w+)(:\w+\s*\{[^}]*\})?", statement.value):
        assert not pattern[1] or re.fullmatch(r":\w+ \{uid: [\w.$]+\}", pattern[1]), statement.name


def test_a_statement_that_merges_edges_touches_their_source_first() -> None:
    for statement in _ALL:
        for match in re.finditer(r"MERGE\s*\((\w+)\)-\[", statement.value):
            assert f"SET {match.group(1)}.edge_rev = $born" in statement.value[: match.start()], statement.name


def test_no_statement_outside_of_the_registry_reaches_a_server() -> None:
    room = Path(statements.__file__).parent
    runs: dict[str, set[str]] = {}
    for path in sorted(room.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run":
                runs.setdefault(ast.unparse(node.func.value), set()).add(path.name)
    assert runs.pop("session") == {"driver.py"}, "autocommit is for DDL alone"
    assert runs.pop("self._transaction") == {"driver.py"}
    assert set(runs) <= {"transaction"}, runs
