"""One gangboard for all tests of this folder that ask it about a real cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane import flux, gang_schedulers, grove, scheduled_elsewhere
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation


@pytest.fixture(scope="package")
def board(controlplane_kueue: ControlPlane) -> Iterator[Installation]:
    """A whole gangboard that watches the control plane with the controllers of all kinds, and the CRDs of those that are played."""
    client = controlplane_kueue.client
    gang_schedulers.require_built()
    for operator in (flux, grove):
        operator.serve(client)  # before the first question about served resources
    with (
        gang_schedulers.served(client, scheduled_elsewhere.definitions()),
        Installation({"owners": controlplane_kueue.kubeconfig}) as installation,
    ):
        yield installation
    for operator in (flux, grove):
        operator.serve_no_more(client)
