"""θ of the semantic relation."""

import numpy as np
import pytest
from numpy.typing import NDArray

from consolidators.thresholds import MEASURED, calibrate, sentences, theta_of
from memory.embedding.static import WordllamaEncoder


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def test_one_random_pair_in_a_hundred_passes() -> None:
    vectors = unit(np.random.default_rng(1).normal(size=(500, 32)))
    theta = calibrate([vectors])
    cosines = (vectors @ vectors.T)[np.triu_indices(500, 1)]
    assert 0.008 < float((cosines > theta).mean()) < 0.012


def test_pairs_are_drawn_inside_a_tenant_only() -> None:
    base = np.random.default_rng(2).normal(size=(2, 16))
    tenants = [unit(np.tile(row, (10, 1))) for row in base]
    assert calibrate(tenants) == pytest.approx(1.0)


def test_a_row_is_never_paired_with_itself() -> None:
    assert calibrate([unit(np.eye(2))]) == 0.0


def test_a_single_text_gives_no_threshold() -> None:
    with pytest.raises(ValueError, match="two texts"):
        calibrate([unit(np.eye(3))[:1]])


async def test_a_measured_encoder_has_its_own_threshold_for_each_dimension() -> None:
    for dim in (64, 128, 256):
        encoder = WordllamaEncoder(dim)
        assert await theta_of(encoder) == MEASURED[encoder.name, dim].theta


async def test_an_unknown_encoder_is_measured_on_the_projects_sentences() -> None:
    class Unknown(WordllamaEncoder):
        def __init__(self) -> None:
            super().__init__()
            self.name = "unknown"

    theta = await theta_of(Unknown())
    assert theta == calibrate([await WordllamaEncoder().encode(part) for part in sentences()])
    assert 0.4 < theta < 0.6


def test_the_projects_sentences_are_two_parts_without_doubles() -> None:
    parts = sentences()
    assert [len(part) for part in parts] == [32, 32]
    assert len({line for part in parts for line in part}) == 64
