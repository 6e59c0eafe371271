"""Script: `vectors_server.py DATA_DIR PORT` serves milvus-lite on loopback until SIGTERM, one call at a time.

milvus-lite 3.2.2 has no locks where it needs them. Each was seen to matter:

- two concurrent writers corrupt its write-ahead log without a word: after a kill most acknowledged rows are gone;
- a read during a flush sees neither the rows being flushed nor their file (7,753 of 7,763 reads missed one);
- the first calls after a start each open the collection, and writes to all but the last are lost (4 of 4 threads).

So every call that touches a collection takes one lock. It costs no throughput: the engine is Python and holds the
interpreter's own lock nearly all of the time. More changes make searches cheaper and none changes what is found:

- `prune_partitions`: a filter that names the partition key's value looks into that one partition, as Milvus does;
- `read_needed_columns`: a filter evaluated row by row reads its own columns, not vectors and texts;
- `read_wanted_columns`: a hit's row is read as far as the caller asked for it, not with its vector and text;
- `flush_when_idle`: rows that wait unflushed cost every search 60 microseconds each.

It imports nothing of Magma.
"""

import functools
import hashlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.constants import PARTITION_KEY_BUCKET_PREFIX
from milvus_lite.db import MilvusLite
from milvus_lite.engine.collection import Collection
from milvus_lite.schema.types import DataType
from milvus_lite.search.filter import eval as filter_eval
from milvus_lite.search.filter import parse_expr
from milvus_lite.search.filter.ast import And, CmpOp, FieldRef, StringLit
from milvus_lite.search.filter.exceptions import FilterError
from pymilvus.grpc_gen import milvus_pb2_grpc

LOOPBACK = "127.0.0.1"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
MAX_WORKERS = 10
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
STOP_GRACE_S = 5.0

LOCKED_OF_COLLECTION = (
    "insert", "upsert", "delete", "flush", "search", "query", "get", "load", "release", "create_index", "drop_index",
)  # fmt: skip
LOCKED_OF_DATABASE = ("create_collection", "get_collection", "drop_collection")

#: How long a collection must have been left alone before its rows are flushed, and how often that is looked at.
IDLE_S = 0.5
LOOK_S = 0.25

#: Sequence numbers of the rows of a segment, by its file; a file is written once.
_numbers: dict[Any, list[int]] = {}
MAX_REMEMBERED_SEGMENTS = 10_000

_one_caller = threading.RLock()


def one_at_a_time(kind: type, names: tuple[str, ...]) -> None:
    """Make each of these methods wait for all others."""
    for name in names:
        setattr(kind, name, _locked(getattr(kind, name)))


