"""θ of the semantic relation, for each encoder (arXiv 2601.03236: cos > θ_sim, whose value the paper does not give).

θ is the 99th percentile of the cosine of random pairs of one tenant's events: of a hundred pairs that have nothing to
do with each other one passes. Pairs are drawn inside a tenant, as edges are, and pooled. A known encoder's θ is data,
measured by `calibrate`; that of another is measured on the project's own sentences when the worker starts. It is never
carried from one encoder to another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from memory.embedding import Encoder

PERCENTILE = 99.0
#: Random pairs that are drawn of each tenant.
PAIRS = 100_000
_SEED = 7
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """A measured θ, and on how many texts of which tenants."""

    theta: float
    texts: int
    corpus: str


#: By name of the encoder and dimension. Measured on texts as they are embedded: "[8 May 2023] speaker: text".
_CORPUS = "six LoCoMo conversations (3,435 turns) and the incident example (298 events), pairs within each"
MEASURED: dict[tuple[str, int], Calibration] = {
    ("wordllama-l2-supercat", 256): Calibration(0.6455, 3_733, _CORPUS),
    ("wordllama-l2-supercat", 128): Calibration(0.6821, 3_733, _CORPUS),
    ("wordllama-l2-supercat", 64): Calibration(0.7225, 3_733, _CORPUS),
    ("bge-small-en-v1.5-int8", 384): Calibration(0.8872, 3_733, _CORPUS),
}


async def theta_of(encoder: Encoder) -> float:
    """Give an encoder's θ: measured before, or now on the project's sentences."""
    known = MEASURED.get((encoder.name, encoder.dim))
    if known is not None:
        return known.theta
    return calibrate([await encoder.encode(part) for part in sentences()])


def calibrate(tenants: Sequence[NDArray[np.float32]], *, pairs: int = PAIRS, seed: int = _SEED) -> float:
    """Give the percentile over random pairs of different rows inside each tenant; rows are of unit length.

    Raises ValueError when a tenant has fewer than two rows.
    """
    random = np.random.default_rng(seed)
    cosines = [_random_cosines(vectors, pairs, random) for vectors in tenants]
    return round(float(np.percentile(np.concatenate(cosines), PERCENTILE)), 4)


def _random_cosines(vectors: NDArray[np.float32], pairs: int, random: np.random.Generator) -> NDArray[np.float32]:
    count = len(vectors)
    if count < 2:
        raise ValueError("a threshold needs at least two texts of a tenant")
    first = random.integers(0, count, pairs)
    second = (first + random.integers(1, count, pairs)) % count
    parts = [
        np.einsum("ij,ij->i", vectors[first[at : at + _AT_ONCE]], vectors[second[at : at + _AT_ONCE]])
        for at in range(0, pairs, _AT_ONCE)
    ]
    return np.concatenate(parts)


def sentences() -> list[list[str]]:
    """Give the project's sentences: two people's talk, and a company's telemetry."""
    text = resources.files(__package__).joinpath("sentences.txt").read_text(encoding="utf-8")
    parts: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("#"):
            parts.append([])
        elif line:
            parts[-1].append(line)
    return parts
