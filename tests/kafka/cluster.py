"""Real Apache Kafka (KRaft) on loopback: one combined broker and controller, or several, as child processes.

The jars come from Maven Central by `tests/kafka/pom.xml` and are kept in the user's cache. Every node dies with the
process that started it and is ended by its own id.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from deploy.local.process import Child, Command, server_environment

POM = Path(__file__).with_name("pom.xml")
START_S = 90.0
STOP_S = 60.0


def jars() -> Path:
    """Fetch the broker's jars once and give their folder; fails the test run when they cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "magma-tests"
    folder = cache / f"kafka-{POM.stat().st_size}-{hash_of(POM)}"
    if (folder / "complete").exists():
        return folder
    maven, java = shutil.which("mvn"), shutil.which("java")
    if maven is None or java is None:
        pytest.fail("real Kafka needs Java 17 and Maven on the path")
    folder.mkdir(parents=True, exist_ok=True)
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        pytest.fail(f"the jars of Apache Kafka cannot be fetched: {done.stdout[-800:]}{done.stderr[-800:]}")
    (folder / "complete").touch()
    return folder


def hash_of(path: Path) -> str:
    """Give a short digest of a file, to key the cache by."""
    return uuid.uuid5(uuid.NAMESPACE_URL, path.read_text()).hex[:12]


def free_ports(count: int) -> list[int]:
    """Give free loopback ports, all different."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return ports


@dataclass
class KafkaNode:
    """One broker-and-controller process."""

    number: int
    port: int
    controller_port: int
    folder: Path
    process: Child | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self.process is not None and self.process.exit_status() is None


class KafkaCluster:
    """A cluster on loopback; a context manager."""

    def __init__(
        self,
        root: Path,
        nodes: int = 1,
        *,
        properties: dict[str, str] | None = None,
        security: str = "PLAINTEXT",
        scram_users: Mapping[str, str] | None = None,
    ) -> None:
        ports = free_ports(2 * nodes)
        self._jars = jars()
        self._id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._extra = properties or {}
        self._security = security
        self._scram = [f"SCRAM-SHA-512=[name={n},password={p}]" for n, p in (scram_users or {}).items()]
        self.nodes = [KafkaNode(n + 1, ports[2 * n], ports[2 * n + 1], root / f"node{n + 1}") for n in range(nodes)]

    @property
    def bootstrap(self) -> str:
        """Addresses for clients."""
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                self._format(node)
            for node in self.nodes:
                self.start(node)
            for node in self.nodes:
                self.wait(node)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            self.kill(node)

    def _java(self, *arguments: str) -> list[str]:
        java = shutil.which("java") or "java"
        memory = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return [java, *memory, "-cp", f"{self._jars}/*", *arguments]

    def _format(self, node: KafkaNode) -> None:
        node.folder.mkdir(parents=True, exist_ok=True)
        replicas = str(len(self.nodes))
        voters = ",".join(f"{other.number}@127.0.0.1:{other.controller_port}" for other in self.nodes)
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(node.number),
            "controller.quorum.voters": voters,
            "listeners": f"{self._security}://127.0.0.1:{node.port},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": f"{self._security}://127.0.0.1:{node.port}",
            "listener.security.protocol.map": f"{self._security}:{self._security},CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": self._security,
            "log.dirs": str(node.folder / "log"),
            "offsets.topic.replication.factor": replicas,
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            "log.retention.check.interval.ms": "1000",
            "log.cleaner.backoff.ms": "500",
            **self._extra,
        }
        file = node.folder / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        command = self._java("kafka.tools.StorageTool", "format", f"--cluster-id={self._id}", "-c", str(file))
        for user in self._scram:
            command += ["--add-scram", user]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            pytest.fail(f"the broker's folder cannot be made: {done.stdout[-800:]}{done.stderr[-800:]}")

    def start(self, node: KafkaNode) -> None:
        """Start a node; `wait` for it afterwards."""
        command = self._java("kafka.Kafka", str(node.folder / "server.properties"))
        node.process = Child(Command(command, server_environment()), node.folder / "server.out")

    def wait(self, node: KafkaNode) -> None:
        """Wait until the node takes connections; fails with the end of its output when it does not."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and node.running:
            with socket.socket() as probe:
                probe.settimeout(0.5)
                if probe.connect_ex(("127.0.0.1", node.port)) == 0:
                    return
            time.sleep(0.1)
        pytest.fail(f"Kafka node {node.number} did not start: {(node.folder / 'server.out').read_text()[-2000:]}")

    def kill(self, node: KafkaNode, how: signal.Signals = signal.SIGKILL) -> None:
        """End a node by its own id and reap it."""
        if node.process is None or not node.running:
            return
        os.kill(node.process.pid, how)
        node.process.wait_or_kill(time.monotonic() + STOP_S)

    def restart(self, node: KafkaNode, how: signal.Signals = signal.SIGKILL) -> None:
        """End a node and start it again on the same log."""
        self.kill(node, how)
        self.start(node)
        self.wait(node)
