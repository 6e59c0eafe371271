"""bge-small-en-v1.5, quantised to 8 bits, on ONNX Runtime: deeper than the static model and 500 times as slow.

Quantised vectors depend a little on their batch (cosine to the same text alone .98 to 1): they are not compared for
equality.
"""

import asyncio
import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from memory.embedding.catalogue import BGE_SMALL, installed_files
from memory.embedding.encoder import Matrix, check_texts, unit
from memory.errors import BadSetting, MissingExtra

#: Texts in one run. More are slower: every text is padded to the longest of its run.
_BATCH = 16


class BgeEncoder:
    """The model from its file, loaded at the first use; one thread, because workers share the machine."""

    def __init__(self, dim: int | None = None, files: tuple[Path, Path] | None = None) -> None:
        """`files`: the model and its tokenizer when they are not those of the installed package."""
        self.name = BGE_SMALL.name
        self.dim = BGE_SMALL.dim
        if dim not in (None, self.dim):
            raise BadSetting(
                f"embedding_dim is {dim}, and {self.name} has {self.dim}", hint="leave embedding_dim unset"
            )
        self._files = files
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Tokenizer | None = None

    async def encode(self, texts: Sequence[str]) -> Matrix:
        """See `Encoder.encode`; reads the first 512 tokens of a text."""
        check_texts(texts)
        return await asyncio.to_thread(self._encode, list(texts))

    async def close(self) -> None:
        """Nothing is held but memory."""

    def _encode(self, texts: list[str]) -> Matrix:
        session, tokenizer = self._loaded()
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(texts), _BATCH):
            batch = by_length[start : start + _BATCH]
            found = tokenizer.encode_batch([texts[index] for index in batch])
            ids = np.array([item.ids for item in found], dtype=np.int64)
            mask = np.array([item.attention_mask for item in found], dtype=np.int64)
            states = session.run(
                None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            )[0]
            rows[batch] = states[:, 0]
        return unit(rows)

    def _loaded(self) -> tuple[Any, Tokenizer]:
        with self._lock:
            if self._session is None or self._tokenizer is None:
                model, tokenizer = self._files or installed_files(BGE_SMALL)
                try:
                    onnxruntime = importlib.import_module("onnxruntime")
                except ImportError as error:
                    raise MissingExtra(
                        f"{self.name} needs onnxruntime, which is not installed", hint=f"run {BGE_SMALL.install}"
                    ) from error
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = 1
                self._tokenizer = Tokenizer.from_file(str(tokenizer))
                self._tokenizer.enable_truncation(BGE_SMALL.max_tokens)
                self._tokenizer.enable_padding()
                self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            return self._session, self._tokenizer
