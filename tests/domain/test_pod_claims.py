"""Claims that the scheduler can use (volumebinding of 1.35 to 1.37)."""

from typing import Any

import pytest

from gangboard.domain.pod_claims import (
    ClaimProblem,
    ResourceClaim,
    StorageClass,
    VolumeClaim,
    resource_claim_problem,
    volume_claim_problem,
)
from tests.domain_objects import a_meta, ago

CLASSES = {
    "now": StorageClass(a_meta("storage.k8s.io", "StorageClass", "now")),
    "later": StorageClass(a_meta("storage.k8s.io", "StorageClass", "later"), waits_for_pod=True),
}


def claim(phase: str = "Pending", *, deleting: bool = False, **fields: Any) -> VolumeClaim:
    since = ago(10) if deleting else None
    meta = a_meta("", "PersistentVolumeClaim", "data", deleting_since=since)
    return VolumeClaim(meta, phase, **fields)


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (claim(storage_class="now"), ClaimProblem.UNBOUND),
        (claim("", storage_class="now"), ClaimProblem.UNBOUND),
        # Legitimately Pending: a volume comes when a pod has a node.
        (claim(storage_class="later"), None),
        # It names its volume, so no class makes it wait for a pod or creates another volume.
        (claim(storage_class="later", volume="pv-7"), ClaimProblem.UNMATCHED),
        # Without a class, a volume must be made by hand. The same holds for a missing class.
        (claim(), ClaimProblem.UNBOUND),
        (claim(storage_class="manual"), ClaimProblem.UNBOUND),
        (claim("Bound", storage_class="now", volume="pv-7"), None),
        (claim("Bound", volume="pv-7", deleting=True), ClaimProblem.DELETED),
        (claim(storage_class="later", deleting=True), ClaimProblem.DELETED),
        (claim("Lost", volume="pv-7"), ClaimProblem.LOST),
        (claim("Lost", volume="pv-7", deleting=True), ClaimProblem.LOST),
        (claim("Resting"), None),
    ],
)
def test_volume_claim_problems(one: VolumeClaim, problem: ClaimProblem | None) -> None:
    result = volume_claim_problem(one, CLASSES)
    assert (result and result.problem) == problem
    assert result is None or result.meta is one.meta


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (claim(storage_class="now"), None),
        (claim(), ClaimProblem.UNBOUND),
        (claim(storage_class="now", volume="pv-7"), ClaimProblem.UNMATCHED),
        (claim("Lost", storage_class="now"), ClaimProblem.LOST),
    ],
)
def test_unreadable_storage_classes(one: VolumeClaim, problem: ClaimProblem | None) -> None:
    result = volume_claim_problem(one, None)
    assert (result and result.problem) == problem


def test_lost_volume_is_named() -> None:
    result = volume_claim_problem(claim("Lost", volume="pv-7"), None)
    assert result is not None
    assert result.volume == "pv-7"


def test_device_claim_problems() -> None:
    existing = a_meta("resource.k8s.io", "ResourceClaim", "links")
    leaving = a_meta("resource.k8s.io", "ResourceClaim", "links", deleting_since=ago(10))
    assert resource_claim_problem(ResourceClaim(existing)) is None
    result = resource_claim_problem(ResourceClaim(leaving))
    assert result is not None
    assert result.problem is ClaimProblem.DELETED
