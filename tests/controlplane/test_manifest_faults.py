"""A real API server with real webhooks refuses the manifests that `faults` finds faults in, and accepts the others."""

from __future__ import annotations

import pytest

from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.owners.refused_manifests import CASES, Case

pytestmark = pytest.mark.controlplane


def _refusal(client: Client, case: Case, namespace: str) -> str:
    """Return the message of the API server, or an empty text if it accepts the manifest."""
    metadata = {**case.manifest["metadata"], "namespace": namespace}
    try:
        client.create({**case.manifest, "metadata": metadata}, dry_run=True)
    except ApiError as error:
        return f"{error.status}: {error.message}"
    return ""


def test_the_api_server_refuses_what_has_a_fault(
    controlplane_kueue: ControlPlane, namespace: Namespaces
) -> None:
    client, where = controlplane_kueue.client, namespace(controlplane_kueue)
    refusals = {case.name: _refusal(client, case, where) for case in CASES}
    wrong = {
        case.name: refusals[case.name] or "accepted"
        for case in CASES
        if bool(refusals[case.name]) != bool(case.field and not case.by_controller)
    }
    assert wrong == {}
    statuses = {refusal.partition(":")[0] for refusal in refusals.values() if refusal}
    assert statuses <= {"400", "403", "422"}, refusals
