"""People with different rights who open pages."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.factories import make_cluster
from tests.personas import Person, make_owner, make_reader, make_stranger


@pytest.fixture
def owner(db: None) -> Person:
    """An admin of everything."""
    return make_owner()


@pytest.fixture
def reader(db: None) -> Person:
    """A viewer of namespace research of cluster eu-train."""
    return make_reader(make_cluster("eu-train"))


@pytest.fixture
def stranger(db: None) -> Person:
    """A user without a role."""
    return make_stranger()


@pytest.fixture
def anonymous() -> Client:
    """An anonymous user."""
    return Client()
