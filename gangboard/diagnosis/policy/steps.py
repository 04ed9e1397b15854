"""The requests of an action, each complete: method, path and the exact body.

Bodies are JSON without spaces, keys sorted, so that the same action is the same text. Every change
of an object that is not ours is a JSON patch whose tests come first: uid, generation, and the value
that is replaced. A generation counts changes of the spec only, so status updates never fail it. A
test that fails is a 422 and nothing is changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any
from urllib.parse import quote

from gangboard.diagnosis import registry
from gangboard.diagnosis.policy.decision import DesiredAction
from gangboard.domain.action import ActionContext, Step, StepKind
from gangboard.domain.hold import (
    ACTION_ANNOTATION,
    HOLD_GROUP,
    HOLD_VERSION,
    HOLDS,
    LONGEST_BY,
    LONGEST_REASON,
    Hold,
)
from gangboard.domain.objects import Controller, Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.reading.wording import label
from gangboard.domain.registry import OwnerKind

_JOBS, _WORKLOADS = "jobs.batch", "workloads.kueue.x-k8s.io"
_MAX_NAME = 63
_DIGITS = 8
_RESUME = {"spec": {"suspend": False}}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that gets another value."""

    path: tuple[str, ...]
    new: Any
    old: Any = None
    """The value it has, to be tested; None when it may as well not be there."""


def hold_name(job_name: str, action: str) -> str:
    """Return the name of the Hold that an action makes: the same however often it is asked."""
    digest = hashlib.sha256(f"{job_name}\n{action}".encode()).hexdigest()[:_DIGITS]
    return f"{job_name[: _MAX_NAME - _DIGITS - 1].rstrip('-.')}-{digest}"


