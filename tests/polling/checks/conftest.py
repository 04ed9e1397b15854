"""Each test starts without clusters of earlier checks, because test databases use the same ids again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gangboard.polling.checks.loaded_cluster import drop_kept


@pytest.fixture(autouse=True)
def no_kept_clusters() -> Iterator[None]:
    """Drop the clusters that a process keeps between checks."""
    drop_kept()
    yield
    drop_kept()
