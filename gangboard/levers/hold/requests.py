"""Requests that create and delete a Hold, and the conditions for created Holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any

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
from gangboard.plugins.lever import AdmissionRule, CreatedResource
from gangboard.policy.decision import DesiredAction
from gangboard.policy.registry_lookups import kind_above
from gangboard.policy.requests import json_text, object_path

_MAX_NAME_LENGTH = 63
_DIGEST_LENGTH = 8
_MANAGED_BY = "app.kubernetes.io/managed-by"
_OURS = f"{HOLD_GROUP}/"


def hold_name(job_name: str, action: str) -> str:
    """Return the name of the Hold that an action creates. The same arguments give the same name."""
    digest = hashlib.sha256(f"{job_name}\n{action}".encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{job_name[: _MAX_NAME_LENGTH - _DIGEST_LENGTH - 1].rstrip('-.')}-{digest}"


def create_hold(gang: Gang, job: Owner, desired: DesiredAction) -> Step:
    """Return the creation of a Hold on a child Job, owned by the Job's controller.

    Raises ValueError for a Job without a controller, because the policy would never match it.
    """
    controller, job_ref, version = _controller(job), job.meta.ref, _version(gang)
    name = hold_name(job_ref.name, desired.action)
    spec = {
        "jobName": job_ref.name,
        "ownerUID": controller.uid,
        # The CRD refuses longer texts.
        "by": desired.by[:LONGEST_BY],
        "reason": desired.reason[:LONGEST_REASON],
    }
    if desired.until is not None:
        spec["until"] = desired.until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    # The garbage collector deletes the Hold together with the Job's owner.
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
    """Return the deletion of this Hold. A new Hold with the same name stays."""
    ref = hold.meta.ref
    return Step(
        StepKind.DELETE_HOLD,
        f"Remove Hold {ref.name}",
        ref,
        "DELETE",
        object_path(HOLD_GROUP, _version(gang), ref.namespace, "holds", ref.name),
        json_text(delete_options(ref.uid)),
    )


def delete_created_hold(gang: Gang, job: Owner, desired: DesiredAction) -> Step:
    """Return the deletion of the Hold that the same action creates. Its uid is added once it exists."""
    namespace, name = job.meta.ref.namespace, hold_name(job.meta.ref.name, desired.action)
    return Step(
        StepKind.DELETE_HOLD,
        f"Remove Hold {name}",
        ObjectRef(HOLD_GROUP, "Hold", namespace, name, ""),
        "DELETE",
        object_path(HOLD_GROUP, _version(gang), namespace, "holds", name),
        json_text(delete_options("")),
    )


def delete_options(uid: str) -> dict[str, Any]:
    """Return the body of a deletion that applies to the object with this uid only."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}


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


# Permissions of the actor


def created_holds(parents: Sequence[tuple[str, str]]) -> CreatedResource:
    """Return the conditions for a Hold of gangboard, beyond those of the CRD's schema."""
    rules = (
        AdmissionRule(
            "request.operation == 'CREATE'",
            "gangboard makes and deletes Holds and never changes one",
        ),
        AdmissionRule(
            "object.spec.ownerUID != '' && object.spec.?by.orValue('') != ''"
            " && object.spec.?reason.orValue('') != ''",
            "a Hold of gangboard says in spec whose Job it is about, who wants it and why",
        ),
        AdmissionRule(
            "object.metadata.?ownerReferences.orValue([]).size() == 1"
            " && object.metadata.ownerReferences.all(o,"
            f" o.uid == object.spec.ownerUID && ({_kind_condition(parents)}))",
            "a Hold of gangboard belongs to the owner whose uid is in spec.ownerUID, and to nobody "
            "else",
        ),
        AdmissionRule(
            "object.metadata.?finalizers.orValue([]).size() == 0"
            f" && object.metadata.?labels.orValue({{}}).all(k, k == '{_MANAGED_BY}')"
            " && object.metadata.?annotations.orValue({})"
            f".all(k, k.startsWith('{_OURS}'))",
            f"a Hold of gangboard has no finalizer, no label besides {_MANAGED_BY} and no annotation "
            f"besides {_OURS}*",
        ),
    )
    return CreatedResource(HOLD_GROUP, "holds", "Hold", ("create", "delete", "get", "list"), rules)


def _kind_condition(parents: Iterable[tuple[str, str]]) -> str:
    """Return the condition that the owner reference `o` has one of these kinds, in any version."""
    conditions = (
        f"o.kind == '{kind}' && o.apiVersion.startsWith('{group}/')" for group, kind in parents
    )
    return " || ".join(conditions) or "false"
