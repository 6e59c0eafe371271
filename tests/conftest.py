"""The real local servers, once a test run; names of its own for each test.

A server whose address is in the environment (`MAGMA_GRAPH_URI`, `MAGMA_MILVUS_URI`, `MAGMA_KAFKA_BOOTSTRAP`) is used
instead of the local one: so the same tests run against Memgraph, Milvus and Kafka.
"""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import settings as hypothesis_settings

from deploy.local import LocalStack, StackPlan
from memory.settings import Settings, load_settings

# A gate tells about the change: everybody tries the same examples. HYPOTHESIS_PROFILE=search looks for new ones.
# No time an example may take: many ask servers, and machines differ.
hypothesis_settings.register_profile("gate", derandomize=True, database=None, deadline=None)
hypothesis_settings.register_profile("search", derandomize=False, deadline=None, print_blob=True)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Run broker, graph and vectors for the whole test run; gives settings that lead to them."""
    data_dir = tmp_path_factory.mktemp("stack")
    with LocalStack(data_dir, plan=StackPlan.beside(load_settings(data_dir=data_dir))) as local:
        yield local.settings


@pytest.fixture
def settings(stack: Settings) -> Settings:
    """Give settings with topics, groups and a vector collection that no other test uses; the graph is shared."""
    unique = uuid4().hex[:12]
    return stack.model_copy(update={"topic_prefix": f"test-{unique}.", "milvus_collection": f"test_{unique}"})


@pytest.fixture
def tenant() -> str:
    """Give a tenant that no other test uses."""
    return f"tenant-{uuid4().hex[:12]}"
