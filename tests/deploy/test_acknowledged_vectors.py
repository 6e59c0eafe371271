"""What the local vector server has acknowledged survives its kill, however many write at once.

Without the lock of `vectors_server`, two writers are enough to lose more than half of the acknowledged rows.
"""

import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from deploy.local import LocalStack, Service, StackPlan

pytestmark = pytest.mark.stack

WRITERS = 4
ROWS_A_CALL = 32
WRITE_FOR_S = 3.0
COLLECTION = "acknowledged"


def write_until_it_dies(uri: str, writer: int, all_write: threading.Barrier, stop: threading.Event) -> set[str]:
    """Upsert batch after batch; give the ids whose call was answered."""
    acknowledged: set[str] = set()
    client = MilvusClient(uri=uri, timeout=20)
    try:
        for batch in itertools.count():
            ids = [f"{writer}-{batch}-{row}" for row in range(ROWS_A_CALL)]
            rows = [{"id": one, "vector": [float(writer), float(batch), 1.0, 0.0]} for one in ids]
            try:
                client.upsert(COLLECTION, rows, timeout=5)
            except MilvusException:
                if not stop.is_set():
                    raise
                return acknowledged
            acknowledged |= set(ids)
            if batch == 0:
                all_write.wait(timeout=60)
    finally:
        client.close()
    raise AssertionError("the server was never killed")


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_under_four_writers(tmp_path: Path) -> None:
    plan = StackPlan(external=frozenset({Service.BROKER, Service.GRAPH}))
    stop, all_write = threading.Event(), threading.Barrier(WRITERS + 1)
    with LocalStack(tmp_path, plan=plan) as stack, ThreadPoolExecutor(WRITERS) as pool:
        uri = stack.settings.milvus_uri
        maker = MilvusClient(uri=uri, timeout=20)
        maker.create_collection(COLLECTION, dimension=4, id_type="string", max_length=64, timeout=20)
        maker.close()
        writing = [pool.submit(write_until_it_dies, uri, writer, all_write, stop) for writer in range(WRITERS)]
        all_write.wait(timeout=60)
        time.sleep(WRITE_FOR_S)
        pid = stack.services[0].pid
        assert pid is not None
        stop.set()
        os.kill(pid, signal.SIGKILL)
        acknowledged = set().union(*(future.result(timeout=60) for future in writing))
    with LocalStack(tmp_path, plan=plan) as stack:
        reader = MilvusClient(uri=stack.settings.milvus_uri, timeout=20)
        reader.load_collection(COLLECTION, timeout=20)
        kept = {row["id"] for row in reader.query(COLLECTION, filter='id != ""', output_fields=["id"], timeout=20)}
        reader.close()
    lost = acknowledged - kept
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged rows are gone"
