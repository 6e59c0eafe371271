"""The static model: offline, fast, the same vectors as its own package gives."""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memory.embedding import CATALOGUE, make_encoder
from memory.embedding.catalogue import WORDLLAMA, ModelCard, ModelFile, installed_files
from memory.embedding.static import WordllamaEncoder
from memory.errors import BadSetting, MalformedEvent, MissingExtra, StoreRefused
from memory.settings import load_settings

LONG = "the payments-service v2.14.1 rolled back " * 50
TEXTS = ["The deploy failed.", "Ada plays the violin", "猫が好き 🎉", "a", LONG]


async def test_vectors_are_of_unit_length_and_do_not_depend_on_their_batch() -> None:
    encoder = WordllamaEncoder()
    together = await encoder.encode(TEXTS)
    assert together.shape == (len(TEXTS), encoder.dim) == (len(TEXTS), 256)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.concatenate([await WordllamaEncoder().encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)


async def test_vectors_are_those_of_the_models_own_package() -> None:
    script = (
        "import sys, json, pathlib, wordllama; "
        "model = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True); "
        "print(json.dumps(model.embed(json.loads(sys.argv[1]), norm=True).tolist()))"
    )
    run = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script, json.dumps(TEXTS)], capture_output=True, check=True, timeout=60
    )
    np.testing.assert_allclose(await WordllamaEncoder().encode(TEXTS), json.loads(run.stdout), atol=1e-5)


async def test_nearer_in_meaning_is_nearer_in_angle() -> None:
    dog, puppy, server = await WordllamaEncoder().encode(["a dog runs", "the puppy is running", "server error log"])
    assert dog @ puppy > dog @ server


async def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert (await make_encoder(load_settings()).encode(["offline"])).shape == (1, 256)


async def test_nothing_is_never_embedded() -> None:
    encoder = WordllamaEncoder()
    with pytest.raises(MalformedEvent, match="text 0 of 1 is empty"):
        await encoder.encode([" "])
    assert (await encoder.encode([])).shape == (0, 256)


async def test_the_first_dimensions_are_a_smaller_model() -> None:
    small, full = await WordllamaEncoder(64).encode(TEXTS), await WordllamaEncoder().encode(TEXTS)
    first = full[:, :64] / np.linalg.norm(full[:, :64], axis=1, keepdims=True)
    np.testing.assert_allclose(small, first, atol=1e-5)
    with pytest.raises(BadSetting, match="100"):
        WordllamaEncoder(100)


async def test_a_batch_of_very_long_texts_fits_in_memory() -> None:
    rows = await WordllamaEncoder().encode(["many words of a long log line " * 2_000] * 20 + ["short"])
    np.testing.assert_allclose(rows[0], rows[19], atol=1e-6)
    assert rows.shape == (21, 256)


def test_texts_that_were_encoded_are_not_kept() -> None:
    """The tokenizer's own cache holds whole texts of this model: 16,000 of them took 47 MB."""
    encoder = WordllamaEncoder()
    sizes = []
    for part in range(4):
        encoder.encode_now([f"the replica of shard {part}-{at} fell behind, so the queue grew" for at in range(4_000)])
        sizes.append(int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4_096)
    assert sizes[-1] - sizes[0] < 12_000_000


def test_a_model_that_is_not_installed_says_what_to_run() -> None:
    card = ModelCard(
        "m", WORDLLAMA.kind, 1, "in a wheel", "MIT", 0, package="no_such_package", install="pip install it"
    )
    with pytest.raises(MissingExtra, match="run pip install it"):
        installed_files(card)


def test_another_file_in_the_models_place_is_refused() -> None:
    card = ModelCard(
        "m", WORDLLAMA.kind, 1, "in a wheel", "MIT", 0, package="json", files=(ModelFile("decoder.py", "00" * 32),)
    )
    with pytest.raises(StoreRefused, match=r"decoder\.py"):
        installed_files(card)


def test_every_model_in_the_catalogue_says_where_it_is_from_and_under_which_licence() -> None:
    assert len({card.name for card in CATALOGUE}) == len(CATALOGUE)
    for card in CATALOGUE:
        assert card.source
        assert card.licence
        assert card.dim > 0
        assert all(len(file.sha256) == 64 for file in card.files)
        assert bool(card.files) == bool(card.package) == bool(card.install)
