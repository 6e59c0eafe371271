"""What an encoder is: text in, unit vectors out."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.errors import MalformedEvent

Matrix = NDArray[np.float32]


class Encoder(Protocol):
    """Turns text into vectors.

    `name` and `dim` are stored with the collection: two encoders with the same name and dimension are exchangeable.
    """

    name: str
    dim: int

    async def encode(self, texts: Sequence[str]) -> Matrix:
        """Give one row of unit length for each text, (n, dim).

        Raises `MalformedEvent` for a text without anything to embed, and what the provider raises: `MissingExtra`,
        `StoreUnavailable`, `RateLimited`, `StoreRefused`, `EmbeddingMismatch`.
        """
        ...

    async def close(self) -> None:
        """Give back what it holds; harmless when there is nothing."""
        ...


def check_texts(texts: Sequence[str]) -> None:
    """Refuse empty texts: their vector would mean nothing and be near to everything."""
    for index, text in enumerate(texts):
        if not text.strip():
            raise MalformedEvent(f"text {index} of {len(texts)} is empty: there is nothing to embed")


def unit(rows: Matrix) -> Matrix:
    """Scale each row to length 1. A row of zeros has no direction and raises `MalformedEvent`."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise MalformedEvent("a text has no usable vector: its length is zero or not finite")
    scaled: Matrix = (rows / lengths).astype(np.float32, copy=False)
    return scaled
