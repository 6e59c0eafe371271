"""Script: `vectors_server.py DATA_DIR PORT` serves milvus-lite on loopback until SIGTERM, one writer at a time.

Two concurrent writers corrupt milvus-lite's write-ahead log without a word: after a kill most acknowledged rows are
gone. So every write of every collection takes one lock; searches stay concurrent. It imports nothing of Magma.
"""

import functools
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from milvus_lite.engine.collection import Collection
from pymilvus.grpc_gen import milvus_pb2_grpc

LOOPBACK = "127.0.0.1"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
MAX_WORKERS = 10
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
WRITES = ("insert", "upsert", "delete", "flush")
STOP_GRACE_S = 5.0

_one_writer = threading.RLock()


def one_at_a_time(write: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a write so that it waits for the others."""

    @functools.wraps(write)
    def locked(*args: Any, **kwargs: Any) -> Any:
        with _one_writer:
            return write(*args, **kwargs)

    return locked


def main() -> None:
    """Serve until told to stop, then close in order."""
    # Before any thread starts, so that all inherit it: a signal that comes early waits for `sigwait`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    data_dir, port = sys.argv[1], int(sys.argv[2])
    for name in WRITES:
        setattr(Collection, name, one_at_a_time(getattr(Collection, name)))
    database = MilvusLite(data_dir)
    server = grpc.server(
        ThreadPoolExecutor(max_workers=MAX_WORKERS),
        options=[
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            # Otherwise a second server on this port would take half of the calls unnoticed.
            ("grpc.so_reuseport", 0),
        ],
    )
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(database), server)
    server.add_insecure_port(f"{LOOPBACK}:{port}")
    server.start()
    signal.sigwait(STOP_SIGNALS)
    server.stop(grace=STOP_GRACE_S).wait()
    database.close()


if __name__ == "__main__":
    main()
