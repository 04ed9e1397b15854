"""Whether a change of a gang's own object is made in place or by making the object anew.

Every row was established by a dry run on a real control plane, and is again in each run of the tests
(tests/placement/test_change_methods.py). Other changes are made by re-creating the object, which always works.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gangboard.domain.advice import AdviceKind, ChangeMethod

Minor = tuple[int, int]

V1_35, V1_36, V1_37 = (1, 35), (1, 36), (1, 37)


class ChangedObject(StrEnum):
    """What is changed. One kind can differ by how its pods are scheduled."""

    JOB = "Job"
    """Scheduled pod by pod, or by a basic group."""
    GANG_JOB = "Job in a gang"
    """Its spec asks for a gang (1.37), and the group follows the spec."""
    UNASKED_GANG_JOB = "Job in a gang that nobody asked for"
    """1.36 makes one of every Indexed Job whose parallelism equals its completions."""
    OF_PARTS = "owner of parts"
    """The size of its parts cannot be changed (`KindTraits.role_size_field`)."""
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
    """Return how the change is made on a cluster of that minor, None when that is not known."""
    known = _IN_PLACE.get((change, changed_object), frozenset())
    return ChangeMethod.IN_PLACE if minor in known else ChangeMethod.RECREATE
