"""What pods need besides a node: PersistentVolumeClaims and ResourceClaims, which must be there first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gangboard.domain.objects import Meta

OF_VOLUMES, OF_DEVICES = "PersistentVolumeClaim", "ResourceClaim"
"""The kinds of claims that pods name."""

ClaimName = tuple[str, str, str]
"""(kind, namespace, name). The name of a ResourceClaim that is not made yet is that of its entry in
the pod."""


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim that a pod names, in its own namespace."""

    kind: str
    name: str
    generated: bool = False
    """A controller makes it for the pod: of an ephemeral volume, or from a ResourceClaimTemplate."""
    unmade: bool = False
    """A ResourceClaim that has no name yet; `name` is that of its entry in the pod."""


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    """A PersistentVolumeClaim."""

    meta: Meta
    phase: str = ""
    """Pending, Bound, Lost; an unknown word is kept."""
    volume: str = ""
    """`spec.volumeName`: the PersistentVolume that it is bound to, or is to be."""
    storage_class: str = ""


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A class of volumes."""

    meta: Meta
    waits_for_pod: bool = False
    """`volumeBindingMode: WaitForFirstConsumer`: a volume comes when a pod has a node, not before."""


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A claim of devices, of which only is asked whether it is there."""

    meta: Meta


class ClaimProblem(StrEnum):
    """Why a pod cannot use a claim."""

    MISSING = "does not exist"
    UNMADE = "is not made yet"
    DELETED = "is being deleted"
    LOST = "has lost its volume"
    UNBOUND = "is not bound yet"
    UNMATCHED = "is not bound to the volume that it names"


@dataclass(frozen=True, slots=True)
class UnusableClaim:
    """A claim that keeps pods from being placed. Only what was seen: what is not known is no problem."""

    problem: ClaimProblem
    meta: Meta | None = None
    """The claim, where it is there."""
    volume: str = ""
    """The PersistentVolume that a claim has lost, or names and has not got."""


UnusableClaims = Mapping[ClaimName, UnusableClaim]


def volume_claim_problem(
    claim: VolumeClaim, classes: Mapping[str, StorageClass] | None
) -> UnusableClaim | None:
    """Return why no pod can use a claim that is there; None when it can, or when that is not known.

    `classes` are all StorageClasses by name; None when they cannot be looked at. As the scheduler has
    it (volumebinding: podHasPVCs, GetPodVolumeClaims, IsDelayBindingMode; alike in 1.35 to 1.37): a
    claim waits for its volume unless its class exists and waits for the pod; so does one that names
    a volume already, whatever its class.
    """
    if claim.phase == "Lost":
        return UnusableClaim(ClaimProblem.LOST, claim.meta, claim.volume)
    if claim.meta.deleting_since is not None:
        return UnusableClaim(ClaimProblem.DELETED, claim.meta)
    if claim.phase not in ("", "Pending"):
        return None
    if claim.volume:
        # The volume controller binds both at once where there is such a volume, and it is free.
        return UnusableClaim(ClaimProblem.UNMATCHED, claim.meta, claim.volume)
    if claim.storage_class:
        if classes is None:
            return None
        found = classes.get(claim.storage_class)
        if found is not None and found.waits_for_pod:
            return None
    return UnusableClaim(ClaimProblem.UNBOUND, claim.meta)


def resource_claim_problem(claim: ResourceClaim) -> UnusableClaim | None:
    """Return why no pod can use a ResourceClaim that is there, if so."""
    deleting = claim.meta.deleting_since is not None
    return UnusableClaim(ClaimProblem.DELETED, claim.meta) if deleting else None
