"""All tests of the chart but those of its files need Helm."""

from __future__ import annotations

import pytest

from tests.controlplane.fixtures import require_built


@pytest.fixture(scope="session")
def helm_is_built() -> None:
    """Skip the test where Helm is not built, or fail it in CI."""
    require_built(("helm",))
