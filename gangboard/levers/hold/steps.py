"""The requests about Holds: made, and taken away."""

from __future__ import annotations

import hashlib
from datetime import UTC

from gangboard.domain.action import Step, StepKind
from gangboard.domain.hold import (
    ACTION_ANNOTATION,
    HOLD_GROUP,
    HOLD_VERSION,
    HOLDS,
    LONGEST_BY,
    LONGEST_REASON,
    Hold,
)
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.policy.decision import (
    DesiredAction,
)
from gangboard.policy.registry_lookups import kind_above
from gangboard.policy.requests import (
    json_text,
    object_path,
)

_MAX_NAME = 63
_DIGITS = 8
_MANAGED_BY = "app.kubernetes.io/managed-by"


def hold_name(job_name: str, action: str) -> str:
    """Return the name of the Hold that an action makes: the same however often it is asked."""
    digest = hashlib.sha256(f"{job_name}\n{action}".encode()).hexdigest()[:_DIGITS]
    return f"{job_name[: _MAX_NAME - _DIGITS - 1].rstrip('-.')}-{digest}"


def create_hold(gang: Gang, job: Owner, desired: DesiredAction) -> Step:
    """Return the creation of a Hold on a child Job, owned by the Job's controller.

    Raises ValueError for a Job that no controller owns: the policy would never match it.
    """
    controller, job_ref, version = _controller(job), job.meta.ref, _version(gang)
    name = hold_name(job_ref.name, desired.action)
    spec = {
        "jobName": job_ref.name,
        "ownerUID": controller.uid,
        # A longer text would be refused.
        "by": desired.by[:LONGEST_BY],
        "reason": desired.reason[:LONGEST_REASON],
    }
    if desired.until is not None:
        spec["until"] = desired.until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    # The garbage collector sweeps the Hold with what made the Job.
    reference = {
        "apiVersion": _parent_version(gang, controller),
        "kind": controller.kind,
        "name": controller.name,
        "uid": controller.uid,
        "controller": False,
        "blockOwnerDeletion": False,
    }
    body = {
        "apiVersion": f"{HOLD_GROUP}/{version}",
        "kind": "Hold",
        "metadata": {
            "name": name,
            "namespace": job_ref.namespace,
            "labels": {_MANAGED_BY: "gangboard"},
            "annotations": {ACTION_ANNOTATION: desired.action},
            "ownerReferences": [reference],
        },
        "spec": spec,
    }
    return Step(
        StepKind.CREATE_HOLD,
        f"Create Hold {name}",
        ObjectRef(HOLD_GROUP, "Hold", job_ref.namespace, name, ""),
        "POST",
        object_path(HOLD_GROUP, version, job_ref.namespace, "holds"),
        json_text(body),
    )


def delete_hold(gang: Gang, hold: Hold) -> Step:
    """Return the removal of this very Hold; one made anew under its name stays."""
    ref = hold.meta.ref
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": ref.uid}}
    return Step(
        StepKind.DELETE_HOLD,
        f"Remove Hold {ref.name}",
        ref,
        "DELETE",
        object_path(HOLD_GROUP, _version(gang), ref.namespace, "holds", ref.name),
        json_text(options),
    )


def _version(gang: Gang) -> str:
    return gang.cluster.api_versions.get(HOLDS) or HOLD_VERSION


def _controller(job: Owner) -> Controller:
    if job.meta.controller is None:
        raise ValueError(f"{label(job.meta.ref)} is controlled by nothing")
    return job.meta.controller


def _parent_version(gang: Gang, controller: Controller) -> str:
    """Return the apiVersion of the object that controls a child Job."""
    kind = kind_above(controller)
    version = gang.cluster.api_versions.get(kind.resource.key, "") if kind is not None else ""
    if not version and controller.uid == gang.owner.meta.ref.uid:
        version = gang.owner.meta.api_version
    if not version and kind is not None:
        version = kind.resource.versions[0]
    return f"{controller.group}/{version}"
