"""All situations of a real Kueue, brought about once for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.queues.blocked_situations import NEVER
from tests.queues.places import NODES, Place, share
from tests.queues.reported_situations import REPORTED
from tests.queues.waiting_situations import WAITING
from tests.situations import brought_about

STORIES = (
    "jobs",
    "circle",
    "late",
    "late-for-good",
    "failed-node",
    "drift",
    "slices",
    "variants",
    "preemption-gate",
)
"""Places of tests that begin when all situations have been told."""


@pytest.fixture(scope="package")
def _brought_about(controlplane_kueue: ControlPlane) -> Iterator[dict[str, Place]]:
    client = controlplane_kueue.client
    share(client)
    situations = {**REPORTED, **WAITING, **NEVER}  # what takes longest begins first
    result = {name: Place(client, f"kq-{name}") for name in (*situations, *STORIES)}
    with brought_about(situations, result, shared=NODES):
        yield result


@pytest.fixture
def places(controlplane_kueue: ControlPlane, _brought_about: dict[str, Place]) -> dict[str, Place]:
    """Every situation, each in a namespace of its own, and places for stories."""
    assert controlplane_kueue.client is not None  # a paused plane resumes when it is used
    return _brought_about
