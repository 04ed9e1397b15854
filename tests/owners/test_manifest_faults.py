"""`faults` of each kind: the field of the fault, and none for a near miss."""

from __future__ import annotations

import pytest

from gangboard.plugins import registry
from tests.owners.expansion import context
from tests.owners.refused_manifests import CASES, Case, gang

GIVEN = context("podgroups.scheduling.k8s.io/v1beta1")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_field_of_a_fault(case: Case) -> None:
    fields = {fault.field for fault in registry.faults_of(case.manifest, GIVEN)}
    assert fields == ({case.field} if case.field else set())


@pytest.mark.parametrize("served", [(), ("podgroups.scheduling.k8s.io/v1alpha2",)])
def test_a_gang_that_the_api_server_does_not_read_is_no_fault(served: tuple[str, ...]) -> None:
    kind = registry.owner_kind("batch", "Job")
    assert kind is not None
    manifest = gang({"gang": {"minCount": 3}})
    assert list(kind.faults(manifest, context(*served))) == []
    assert list(kind.faults(manifest, GIVEN)) != []


def test_a_kind_that_is_not_read_has_no_faults() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "X"}}
    assert list(registry.faults_of(manifest, GIVEN)) == []
