"""What goes into the vector store and what comes out of it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.errors import MalformedEvent, OversizeEvent
from memory.events import EventNode

#: Bounds of the collection's fields. Names are at most 256 characters, which are at most 1,024 bytes of UTF-8.
MAX_ID_BYTES = 64
MAX_NAME_BYTES = 1_024
MAX_KEYWORDS_BYTES = 65_535
#: Most entities of one event that a filter can find; the graph keeps all of them.
MAX_ENTITIES = 256

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorRow:
    """One event in the vector store.

    `occurred_us`: microseconds since 1970 UTC. `keywords`: analysed text (`memory.text.document_keywords`).
    `entities`: normal forms; the first `MAX_ENTITIES` can be filtered by. `vector`: unit length, the collection's
    dimension.
    """

    tenant: str
    id: str
    session: str
    agent: str
    speaker: str
    occurred_us: int
    keywords: str
    entities: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class Hit:
    """One found event. `score`: higher is better; a cosine from dense search, a BM25 score from keyword search.

    The fields that rank and filter come along, so that no second question is needed for them. `occurred_us`:
    microseconds since 1970 UTC. `entities`: the normal forms that
    filters find it by. `vector`: the event's own, when it was asked for. Two hits are equal when id and score
    are.
    """

    id: str
    score: float
    session: str = field(default="", compare=False)
    occurred_us: int = field(default=0, compare=False)
    speaker: str = field(default="", compare=False)
    entities: tuple[str, ...] = field(default=(), compare=False)
    vector: Vector | None = field(default=None, compare=False, repr=False)


def vector_row(node: EventNode, keywords: str, vector: Vector) -> VectorRow:
    """Give an event's row; `keywords`: `memory.text.document_keywords` of it, `vector`: of its `document_text`."""
    return VectorRow(
        tenant=node.tenant,
        id=node.id,
        session=node.session,
        agent=node.agent,
        speaker=node.speaker,
        occurred_us=node.occurred_us,
        keywords=keywords,
        entities=node.mentions,
        vector=vector,
    )


def check_row(row: VectorRow, dim: int) -> None:
    """Refuse a row that the store would refuse, before it takes a whole batch down with it.

    Raises `OversizeEvent` for a field over its bound, `MalformedEvent` for a vector that is not one of `dim` finite
    numbers or text that is not Unicode. The message names the event, never its content.
    """
    named = (
        ("id", row.id, MAX_ID_BYTES),
        ("tenant", row.tenant, MAX_NAME_BYTES),
        ("session", row.session, MAX_NAME_BYTES),
        ("agent", row.agent, MAX_NAME_BYTES),
        ("speaker", row.speaker, MAX_NAME_BYTES),
        ("keywords", row.keywords, MAX_KEYWORDS_BYTES),
        *(("entities", entity, MAX_NAME_BYTES) for entity in row.entities[:MAX_ENTITIES]),
    )
    for name, value, bound in named:
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise MalformedEvent(f"event {row.id!r}: {name} contains a lone surrogate, which is not Unicode") from error
        if size > bound:
            raise OversizeEvent(f"event {row.id!r}: {name} is {size} bytes, the bound is {bound}")
    if row.vector.shape != (dim,) or not np.isfinite(row.vector).all():
        raise MalformedEvent(f"event {row.id!r}: its vector is not one of {dim} finite numbers")
