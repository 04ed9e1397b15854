"""Whether a change of a gang's object works in place or needs a re-created object.

Dry runs on the control planes of 1.35, 1.36 and 1.37 prove every row, in each run of
tests/placement/test_change_methods.py. Later versions follow the row, because the API never makes a mutable field
immutable. If a later server refused the change all the same, the object would stay as it is. Other changes need a
re-created object, which always works.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gangboard.domain.advice import AdviceKind, ChangeMethod

Minor = tuple[int, int]

V1_36, V1_37 = (1, 36), (1, 37)
_ELASTIC_JOBS = (1, 27)
"""The first minor in which an Indexed Job can change its completions together with its parallelism (KEP-3715)."""
_ALWAYS = (1, 0)


class ChangedObject(StrEnum):
    """The object to change. Jobs differ by how their pods are scheduled."""

    JOB = "Job"
    """Scheduled pod by pod, or by a basic group."""
    GANG_JOB = "Job in a gang"
    """The spec of the Job requests a gang (1.37), and the group follows the spec."""
    UNASKED_GANG_JOB = "Job in a gang that nobody asked for"
    """1.36 makes one of every Indexed Job whose parallelism equals its completions."""
    MULTI_ROLE_OWNER = "owner of parts"
    """An owner such as a JobSet, whose roles have a fixed size (`KindTraits.role_size_field`)."""
    ROLE = "Role of an owner"
    """The owner's spec has its quorum (`Role.quorum`), which cannot be changed."""
    POD = "Pod"
    POD_GROUP = "PodGroup"
    WORKLOAD = "Workload"


_SINCE: Mapping[tuple[AdviceKind, ChangedObject], Minor] = {
    (AdviceKind.SIZE, ChangedObject.JOB): _ELASTIC_JOBS,
    (AdviceKind.SIZE, ChangedObject.GANG_JOB): V1_37,
    (AdviceKind.QUORUM, ChangedObject.GANG_JOB): V1_37,
    (AdviceKind.QUORUM, ChangedObject.POD_GROUP): V1_37,
    (AdviceKind.TOLERATE, ChangedObject.POD): _ALWAYS,
}
"""The first minor version in which a change works in place. Every later version allows it as well."""


def change_method(
    change: AdviceKind, changed_object: ChangedObject, minor: Minor | None
) -> ChangeMethod:
    """Return how the change works on a cluster of this minor version.

    An unknown version (None) means re-creation, because the cluster may be older than the row.
    """
    since = _SINCE.get((change, changed_object))
    if since is None or minor is None or minor < since:
        return ChangeMethod.RECREATE
    return ChangeMethod.IN_PLACE
