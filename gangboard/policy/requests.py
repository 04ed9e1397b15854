"""Requests of an action: method, path and exact body.

Bodies are JSON without spaces and with sorted keys, so the same action always has the same text. Every change
of a foreign object is a JSON patch that first tests uid, generation and the replaced value. A generation counts
changes of the spec only, so status updates do not fail the test. After a failed test the server answers 422 and
leaves the object unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gangboard.domain.action import Step, StepKind
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.policy.registry_lookups import described_kind

_RESUME = {"spec": {"suspend": False}}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A change of one field."""

    path: tuple[str, ...]
    new: Any
    old: Any = None
    """The current value, which the patch tests, or None if the field may be missing."""
    map_missing: bool = False
    """The map around the field is missing, and the patch adds it."""


def patch_owner(
    gang: Gang,
    owner: Owner,
    verb: str,
    changes: Iterable[FieldChange],
    annotations: Mapping[str, str | None],
) -> Step:
    """Return a JSON patch of an owner or one of its Jobs. It removes annotations that are None."""
    ref = owner.meta.ref
    body = json_patch(owner.meta, changes, annotations)
    return Step(StepKind.PATCH, f"{verb} {label(ref)}", ref, "PATCH", path_of(gang, owner), body)


def suspend_job(gang: Gang, job: Owner, action: str, *, suspend: bool) -> Step:
    """Return the patch of `spec.suspend`, which API servers set in every Job.

    An already suspended Job also gets a patch, which changes only the annotation. The tests fail if its owner
    has resumed it in the meantime.
    """
    change = FieldChange(("spec", "suspend"), suspend, job.suspended)
    verb = "Suspend" if suspend else "Resume"
    return patch_owner(gang, job, verb, [change], {ACTION_ANNOTATION: action})


def resume_job(gang: Gang, job: Owner, action: str) -> tuple[Step, ...]:
    """Return the resume of a Job, after a dry run that must leave it running.

    API servers forget a removed Hold within 10 to 30 ms (observed).
    """
    return (
        prove(StepKind.PROVE_RELEASE, gang, job, "is let through"),
        suspend_job(gang, job, action, suspend=False),
    )


def prove(kind: StepKind, gang: Gang, job: Owner, expectation: str) -> Step:
    """Return the dry run of a resume of a Job. `kind` says which result is expected."""
    ref = job.meta.ref
    name = f"Prove by dry run that a resume of {label(ref)} {expectation}"
    return Step(kind, name, ref, "MERGE", path_of(gang, job), json_text(_RESUME), dry_run=True)


def wait_stopped(gang: Gang, job: Owner) -> Step:
    """Return the step that waits until a suspended Job has no pods left."""
    ref = job.meta.ref
    name = f"Wait until the pods of {label(ref)} are gone"
    return Step(StepKind.WAIT_STOPPED, name, ref, "GET", path_of(gang, job), dry_run=True)


def restart_job(gang: Gang, job: Owner, action: str) -> Step:
    """Return the resume at the end of a relocation."""
    ref = job.meta.ref
    body = restart_patch(ref, ("spec", "suspend"), False, action)
    return Step(StepKind.RESTART, f"Resume {label(ref)}", ref, "PATCH", path_of(gang, job), body)


def restart_patch(ref: ObjectRef, field: Iterable[str], value: bool, action: str) -> str:
    """Return the patch of the field that lets a Job run again.

    It tests the uid only. A controller may have set the field first, and a held Job has no stable generation. An
    earlier step of the action has set the annotation, so its map exists.
    """
    mark = f"/metadata/annotations{pointer((ACTION_ANNOTATION,))}"
    return json_text(
        [
            {"op": "test", "path": "/metadata/uid", "value": ref.uid},
            {"op": "add", "path": pointer(field), "value": value},
            {"op": "add", "path": mark, "value": action},
        ]
    )


def path_of(gang: Gang, owner: Owner) -> str:
    """Return the path of an owner in the served version."""
    ref = owner.meta.ref
    resource = described_kind(owner).resource
    version = gang.cluster.api_versions.get(resource.key) or owner.meta.api_version
    return object_path(ref.group, version, ref.namespace, resource.plural, ref.name)


def object_path(group: str, version: str, namespace: str, plural: str, name: str = "") -> str:
    """Return the path of an object, or of its resource if `name` is empty."""
    segments = ["apis", group, version, "namespaces", namespace, plural, *([name] if name else [])]
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def json_patch(
    meta: Meta, changes: Iterable[FieldChange], annotations: Mapping[str, str | None]
) -> str:
    """Return the operations: all tests, then the fields, then the annotations.

    If the object has no annotations, the patch also tests that (API servers take a missing value as `null`).
    Otherwise it would overwrite annotations that another client adds at the same moment.
    """
    tests = [
        {"op": "test", "path": "/metadata/uid", "value": meta.ref.uid},
        {"op": "test", "path": "/metadata/generation", "value": meta.generation},
    ]
    writes: list[dict[str, Any]] = []
    for change in changes:
        if change.old is not None:
            tests.append({"op": "test", "path": pointer(change.path), "value": change.old})
        if change.map_missing:
            parent = pointer(change.path[:-1])
            tests.append({"op": "test", "path": parent, "value": None})
            writes.append({"op": "add", "path": parent, "value": {}})
        writes.append({"op": "add", "path": pointer(change.path), "value": change.new})
    root = ("metadata", "annotations")
    if annotations and not meta.annotated:
        tests.append({"op": "test", "path": pointer(root), "value": None})
        added = {key: value for key, value in annotations.items() if value is not None}
        writes.append({"op": "add", "path": pointer(root), "value": added})
    elif annotations:
        for key, value in annotations.items():
            path = pointer((*root, key))
            writes.append(
                {"op": "remove", "path": path}
                if value is None
                else {"op": "add", "path": path, "value": value}
            )
    return json_text(tests + writes)


def json_text(value: Any) -> str:
    """Return the JSON text of a value. The same value is always the same text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def pointer(path: Iterable[str]) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in path)
