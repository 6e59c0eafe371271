"""Cheaper searches of milvus-lite: what its segments say of their rows is read once. Part of `vectors_server`.

A segment never changes. Which rows are the newest of their key and not deleted therefore changes with the set of
segments and with tombstones alone, and which a filter admits not at all. While rows or deletions wait unflushed, the
engine's own way is taken.

It imports nothing of Magma.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from milvus_lite.engine import collection as engine
from milvus_lite.engine.collection import Collection
from milvus_lite.engine.projection import build_projection_plan, project_record
from milvus_lite.index.brute_force import BruteForceIndex
from milvus_lite.index.sparse_factory import _search_prepared_sparse_index, sparse_index_matches
from milvus_lite.schema.types import DataType
from milvus_lite.search.indexed_filter import evaluate_segment_filter
from milvus_lite.storage.delta_index import DeltaIndex

#: Masks of filters that are remembered for one set of segments: a bound on memory, nothing else.
MAX_MASKS = 4_096

Mask = Any


def read_wanted_columns() -> None:
    """Make `search` read of each hit the columns that the caller wants, and those that the filter names."""
    search = Collection.search

    @functools.wraps(search)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("output_fields")
        if wanted is None or "*" in wanted or kwargs.get("group_by_field") or kwargs.get("ranker"):
            return search(self, *args, **kwargs)
        sparse = [field.name for field in self._schema.fields if field.dtype == DataType.SPARSE_FLOAT_VECTOR]
        snapshot = Collection._read_snapshot

        def narrowed() -> tuple[Any, Any]:
            generation = _Tombstones.generation  # before the snapshot: what comes meanwhile makes it outdated
            segments, deleted = snapshot(self)
            kept = getattr(self, "_kept", None)
            if kept is None or not kept.holds(segments, generation):
                kept = self._kept = Kept(segments, generation, deleted)
            names, filter_ = {*wanted, self._pk_name}, kwargs.get("expr") or ""
            # a row's partition follows from its key, which is part of its id: no other partition has a newer version
            within = kwargs.get("partition_names")
            return (
                tuple(
                    Narrow(segment, names, filter_, sparse, kept)
                    for segment in segments
                    if not within or segment.partition in within
                ),
                deleted,
            )

        self._read_snapshot = narrowed
        try:
            return search(self, *args, **kwargs)
        finally:
            del self._read_snapshot

    Collection.search = call


class Narrow:
    """A segment, which never changes, with a table of the wanted columns only; the rest is the segment's own."""

    def __init__(self, segment: Any, wanted: set[str], filter_: str, sparse: list[str], kept: "Kept") -> None:
        self._segment = segment
        self.kept = kept
        # an inverted index that has not been built yet is built from its column
        building = {name for name in sparse if name not in segment.sparse_indexes}
        table = segment.table
        names = [
            name
            for name in (table.schema.names if table is not None else ())
            if name in wanted or name in building or name == "_seq" or name in filter_
        ]
        self.table = None if table is None else table.select(names)

    @property
    def seqs(self) -> list[int]:
        """Sequence numbers: the engine reads them one by one, as numbers of Python several times as fast."""
        return self.kept.numbers(self._segment)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._segment, name)

    def row_to_dict(self, row: int) -> dict[str, Any]:
        """Give one row as the segment does."""
        found: dict[str, Any] = type(self._segment).row_to_dict(self, row)
        return found

    def mask(self, partitions: Any, compiled: Any, plan: Any) -> Mask:
        """Say which rows live and are admitted by a filter."""
        live = self.kept.live(frozenset(partitions or ()))[id(self._segment)]
        return live if compiled is None else live & self.kept.admitted(self, compiled, plan)


class _Tombstones:
    """`generation`: another object whenever a tombstone was folded into an index of them, by whatever thread."""

    generation = object()


class Kept:
    """What was worked out of a collection, as long as it has exactly these segments and no newer tombstone."""

    def __init__(self, segments: tuple[Any, ...], generation: object, deleted: Any) -> None:
        self._segments = segments
        self._generation = generation
        self._deleted = deleted
        self._numbers: dict[int, list[int]] = {}
        self._live: dict[frozenset[str], dict[int, Mask]] = {}
        self._admitted: dict[tuple[int, int], tuple[Any, Mask]] = {}

    def holds(self, segments: tuple[Any, ...], generation: object) -> bool:
        """Say whether it is still true."""
        return (
            generation is self._generation
            and len(segments) == len(self._segments)
            and all(one is other for one, other in zip(segments, self._segments, strict=True))
        )

    def numbers(self, segment: Any) -> list[int]:
        """Give the sequence numbers of a segment's rows."""
        if id(segment) not in self._numbers:
            self._numbers[id(segment)] = segment.seqs.tolist()
        return self._numbers[id(segment)]

    def live(self, partitions: frozenset[str]) -> dict[int, Mask]:
        """Say by segment which rows are the newest of their key, within the partitions, and not deleted."""
        if partitions not in self._live:
            within = [one for one in self._segments if not partitions or one.partition in partitions]
            newest: dict[Any, int] = {}
            for segment in within:
                for key, number in zip(segment.pks, self.numbers(segment), strict=True):
                    newest[key] = max(number, newest.get(key, -1))
            gone = self._deleted.is_deleted
            self._live[partitions] = {
                id(segment): np.array(
                    [
                        newest[key] == number and not gone(key, number)
                        for key, number in zip(segment.pks, self.numbers(segment), strict=True)
                    ],
                    dtype=bool,
                )
                for segment in within
            }
        return self._live[partitions]

    def admitted(self, segment: Narrow, compiled: Any, plan: Any) -> Mask:
        """Say which rows a filter admits; the same text gives the same compiled filter, which is held with the mask."""
        place = (id(segment._segment), id(compiled))
        if place not in self._admitted:
            if len(self._admitted) >= MAX_MASKS:
                self._admitted.clear()
            self._admitted[place] = (compiled, evaluate_segment_filter(segment, compiled, plan).astype(bool))
        return self._admitted[place][1]


