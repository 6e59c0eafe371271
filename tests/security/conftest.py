"""Services without stores give up on them quickly."""

import pytest

from query_api import backends


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve without waiting for stores that are not there."""
    monkeypatch.setattr(backends, "FIRST_ATTEMPT_S", 0.05)
