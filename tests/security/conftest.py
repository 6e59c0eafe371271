"""Services for the attacks: one with stores and two tenants for the whole run, others without stores."""

from collections.abc import Iterator

import pytest

from memory.settings import Settings
from query_api import backends
from tests.security.served import Served, served


@pytest.fixture(scope="session")
def service(stack: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve two tenants from the real stores."""
    with served(stack, tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve without waiting for stores that are not there."""
    monkeypatch.setattr(backends, "FIRST_ATTEMPT_S", 0.05)
