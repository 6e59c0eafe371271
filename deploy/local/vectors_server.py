"""Script: `vectors_server.py DATA_DIR PORT` serves milvus-lite on loopback until SIGTERM, one call at a time.

milvus-lite 3.2.2 has no locks where it needs them. Each was seen to matter:

- two concurrent writers corrupt its write-ahead log without a word: after a kill most acknowledged rows are gone;
- a read during a flush sees neither the rows being flushed nor their file (7,753 of 7,763 reads missed one);
- the first calls after a start each open the collection, and writes to all but the last are lost (4 of 4 threads).

So every call that touches a collection takes one lock. It costs no throughput: the engine is Python and holds the
interpreter's own lock nearly all of the time. More changes make searches cheaper and none changes what is found:

- `prune_partitions`: a filter that names the partition key's value looks into that one partition, as Milvus does;
- `read_needed_columns`: a filter evaluated row by row reads its own columns, not vectors and texts;
- `vectors_rows`: of a hit's row is read what the caller asked for, and which rows live is not worked out every time;
- `flush_when_idle`: rows that wait unflushed cost every search 60 microseconds each.

It imports nothing of Magma.
"""

import functools
import hashlib
import importlib.util
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.constants import PARTITION_KEY_BUCKET_PREFIX
from milvus_lite.db import MilvusLite
from milvus_lite.engine.collection import Collection
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
    return next((value for name, value in _equalities(tree) if name == field), None)


def _equalities(tree: Any) -> list[tuple[str, str]]:
    """Give (field, value) of the conjuncts `field == value` of strings."""
    return [
        (node.left.name, str(node.right.value))
        for node in (tree.operands if isinstance(tree, And) else (tree,))
        if isinstance(node, CmpOp)
        and node.op == "=="
        and isinstance(node.left, FieldRef)
        and isinstance(node.right, StringLit)
    ]


def read_needed_columns() -> None:
    """Make the row-by-row evaluation of a filter read its own columns only, of rows that its equalities admit."""
    evaluate = filter_eval.evaluate_python

    @functools.wraps(evaluate)
    def call(compiled: Any, data: Any) -> Any:
        needed = [name for name in data.schema.names if name in compiled.fields]
        data = data.select(needed) if needed else data
        asked = [(name, value) for name, value in _equalities(compiled.ast) if name in needed]
        if not asked:
            return evaluate(compiled, data)
        admitted = np.ones(data.num_rows, dtype=bool)
        for name, value in asked:
            equal = pc.fill_null(pc.equal(data.column(name), value), False)
            admitted &= np.asarray(equal.to_numpy() if isinstance(equal, pa.ChunkedArray) else equal, dtype=bool)
        found = evaluate(compiled, data.filter(pa.array(admitted)))
        admitted[admitted] = found.to_numpy(zero_copy_only=False)
        return pa.array(admitted)

    filter_eval.evaluate_python = call


def beside(name: str) -> Any:
    """Load a file that stands beside this one. The folder itself is not on the path: its names would hide others."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    rows = beside("vectors_rows")
    rows.read_wanted_columns()
    rows.remember_rows()
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
