"""PersistentVolumeClaims, StorageClasses and ResourceClaims as API servers of 1.35 to 1.37 serve them."""

import pytest

from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.domain.api_resource import Resource
from tests.decode.reading import Json, model, with_identity

BETA = "volume.beta.kubernetes.io/storage-class"
PENDING: Json = {
    "metadata": {"annotations": {"volume.kubernetes.io/storage-provisioner": "example.com/slow"}},
    "spec": {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "slow",
        "volumeMode": "Filesystem",
    },
    "status": {"phase": "Pending"},
}


def test_pending_volume_claim() -> None:
    claim = model(VOLUME_CLAIM, with_identity(PENDING, "data"))
    ref = claim.meta.ref
    assert (ref.group, ref.kind, ref.namespace, ref.name) == (
        "",
        "PersistentVolumeClaim",
        "team-a",
        "data",
    )
    assert (claim.phase, claim.volume, claim.storage_class) == ("Pending", "", "slow")
    assert not claim.meta.annotated


def test_bound_volume_claim_that_is_being_deleted() -> None:
    bound = {
        "metadata": {"deletionTimestamp": "2026-11-21T11:50:00Z"},
        "spec": {"volumeName": "pv-7", "storageClassName": ""},
        "status": {"phase": "Bound"},
    }
    claim = model(VOLUME_CLAIM, with_identity(bound, "data"))
    assert (claim.phase, claim.volume, claim.storage_class) == ("Bound", "pv-7", "")
    assert claim.meta.deleting_since is not None


@pytest.mark.parametrize("rest", [{}, {"spec": None, "status": None}, {"status": {"phase": None}}])
def test_claim_without_a_status(rest: Json) -> None:
    claim = model(VOLUME_CLAIM, with_identity(rest, "data"))
    assert (claim.phase, claim.volume, claim.storage_class) == ("", "", "")


@pytest.mark.parametrize(
    ("annotation", "storage_class"), [("old", "old"), ("", ""), (None, "slow")]
)
def test_former_annotation_overrides_the_class_field(
    annotation: str | None, storage_class: str
) -> None:
    obj = {**PENDING, "metadata": {"annotations": {BETA: annotation}}}
    assert model(VOLUME_CLAIM, with_identity(obj, "data")).storage_class == storage_class


@pytest.mark.parametrize(
    ("mode", "waits"), [("WaitForFirstConsumer", True), ("Immediate", False), (None, False)]
)
def test_storage_class_that_waits_for_pods(mode: str | None, waits: bool) -> None:
    obj = {"provisioner": "example.com/slow", "volumeBindingMode": mode}
    result = model(STORAGE_CLASS, with_identity(obj, "slow", ""))
    assert (result.meta.ref.group, result.meta.ref.namespace) == ("storage.k8s.io", "")
    assert result.waits_for_pod is waits


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_a_resource_claim_is_decoded(version: str) -> None:
    obj = {"spec": {"devices": {"requests": []}}, "status": {"allocation": {"devices": {}}}}
    claim = model(RESOURCE_CLAIM, with_identity(obj, "links"), version)
    assert (claim.meta.ref.group, claim.meta.ref.kind) == ("resource.k8s.io", "ResourceClaim")
    assert claim.meta.deleting_since is None


@pytest.mark.parametrize("resource", [VOLUME_CLAIM, STORAGE_CLASS, RESOURCE_CLAIM])
def test_claim_resources_are_optional(resource: Resource) -> None:
    assert not resource.needed
