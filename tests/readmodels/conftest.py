"""Viewers for the read models."""

import pytest

from gangboard.store.access import Scope, Viewer


@pytest.fixture
def owner() -> Viewer:
    """Sees everything."""
    return Viewer(1, "olga", (Scope(None, "", "admin"),))


@pytest.fixture
def stranger() -> Viewer:
    """Has no role."""
    return Viewer(2, "stan", ())
