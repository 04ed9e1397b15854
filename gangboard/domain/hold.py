"""Holds, our custom resource with which a cluster reverts every resume of one child Job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.objects import Meta

HOLD_GROUP = "gangboard.dev"
HOLD_VERSION = "v1alpha1"
HOLDS = f"holds.{HOLD_GROUP}"
"""Name of the resource in kubectl and RBAC."""
HELD_BY = "gangboard.dev/held-by"
"""Annotation with the Hold's name, which the policy adds to a Job whose resume it reverted."""
PAUSED_PARALLELISM = "gangboard.dev/paused-parallelism"
"""Annotation with the former parallelism of a Job that gangboard paused by setting it to 0."""
EXCLUSION = "gangboard.dev/exclusion"
"""Annotation with the node requirement that a relocation added to the template of a Job, as JSON."""
HOLD_LEVER = "hold"
"""Key of the lever that creates Holds."""
EXCLUSION_LEVER = "exclusion"
"""Key of the lever that relocates a Job without an owner, and of the proof that templates can change."""
HOLD_EXCLUSION_LEVER = "hold-exclusion"
"""Key of the lever that relocates a Job under a Hold of its own."""
HOLD_CORDON_LEVER = "hold-cordon"
"""Key of the lever that relocates a Job under a Hold while a node is cordoned, and of its proof."""
CORDONED_BY = "gangboard.dev/cordoned-by"
"""Annotation of a node with the id of the action that cordoned it. Only that action ends the cordon."""
ACTION_ANNOTATION = "gangboard.dev/action"
"""Annotation with the id of the last action on the object. It resolves an action with an unknown outcome."""
SHORTEST_REASON, LONGEST_REASON = 3, 1024
"""Length of the reason of an action in characters, in the database and in a Hold."""
LONGEST_BY = 256
"""Length of a Hold's author in characters."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Hold in the cluster, created by gangboard or by hand."""

    meta: Meta
    job_name: str
    owner_uid: str
    """uid of the JobSet. A JobSet that is re-created with the same name is not held."""
    by: str = ""
    reason: str = ""
    until: datetime | None = None
    action: str = ""
    """Id of the action that created it (annotation). Empty if it was created by hand."""


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """A MutatingAdmissionPolicy or its binding, for the comparison with our manifest."""

    meta: Meta
    digest: str
    """Digest of the spec, which ignores defaults of the API server. Equal to that of an unchanged manifest."""