def _locked(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _one_caller:
            return method(*args, **kwargs)

    return call


def prune_partitions() -> None:
    """Make `search` and `query` look only where rows with the filter's partition key can be."""
    for name in ("search", "query"):
        setattr(Collection, name, _pruned(getattr(Collection, name)))


def _pruned(read: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(read)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        expression = kwargs.get("expr", args[0] if args and read.__name__ == "query" else None)
        if not kwargs.get("partition_names"):
            partition = _partition_of(self, expression)
            if partition is not None:
                kwargs["partition_names"] = [partition]
        return read(self, *args, **kwargs)

    return call


def _partition_of(collection: Any, expression: str | None) -> str | None:
    field = collection._partition_key_field
    value = _required(field, expression) if field and expression else None
    if value is None:
        return None
    digest = int(hashlib.md5(value.encode(), usedforsecurity=False).hexdigest(), 16)
    return f"{PARTITION_KEY_BUCKET_PREFIX}{digest % collection._num_partition_buckets}"


@functools.lru_cache(maxsize=1_024)
def _required(field: str, expression: str) -> str | None:
    """Give the value that an expression requires of a field, when `field == value` is one of its conjuncts."""
    try:
        tree = parse_expr(expression)
    except FilterError:
        return None  # the engine says what is wrong with it when it parses it itself
    for node in tree.operands if isinstance(tree, And) else (tree,):
        if (
            isinstance(node, CmpOp)
            and node.op == "=="
            and isinstance(node.left, FieldRef)
            and node.left.name == field
            and isinstance(node.right, StringLit)
        ):
            return str(node.right.value)
    return None


def read_needed_columns() -> None:
    """Make the row-by-row evaluation of a filter read its own columns only."""
    evaluate = filter_eval.evaluate_python

    @functools.wraps(evaluate)
    def call(compiled: Any, data: Any) -> Any:
        needed = [name for name in data.schema.names if name in compiled.fields]
        return evaluate(compiled, data.select(needed) if needed else data)

    filter_eval.evaluate_python = call


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
            segments, deleted = snapshot(self)
            names, filter_ = {*wanted, self._pk_name}, kwargs.get("expr") or ""
            # a row's partition follows from its key, which is part of its id: no other partition has a newer version
            within = kwargs.get("partition_names")
            return (
                tuple(
                    Narrow(segment, names, filter_, sparse)
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

    def __init__(self, segment: Any, wanted: set[str], filter_: str, sparse: list[str]) -> None:
        self._segment = segment
        # an inverted index that has not been built yet is built from its column
        building = {name for name in sparse if name not in segment.sparse_indexes}
        table = segment.table
        kept = [
            name
            for name in (table.schema.names if table is not None else ())
            if name in wanted or name in building or name == "_seq" or name in filter_
        ]
        self.table = None if table is None else table.select(kept)
        # read one by one for every row of the collection: as numbers of Python several times as fast
        if segment.file_path not in _numbers:
            if len(_numbers) >= MAX_REMEMBERED_SEGMENTS:
                _numbers.clear()
            _numbers[segment.file_path] = segment.seqs.tolist()
        self.seqs = _numbers[segment.file_path]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._segment, name)

    def row_to_dict(self, row: int) -> dict[str, Any]:
        """Give one row as the segment does."""
        found: dict[str, Any] = type(self._segment).row_to_dict(self, row)
        return found


def flush_when_idle(database: MilvusLite) -> None:
    """Flush, for ever, each collection that holds unflushed rows and has been left alone."""
    seen: dict[int, tuple[int, float]] = {}
    while True:
        time.sleep(LOOK_S)
        with _one_caller:
            for collection in list(database._collections.values()):
                waiting = collection._memtable.size()
                size, since = seen.get(id(collection), (0, 0.0))
                if waiting != size:
                    seen[id(collection)] = (waiting, time.monotonic())
                elif waiting and time.monotonic() - since >= IDLE_S:
                    collection.flush()


def main() -> None:
    """Serve until told to stop, then close in order."""
    # Before any thread starts, so that all inherit it: a signal that comes early waits for `sigwait`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    data_dir, port = sys.argv[1], int(sys.argv[2])
    read_needed_columns()
    read_wanted_columns()
    prune_partitions()
    one_at_a_time(Collection, LOCKED_OF_COLLECTION)
    one_at_a_time(MilvusLite, LOCKED_OF_DATABASE)
    database = MilvusLite(data_dir)
    threading.Thread(target=flush_when_idle, args=(database,), name="idle-flush", daemon=True).start()
    server = grpc.server(
        ThreadPoolExecutor(max_workers=MAX_WORKERS),
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            # Otherwise a second server on this port would take half of the calls unnoticed.
            ("grpc.so_reuseport", 0),
            # pymilvus pings an idle connection every 10 s; without leave to, gRPC hangs up on it after half a minute.
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_ping_strikes", 0),
        ],
    )
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(database), server)
    server.add_insecure_port(f"{LOOPBACK}:{port}")
    server.start()
    signal.sigwait(STOP_SIGNALS)
    server.stop(grace=STOP_GRACE_S).wait()
    with _one_caller:  # held to the end: the idle flush must not start on what is closed
        database.close()


if __name__ == "__main__":
    main()
