"""PyTorchJobs, their family and MPIJobs of real operators (training-operator 1.9.3, mpi-operator 0.8.0), under a complete gangboard.

All situations at once, each with nodes of its own and a near miss with another verdict: `kubeflow/` has
them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation
from tests.owners.kubeflow.family import FAMILY, KINDS
from tests.owners.kubeflow.mpijobs import MPI, Mpi
from tests.owners.kubeflow.place import Place
from tests.owners.kubeflow.pytorchjobs import TORCH, Torch
from tests.situations import brought_about, check

pytestmark = pytest.mark.controlplane

SITUATIONS = TORCH | MPI | FAMILY
PLACES: dict[str, type[Place]] = {"torch": Torch, "mpi": Mpi, **KINDS}
"""Prefixes of the situation names."""


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    result = {
        name: PLACES[name.partition("-")[0]](controlplane_kueue.client, name, board)
        for name in SITUATIONS
    }
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_the_symptom_follows_the_cause(places: dict[str, Place]) -> None:
    findings = places["mpi-launcher-crashes"].detail()["findings"]
    verdicts = {finding["unit"]: (finding["code"], finding["message"]) for finding in findings}
    code, message = verdicts["run-launcher"]
    assert code == "dependency-waiting"
    assert message.startswith(
        "Job run-launcher: The launcher cannot start processes before both workers are ready: 0 are."
    )


def test_operator_messages_are_evidence(places: dict[str, Place]) -> None:
    said = {
        item["label"]: item["value"]
        for item in places["mpi-evicted"].detail()["findings"][0]["evidence"]
    }
    assert said["Failed"] == "MPIJobEvicted: 1/2 workers are evicted"
    said = {
        item["label"]: item["value"]
        for item in places["torch-restarting"].detail()["findings"][0]["evidence"]
    }
    assert "is restarting because" in said["Restarting"]


def test_the_advice_restores_an_evicted_worker(places: dict[str, Place]) -> None:
    place = places["mpi-evicted"]
    (advice,) = place.detail()["advice"]
    assert advice == (
        "Have them re-created: kubectl --context test delete pod -n mpi-evicted run-worker-1"
    )
    place.client.delete("v1", "Pod", "run-worker-1", place.name)
    place.wait_told("running")