def remember_rows() -> None:
    """Make searches of flushed rows use what is remembered of them; unflushed rows are left to the engine's own way."""
    fold = DeltaIndex.add_batch

    @functools.wraps(fold)
    def folded(self: Any, batch: Any) -> None:
        try:
            fold(self, batch)
        finally:
            _Tombstones.generation = object()

    DeltaIndex.add_batch = folded
    engine.execute_search_with_index = _dense(engine.execute_search_with_index)
    Collection._search_sparse = _sparse(Collection._search_sparse)


def _dense(search: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(search)
    def call(**asked: Any) -> Any:
        field, count, partitions = asked["vector_field"], asked["top_k"], asked["partition_names"]
        queries, segments = asked["query_vectors"], _settled(asked["memtable"], asked["segments"])
        if segments is None or not len(queries) or count <= 0:
            return search(**asked)
        found: list[list[tuple[float, int, int]]] = [[] for _ in queries]
        for place, segment in enumerate(segments):
            mask = segment.mask(partitions, asked["compiled_filter"], asked["indexed_filter_plan"])
            vectors, present = segment.vector_data(field)
            mask = mask if present is None else mask & present
            if mask.any():
                index = segment.indexes.get(field) or BruteForceIndex.build(vectors, asked["metric_type"])
                rows, far = index.search(
                    queries, count, valid_mask=None if mask.all() else mask, params=asked["search_params"]
                )
                _take(found, place, rows, far)
        return [
            [
                _hit(
                    segments[place],
                    row,
                    distance,
                    asked["output_fields"],
                    asked["pk_field"],
                    asked["project_record_fn"],
                )
                for distance, place, row in sorted(hits)[:count]
            ]
            for hits in found
        ]

    return call


def _sparse(search: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(search)
    def call(self: Any, **asked: Any) -> Any:
        field, count, metric = asked["vector_field"], asked["top_k"], asked["metric_type"]
        segments = _settled(self._memtable, self._read_snapshot()[0])
        spec = self._index_specs.get(field)
        parameters = spec.build_params if spec else {}
        if segments is None or not all(
            sparse_index_matches(one.sparse_indexes.get(field), metric, parameters) for one in segments
        ):
            return search(self, **asked)  # which builds the index, once
        queries = self._prepare_sparse_queries(asked["query_vectors"], field)
        expression = asked["expr"]
        compiled = self._compile_filter(expression, timezone=asked["timezone"]) if expression else None
        plan = self._indexed_filter_plan(compiled)
        found: list[list[tuple[float, int, int]]] = [[] for _ in queries]
        for place, segment in enumerate(segments):
            mask = segment.mask(asked["partition_names"], compiled, plan)
            if mask.any():
                index = segment.sparse_indexes[field]
                _take(found, place, *_search_prepared_sparse_index(index, queries, count, valid_mask=mask))
        projection = build_projection_plan(asked["output_fields"], self._schema, api_kind="search")
        return [
            [
                _hit(
                    segments[place],
                    row,
                    distance,
                    asked["output_fields"],
                    self._pk_name,
                    lambda record: project_record(record, self._schema, projection),
                )
                # in the order that they came in where distances are equal, as the engine has them
                for distance, place, row in sorted(hits, key=lambda hit: hit[0])[:count]
            ]
            for hits in found
        ]

    return call


def _settled(memtable: Any, segments: Any) -> list[Narrow] | None:
    """Give the segments that have rows when all rows and deletions are flushed and the segments are narrowed."""
    if memtable.size() or not all(isinstance(segment, Narrow) for segment in segments):
        return None
    return [segment for segment in segments if segment.num_rows > 0]


def _take(found: list[list[tuple[float, int, int]]], place: int, rows: Any, far: Any) -> None:
    for hits, numbers, distances in zip(found, rows.tolist(), far.tolist(), strict=True):
        hits += [(distance, place, row) for row, distance in zip(numbers, distances, strict=True) if row >= 0]


def _hit(
    segment: Narrow, row: int, distance: float, wanted: list[str], key: str, project: Callable[[dict[str, Any]], Any]
) -> dict[str, Any]:
    entity = {} if wanted == [key] else project(segment.row_to_dict(row))
    return {"id": segment.pks[row], "distance": distance, "entity": entity}
