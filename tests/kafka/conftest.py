"""One real broker for all tests of this folder; the delivery suite's own fixtures over it."""

from collections.abc import Iterator

import pytest

from memory.settings import Settings, load_settings
from tests.kafka.cluster import KafkaCluster
from tests.streams.conftest import kafka, ledger, workers

__all__ = ["kafka", "ledger", "workers"]


def settings_of(cluster: KafkaCluster, **more: object) -> Settings:
    """Give settings that lead to a cluster; a real broker refuses session timeouts under 6 s."""
    return load_settings(
        kafka_bootstrap=cluster.bootstrap, kafka_session_timeout_ms=6_000, kafka_fetch_max_wait_ms=100, **more
    )


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Run one broker for the whole test run."""
    with KafkaCluster(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="session")
def broker(cluster: KafkaCluster) -> Settings:
    """Stands where the delivery suite has the local broker."""
    return settings_of(cluster)