def create_hold(context: ActionContext, job: Owner, desired: DesiredAction) -> Step:
    """Return the creation of a Hold on a child Job, owned by the Job's controller.

    Raises ValueError for a Job that no controller owns: the policy would never match it.
    """
    controller, job_ref = _controller(job), job.meta.ref
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
    body = {
        "apiVersion": f"{HOLD_GROUP}/{_hold_version(context)}",
        "kind": "Hold",
        "metadata": {
            "name": name,
            "namespace": job_ref.namespace,
            "labels": {"app.kubernetes.io/managed-by": "gangboard"},
            "annotations": {ACTION_ANNOTATION: desired.action},
            # The garbage collector sweeps the Hold with the JobSet.
            "ownerReferences": [
                {
                    "apiVersion": _parent_version(context, job),
                    "kind": controller.kind,
                    "name": controller.name,
                    "uid": controller.uid,
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": spec,
    }
    return Step(
        StepKind.CREATE_HOLD,
        f"Create Hold {name}",
        ObjectRef(HOLD_GROUP, "Hold", job_ref.namespace, name, ""),
        "POST",
        _path(HOLD_GROUP, _hold_version(context), job_ref.namespace, "holds"),
        _json(body),
    )


def prove_hold(context: ActionContext, job: Owner) -> Step:
    """Return the dry run that must come back suspended (observed: 30 to 55 ms after the Hold)."""
    return _proof(StepKind.PROVE_HOLD, context, job, "is turned back")


def prove_release(context: ActionContext, job: Owner) -> Step:
    """Return the dry run that must come back un-suspended (observed: 10 to 30 ms later)."""
    return _proof(StepKind.PROVE_RELEASE, context, job, "is let through")


def delete_hold(context: ActionContext, hold: Hold) -> Step:
    """Return the removal of this very Hold; one made anew under its name stays."""
    ref = hold.meta.ref
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": ref.uid}}
    return Step(
        StepKind.DELETE_HOLD,
        f"Remove Hold {ref.name}",
        ref,
        "DELETE",
        _path(HOLD_GROUP, _hold_version(context), ref.namespace, "holds", ref.name),
        _json(options),
    )


def patch_job(
    context: ActionContext,
    job: Owner,
    what: str,
    changes: Iterable[FieldChange],
    annotations: Mapping[str, str | None],
) -> Step:
    """Return a JSON patch of a Job; annotations that are None are removed."""
    body = _patch(job.meta, changes, annotations)
    return Step(
        StepKind.PATCH,
        f"{what} {label(job.meta.ref)}",
        job.meta.ref,
        "PATCH",
        _job_path(context, job),
        body,
    )


def suspend_job(context: ActionContext, job: Owner, action: str, *, suspend: bool) -> Step:
    """Return the patch of `spec.suspend`, which API servers fill in for every Job.

    A Job that is suspended already is patched too: nothing changes but the annotation, and the tests
    fail when its JobSet has resumed it in between.
    """
    change = FieldChange(("spec", "suspend"), suspend, job.suspended)
    what = "Suspend" if suspend else "Resume"
    return patch_job(context, job, what, [change], {ACTION_ANNOTATION: action})


def patch_owner(
    context: ActionContext,
    kind: OwnerKind,
    what: str,
    change: FieldChange,
    annotations: Mapping[str, str],
) -> Step:
    """Return a JSON patch of the topmost owner, which is of that kind."""
    owner, ref = context.owner, context.owner.meta.ref
    version = context.api_versions.get(kind.resource.key) or owner.meta.api_version
    path = _path(ref.group, version, ref.namespace, kind.resource.plural, ref.name)
    body = _patch(owner.meta, [change], annotations)
    return Step(StepKind.PATCH, f"{what} {label(ref)}", ref, "PATCH", path, body)


def patch_entry(context: ActionContext, entry: QueueEntry, *, active: bool) -> Step:
    """Return a JSON patch of `spec.active` of a Workload of Kueue.

    The value itself is not tested: `active` may be absent, which means true. The generation says it.
    """
    ref = entry.meta.ref
    version = context.api_versions.get(_WORKLOADS) or entry.meta.api_version
    return Step(
        StepKind.PATCH,
        f"{'Activate' if active else 'Deactivate'} {label(ref)} of Kueue",
        ref,
        "PATCH",
        _path(ref.group, version, ref.namespace, "workloads", ref.name),
        _patch(entry.meta, [FieldChange(("spec", "active"), active)], {}),
    )


def _proof(kind: StepKind, context: ActionContext, job: Owner, what: str) -> Step:
    ref = job.meta.ref
    name = f"Prove by dry run that a resume of {label(ref)} {what}"
    return Step(kind, name, ref, "MERGE", _job_path(context, job), _json(_RESUME), dry_run=True)


def _patch(
    meta: Meta, changes: Iterable[FieldChange], annotations: Mapping[str, str | None]
) -> str:
    """Return the operations: all tests, then the fields, then the annotations.

    Where there are no annotations yet, that is tested too (a missing value equals `null` for API
    servers): else annotations that somebody adds in the same moment would be wiped out.
    """
    tests = [
        {"op": "test", "path": "/metadata/uid", "value": meta.ref.uid},
        {"op": "test", "path": "/metadata/generation", "value": meta.generation},
    ]
    writes: list[dict[str, Any]] = []
    for change in changes:
        if change.old is not None:
            tests.append({"op": "test", "path": _pointer(change.path), "value": change.old})
        writes.append({"op": "add", "path": _pointer(change.path), "value": change.new})
    root = ("metadata", "annotations")
    if annotations and not meta.annotated:
        tests.append({"op": "test", "path": _pointer(root), "value": None})
        kept = {key: value for key, value in annotations.items() if value is not None}
        writes.append({"op": "add", "path": _pointer(root), "value": kept})
    elif annotations:
        for key, value in annotations.items():
            path = _pointer((*root, key))
            writes.append(
                {"op": "remove", "path": path}
                if value is None
                else {"op": "add", "path": path, "value": value}
            )
    return _json(tests + writes)


def _pointer(path: Iterable[str]) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in path)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _path(group: str, version: str, namespace: str, plural: str, name: str = "") -> str:
    parts = ["apis", group, version, "namespaces", namespace, plural, *([name] if name else [])]
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _job_path(context: ActionContext, job: Owner) -> str:
    ref = job.meta.ref
    version = context.api_versions.get(_JOBS) or job.meta.api_version
    return _path(ref.group, version, ref.namespace, "jobs", ref.name)


def _hold_version(context: ActionContext) -> str:
    return context.api_versions.get(HOLDS) or HOLD_VERSION


def _controller(job: Owner) -> Controller:
    if job.meta.controller is None:
        raise ValueError(f"{label(job.meta.ref)} is controlled by nothing")
    return job.meta.controller


def _parent_version(context: ActionContext, job: Owner) -> str:
    """Return the apiVersion of the object that controls a child Job."""
    controller = _controller(job)
    kind = registry.owner_kind(controller.group, controller.kind)
    version = context.api_versions.get(kind.resource.key, "") if kind else ""
    if not version and controller.uid == context.owner.meta.ref.uid:
        version = context.owner.meta.api_version
    if not version and kind is not None:
        version = kind.resource.versions[0]
    return f"{controller.group}/{version}"
