"""Counting tokens without fetching anything."""

import hashlib
import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.text import clip_tokens, count_lines, count_many, count_tokens, counting
from memory.text.counting import EstimateCounter, LlamaCounter, llama_tokenizer_file

PROSE = "The payments service failed at 14:05 because its certificate had expired; Ada renewed it. "


@pytest.fixture
def fresh_choice() -> Iterator[None]:
    """Forget which counter was chosen, before and after."""
    counting.counter.cache_clear()
    counting._memory.clear()
    yield
    counting.counter.cache_clear()
    counting._memory.clear()


def test_a_real_tokenizer_counts() -> None:
    assert counting.counter().name == "llama-2"
    assert count_tokens("Hello world") == 2
    assert count_tokens("") == 0
    assert 18 <= count_tokens(PROSE) <= 28
    assert count_many([PROSE, "", "Hello world"]) == [count_tokens(PROSE), 0, 2]
    assert count_many([]) == []


@given(st.text(max_size=200), st.integers(0, 40))
def test_a_clipped_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    for counter in (counting.counter(), EstimateCounter()):
        clipped = counter.clip(text, limit) if limit else clip_tokens(text, limit)
        assert text.startswith(clipped)
        # cutting may tear a merged piece of the last word, which then counts as a few
        assert counter.count([clipped])[0] <= limit + 4
        if counter.count([text])[0] <= limit:
            assert clipped == text


@pytest.mark.parametrize(
    "text",
    [
        PROSE * 5,
        "def f(x):\n    return x ** 2  # 12345",
        "猫が好きです。" * 9,
        "Привет, мир! " * 9,
        "v2.14.1 INC-1042 " * 9,
    ],
)
def test_the_estimate_counts_too_many_rather_than_too_few(text: str) -> None:
    file = llama_tokenizer_file()
    assert file is not None
    (real,) = LlamaCounter(file).count([text])
    assert real <= EstimateCounter().count([text])[0] <= 2.5 * real


def test_counting_many_blocks_of_a_context_takes_little_time() -> None:
    blocks = [f"{PROSE}{number}" for number in range(200)]
    count_many(blocks)
    started = time.process_time()
    assert sum(count_many(blocks)) > 4_000
    assert time.process_time() - started < 1.0


def test_without_any_tokenizer_it_estimates(fresh_choice: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert counting.counter().name == "estimate"
    assert count_tokens("Hello world!") == 6


@pytest.mark.parametrize("there", [True, False])
def test_tiktoken_counts_only_when_its_table_is_already_there(
    fresh_choice: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool
) -> None:
    class Encoding:
        def encode_ordinary_batch(self, texts: list[str]) -> list[list[int]]:
            return [list(text.encode()) for text in texts]

        def encode_ordinary(self, text: str) -> list[int]:
            return list(text.encode())

        def decode_bytes(self, ids: list[int]) -> bytes:
            return bytes(ids)

    module = ModuleType("tiktoken")
    module.get_encoding = lambda name: Encoding()  # type: ignore[attr-defined]
    module.__spec__ = importlib.machinery.ModuleSpec("tiktoken", None)
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    address = b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    if there:
        (tmp_path / hashlib.sha1(address, usedforsecurity=False).hexdigest()).write_bytes(b"table")
    assert counting.counter().name == ("o200k_base" if there else "llama-2")
    if there:
        assert count_tokens("abc") == 3
        assert clip_tokens("aé", 2) == "a"
        assert clip_tokens("aé", 3) == "aé"


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_lines_count_what_their_text_counts(lines: list[str]) -> None:
    assert count_lines(lines) == counting.counter().count(["\n".join(lines)])[0]
