"""A Hold: the small object of ours by which a cluster turns every resume of one child Job back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.objects import Meta

HOLD_GROUP = "gangboard.dev"
HOLD_VERSION = "v1alpha1"
HOLDS = f"holds.{HOLD_GROUP}"
"""Their resource, as kubectl and RBAC name it."""
HELD_BY = "gangboard.dev/held-by"
"""Annotation that the policy puts on a Job whose resume it has turned back: the Hold's name."""
PAUSED_PARALLELISM = "gangboard.dev/paused-parallelism"
"""Annotation that keeps the parallelism of a Job which was paused by setting it to 0."""
HOLD_LEVER = "hold"
"""Key of the lever that makes Holds."""
ACTION_ANNOTATION = "gangboard.dev/action"
"""Annotation with the id of the action that changed the object last: how an unknown outcome is read."""
SHORTEST_REASON, LONGEST_REASON = 3, 1024
"""Characters of why somebody acts, in the record as in a Hold."""
LONGEST_BY = 256
"""Characters of who made a Hold."""


@dataclass(frozen=True, slots=True)
class Hold:
    """One Hold as it is in the cluster, made by gangboard or by hand."""

    meta: Meta
    job_name: str
    owner_uid: str
    """uid of the JobSet: one made anew under the same name is not held."""
    by: str = ""
    reason: str = ""
    until: datetime | None = None
    action: str = ""
    """Id of the action that made it (annotation), empty when it was made by hand."""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """A MutatingAdmissionPolicy or its binding, as far as it can be compared with ours."""

    meta: Meta
    digest: str
    """Of the spec without what API servers fill in: equal to that of our manifest when unchanged."""
