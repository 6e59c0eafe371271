"""Milvus: one collection of events with a dense vector and a BM25 vector each."""

from memory.vectors.reader import VectorReader
from memory.vectors.rows import Hit, VectorRow, vector_row
from memory.vectors.store import Vectors
from memory.vectors.writer import VectorWriter

__all__ = ["Hit", "VectorReader", "VectorRow", "VectorWriter", "Vectors", "vector_row"]
