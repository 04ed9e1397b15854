"""Whether a change of a gang's object works in place or needs a re-created object.

Dry runs on real control planes prove every row, in each run of tests/placement/test_change_methods.py. Other changes
need a re-created object, which always works.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gangboard.domain.advice import AdviceKind, ChangeMethod

Minor = tuple[int, int]

V1_35, V1_36, V1_37 = (1, 35), (1, 36), (1, 37)


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


_EVERY = frozenset({V1_35, V1_36, V1_37})

_IN_PLACE: Mapping[tuple[AdviceKind, ChangedObject], frozenset[Minor]] = {
    (AdviceKind.SIZE, ChangedObject.JOB): _EVERY,
    (AdviceKind.SIZE, ChangedObject.GANG_JOB): frozenset({V1_37}),
    (AdviceKind.QUORUM, ChangedObject.GANG_JOB): frozenset({V1_37}),
    (AdviceKind.QUORUM, ChangedObject.POD_GROUP): frozenset({V1_37}),
    (AdviceKind.TOLERATE, ChangedObject.POD): _EVERY,
}


def change_method(
    change: AdviceKind, changed_object: ChangedObject, minor: Minor | None
) -> ChangeMethod:
    """Return how the change works on a cluster of this minor version. An unknown version (None) means re-creation."""
    known = _IN_PLACE.get((change, changed_object), frozenset())
    return ChangeMethod.IN_PLACE if minor in known else ChangeMethod.RECREATE
