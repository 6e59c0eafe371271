"""Rows for the tests of this room."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.vectors import VectorRow

MODEL = "test-model"
DIM = 8


def vector(*values: float) -> NDArray[np.float32]:
    """Give a unit vector that begins with these values."""
    full = np.zeros(DIM, dtype=np.float32)
    full[: len(values)] = values
    return full / np.linalg.norm(full)


_PLAIN = VectorRow(
    tenant="",
    id="",
    session="s1",
    agent="a1",
    speaker="Ada",
    occurred_us=1_000_000,
    keywords="deploy payment servic",
    entities=("payments service",),
    vector=vector(1),
)


def row(tenant: str, ident: str, **changes: Any) -> VectorRow:
    """Give a row of a tenant with what differs from the plain one."""
    return replace(_PLAIN, tenant=tenant, id=ident, **changes)
