"""The one place where a filter expression is written.

Values cannot travel as parameters: expression templates are not understood by the local server. So they are quoted by
rule: a literal stands between double quotes, and the five characters that end or change one are escaped. Nothing but
`VectorReader` and `VectorWriter` builds expressions, each bound to its tenant, and the tenant's condition comes first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.errors import MalformedEvent


class Field(StrEnum):
    """Fields of the collection."""

    ID = "id"
    TENANT = "tenant"
    SESSION = "session"
    AGENT = "agent"
    SPEAKER = "speaker"
    OCCURRED_US = "occurred_us"
    KEYWORDS = "keywords"
    ENTITIES = "entities"
    VECTOR = "vector"
    SPARSE = "sparse"


#: What ends a literal or changes its meaning. All other characters stand for themselves, on both servers.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True, slots=True)
class Where:
    """Conditions beside the tenant; all must hold. [`start_us`, `end_us`): microseconds since 1970 UTC.

    `entities`: normal forms, of which the event has at least one.
    """

    session: str | None = None
    agent: str | None = None
    start_us: int | None = None
    end_us: int | None = None
    entities: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


def literal(value: str) -> str:
    """Quote a string; raises `MalformedEvent` for a lone surrogate, which no stored value can contain."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MalformedEvent("a filter value contains a lone surrogate, which is not Unicode") from error
    return f'"{value.translate(_ESCAPES)}"'


def expression(tenant: str, where: Where) -> str:
    """Write the filter for one tenant."""
    return " and ".join([f"{Field.TENANT} == {literal(tenant)}", *_conditions(where)])


def id_expression(ids: Sequence[str]) -> str:
    """Write the filter of a read by key, the one form the local server answers without a scan.

    It names no tenant: whoever uses it compares the tenant of what comes back.
    """
    return f"{Field.ID} in {_literals(ids)}"


def _conditions(where: Where) -> list[str]:
    found = []
    if where.session is not None:
        found.append(f"{Field.SESSION} == {literal(where.session)}")
    if where.agent is not None:
        found.append(f"{Field.AGENT} == {literal(where.agent)}")
    if where.start_us is not None:
        found.append(f"{Field.OCCURRED_US} >= {int(where.start_us)}")
    if where.end_us is not None:
        found.append(f"{Field.OCCURRED_US} < {int(where.end_us)}")
    if where.entities:
        found.append(f"array_contains_any({Field.ENTITIES}, {_literals(where.entities)})")
    if where.ids:
        found.append(f"{Field.ID} in {_literals(where.ids)}")
    return found


def _literals(values: Sequence[str]) -> str:
    return f"[{', '.join(literal(value) for value in values)}]"
