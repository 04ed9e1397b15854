"""PersistentVolumeClaims and ResourceClaims, which must exist before their pods get a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gangboard.domain.objects import Meta

OF_VOLUMES, OF_DEVICES = "PersistentVolumeClaim", "ResourceClaim"
"""The kinds of claims that pods name."""

ClaimName = tuple[str, str, str]
"""(kind, namespace, name). A ResourceClaim that does not exist yet has the name of its entry in the pod."""


@dataclass(frozen=True, slots=True)
class PodClaim:
    """Claim that a pod names in its own namespace."""

    kind: str
    name: str
    generated: bool = False
    """A controller creates it for an ephemeral volume, or from a ResourceClaimTemplate."""
    unmade: bool = False
    """A ResourceClaim that has no name yet. `name` is that of its entry in the pod."""


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim."""

    meta: Meta
    phase: str = ""
    """Pending, Bound or Lost. An unknown phase is stored as served."""
    volume: str = ""
    """PersistentVolume that it is or will be bound to (`spec.volumeName`)."""
    storage_class: str = ""


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass."""

    meta: Meta
    waits_for_pod: bool = False
    """`volumeBindingMode: WaitForFirstConsumer`, so a volume is bound only after a pod has a node."""


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A ResourceClaim. gangboard only checks that it exists."""

    meta: Meta


class ClaimProblem(StrEnum):
    """Reasons why a pod cannot use a claim."""

    MISSING = "does not exist"
    UNMADE = "is not made yet"
    DELETED = "is being deleted"
    LOST = "has lost its volume"
    UNBOUND = "is not bound yet"
    UNMATCHED = "is not bound to the volume that it names"


@dataclass(frozen=True, slots=True)
class UnusableClaim:
    """Claim that prevents the placement of pods, as observed. An unknown claim counts as usable."""

    problem: ClaimProblem
    meta: Meta | None = None
    """Metadata of the claim, if it exists."""
    volume: str = ""
    """PersistentVolume that the claim has lost, or names without being bound to it."""


UnusableClaims = Mapping[ClaimName, UnusableClaim]


def volume_claim_problem(
    claim: VolumeClaim, classes: Mapping[str, StorageClass] | None
) -> UnusableClaim | None:
    """Return why no pod can use an existing claim. None if pods can use it, or if it is unknown.

    `classes` are all StorageClasses by name, or None if they cannot be read. As in the scheduler, a claim
    waits for its volume unless its class exists and waits for the pod. A claim that names a volume always
    waits for it (volumebinding: podHasPVCs, GetPodVolumeClaims, IsDelayBindingMode of 1.35 to 1.37).
    """
    if claim.phase == "Lost":
        return UnusableClaim(ClaimProblem.LOST, claim.meta, claim.volume)
    if claim.meta.deleting_since is not None:
        return UnusableClaim(ClaimProblem.DELETED, claim.meta)
    if claim.phase not in ("", "Pending"):
        return None
    if claim.volume:
        # The volume controller binds both at once if the volume exists and is free.
        return UnusableClaim(ClaimProblem.UNMATCHED, claim.meta, claim.volume)
    if claim.storage_class:
        if classes is None:
            return None
        storage_class = classes.get(claim.storage_class)
        if storage_class is not None and storage_class.waits_for_pod:
            return None
    return UnusableClaim(ClaimProblem.UNBOUND, claim.meta)


def resource_claim_problem(claim: ResourceClaim) -> UnusableClaim | None:
    """Return why no pod can use an existing ResourceClaim, or None."""
    deleting = claim.meta.deleting_since is not None
    return UnusableClaim(ClaimProblem.DELETED, claim.meta) if deleting else None
