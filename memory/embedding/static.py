"""wordllama: one vector for each of 32,000 pieces of words, averaged. Thousands of texts a second; offline."""

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

from memory.embedding.catalogue import WORDLLAMA, installed_files
from memory.embedding.encoder import Matrix, check_texts, unit
from memory.errors import BadSetting

#: Tokens whose vectors are gathered at one time: 64 MB of float32. A batch of long texts must not fill the memory.
_TOKENS_AT_ONCE = 65_536


class WordllamaEncoder:
    """The static model from the `wordllama` wheel, loaded at the first use.

    Its files are read and its package is not imported: importing it sets up logging for the whole process and its own
    pooling pads every text of a batch to the longest.
    """

    def __init__(self, dim: int | None = None) -> None:
        self.name = WORDLLAMA.name
        self.dim = WORDLLAMA.dim if dim is None else dim
        if self.dim not in (WORDLLAMA.dim, *WORDLLAMA.dims):
            raise BadSetting(
                f"embedding_dim is {self.dim}, and {self.name} has {WORDLLAMA.dim} dimensions or its first"
                f" {' or '.join(map(str, WORDLLAMA.dims))}",
                hint="leave embedding_dim unset",
            )
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._table: Matrix | None = None

    async def encode(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.encode`; raises `MissingExtra` when the wheel is not installed."""
        check_texts(texts)
        return await asyncio.to_thread(self._encode, list(texts))

    def encode_now(self, texts: Sequence[str]) -> Matrix:
        """Do as `encode` on this thread, without a loop: for single words, microseconds each."""
        check_texts(texts)
        return self._encode(list(texts))

    def load(self) -> None:
        """Read the files now; raises `MissingExtra` when the wheel is not installed."""
        self._loaded()

    async def close(self) -> None:
        """Nothing is held but memory."""

    def _encode(self, texts: list[str]) -> Matrix:
        tokenizer, table = self._loaded()
        pieces = [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        start = 0
        while start < len(pieces):
            end, size = start + 1, len(pieces[start])
            while end < len(pieces) and size + len(pieces[end]) <= _TOKENS_AT_ONCE:
                size += len(pieces[end])
                end += 1
            rows[start:end] = _sums(table, pieces[start:end])
            start = end
        return unit(rows)

    def _loaded(self) -> tuple[Tokenizer, Matrix]:
        with self._lock:
            if self._tokenizer is None or self._table is None:
                # safetensors comes with the wheel, so it is there only when the wheel is
                weights, tokenizer = installed_files(WORDLLAMA)
                from safetensors.numpy import load_file

                self._table = load_file(weights)["embedding.weight"][:, : self.dim].astype(np.float32)
                self._tokenizer = Tokenizer.from_file(str(tokenizer))
                self._tokenizer.no_padding()
                self._tokenizer.no_truncation()
                # It would keep the pieces of 10,000 whole texts, 70 MB of what hardly comes twice, and be no faster.
                self._tokenizer.model._resize_cache(0)
            return self._tokenizer, self._table


def _sums(table: Matrix, pieces: list[list[int]]) -> Matrix:
    """Add up the vectors of each text's pieces; an average, scaled to length 1, is the same."""
    flat = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in pieces])
    starts = np.cumsum([0, *map(len, pieces[:-1])])
    # a few of the tokenizer's pieces were added after the table was made
    gathered = table[np.minimum(flat, len(table) - 1)]
    return np.add.reduceat(gathered, starts, axis=0)
