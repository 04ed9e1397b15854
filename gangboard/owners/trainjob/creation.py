"""The JobSet and the PodGroup that the Trainer creates from a TrainJob and its runtime.

Source: pkg/runtime/core/trainingruntime.go and the plugins jobset, mpi, coscheduling and volcano of Trainer 2.3.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from gangboard.decode.jobs import read_managed_by
from gangboard.domain.forecast import (
    CreationContext,
    CreationUnknownError,
    Manifest,
    ManifestFault,
)
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint
from gangboard.domain.text import label
from gangboard.owners.trainjob.runtime import (
    GANG,
    GROUP,
    LAUNCHER_IS_NODE,
    NODES,
    PREPARING_STEPS,
    STEP,
    TRAINER_STEP,
    TRAINING_PART,
    USES_MPI,
    WireRuntimeRef,
    has_policy,
    named_runtime,
)
from gangboard.owners.trainjob.runtime_template import decode_template
from gangboard.plugins.child_manifests import (
    child,
    is_true,
    items,
    name_of,
    namespace_of,
    number,
    section,
    size,
    string_map,
    template_requests,
    template_with,
    text,
)
from gangboard.plugins.manifest_faults import dns_label_fault

_LAUNCHER = "launcher"


def children(
    manifest: Manifest, context: CreationContext, own_managers: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the JobSet of a TrainJob, after the PodGroup that its runtime asks for.

    Raises CreationUnknownError if the runtime's template is not stored. `own_managers` are the values of `spec.managedBy` for
    the Trainer.
    """
    spec = section(manifest, "spec")
    ref = _runtime_ref(manifest)
    if ref is None or read_managed_by(text(spec, "managedBy") or None, own_managers):
        return
    runtime = _find(ref, context)
    template = decode_template(runtime) if runtime is not None else None
    if runtime is None or template is None:
        raise CreationUnknownError(f"The template of {label(ref)} is not known here.")
    parts: list[Manifest] = [
        _part(manifest, runtime, part) for part in items(template, "spec", "replicatedJobs")
    ]
    parts = [_patched(part, items(spec, "runtimePatches")) for part in parts]
    marks = section(template, "metadata", "annotations")
    api = runtime.detail.get(GANG, "")
    if api in _POD_GROUPS:
        group, labels, annotations = _POD_GROUPS[api](name_of(manifest), parts, marks)
        yield group
        parts = [_marked(part, labels, annotations) for part in parts]
    jobset = {**section(template, "spec"), "replicatedJobs": parts}
    yield child(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        name_of(manifest),
        {**jobset, "suspend": is_true(spec, "suspend")},
        labels=string_map(template, "metadata", "labels"),
        annotations=string_map(template, "metadata", "annotations"),
    )


def faults(manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
    """Yield what the CRD or the webhook refuses in a TrainJob."""
    # trainjob_types.go: the name must be a DNS label that begins with a letter.
    yield from dns_label_fault(
        "metadata.name", name_of(manifest), "Its name", starts_with_letter=True
    )
    ref = _runtime_ref(manifest)
    if ref is None:
        yield ManifestFault("spec.runtimeRef.name", "It names no runtime.")
        return
    key = f"{ref.kind.lower()}s.{GROUP}"
    if key in context.api_versions and _find(ref, context) is None:
        yield ManifestFault("spec.runtimeRef", f"There is no {label(ref)}.")


def _runtime_ref(manifest: Manifest) -> ObjectRef | None:
    ref = section(manifest, "spec", "runtimeRef")
    wire = WireRuntimeRef(
        name=text(ref, "name"),
        api_group=text(ref, "apiGroup") or None,
        kind=text(ref, "kind") or None,
    )
    return next(iter(named_runtime(namespace_of(manifest), wire)), None)


def _find(ref: ObjectRef, context: CreationContext) -> Blueprint | None:
    return next(
        (item for item in context.blueprints if replace(item.meta.ref, uid="") == ref), None
    )


def _part(manifest: Manifest, runtime: Blueprint, part: Manifest) -> dict[str, Any]:
    """Return a ReplicatedJob with the number and the resources of its nodes (newRuntimeInfo)."""
    name = text(part, "name")
    step = string_map(part, "template", "metadata", "labels").get(STEP, "")
    job = section(part, "template", "spec")
    trainer = section(manifest, "spec", "trainer")
    nodes = number(trainer, "numNodes")
    counted = step == TRAINER_STEP and has_policy(runtime)
    pods = size(job, "parallelism")
    if counted:
        pods = int(runtime.detail.get(NODES, "1"))
    if nodes is not None:
        if USES_MPI in runtime.detail:
            if name == TRAINING_PART:
                pods = max(nodes - 1, 1) if LAUNCHER_IS_NODE in runtime.detail else nodes
        elif step == TRAINER_STEP:
            pods = nodes
    template = section(job, "template")
    if counted or (LAUNCHER_IS_NODE in runtime.detail and name == TRAINING_PART):
        template = _with_resources(template, section(trainer, "resourcesPerNode"))
    job = {**job, "parallelism": pods, "completions": pods, "template": template}
    single = {"replicas": 1} if step in (TRAINER_STEP, *PREPARING_STEPS) else {}
    return {**part, **single, "template": {**section(part, "template"), "spec": job}}


def _with_resources(template: Manifest, resources: Manifest) -> Manifest:
    """Return the template with these requests and limits in its container of nodes."""
    if not resources:
        return template
    containers = [
        {**container, "resources": _merged(section(container, "resources"), resources)}
        if text(container, "name") == TRAINING_PART
        else container
        for container in items(template, "spec", "containers")
    ]
    return template_with(template, spec={"containers": containers})


def _merged(base: Manifest, patch: Manifest) -> dict[str, Any]:
    """Return a map with the values of a patch, merged at each level. Lists are replaced."""
    merged = dict(base)
    for key, value in patch.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(section(old), section(value)) if both else value
    return merged


def _patched(part: Manifest, patches: Sequence[Manifest]) -> Manifest:
    """Return a ReplicatedJob with the changes of `spec.runtimePatches` (JobSetSpecPatch)."""
    for patch in patches:
        for entry in items(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            if text(entry, "name") != text(part, "name"):
                continue
            job = section(part, "template", "spec")
            pods = section(entry, "template", "spec", "template")
            # Containers of a patch have no resources.
            changes = {
                "metadata": section(pods, "metadata"),
                "spec": {
                    key: value
                    for key, value in section(pods, "spec").items()
                    if key not in ("containers", "initContainers", "volumes")
                },
            }
            job = {**job, "template": _merged(section(job, "template"), changes)}
            part = {**part, "template": {**section(part, "template"), "spec": job}}
    return part


# PodGroups of other schedulers


def _members(parts: Sequence[Manifest]) -> tuple[int, dict[str, str]]:
    """Return the number of pods of all parts and the sum of their requests."""
    total: dict[str, Decimal] = {}
    members = 0
    for part in parts:
        pods = size(part, "template", "spec", "parallelism")
        members += pods
        for resource, amount in template_requests(section(part, "template", "spec", "template")):
            total[resource] = total.get(resource, Decimal(0)) + amount * pods
    return members, {resource: str(amount) for resource, amount in total.items()}


_MarkedGroup = tuple[dict[str, Any], dict[str, str], dict[str, str]]
"""A PodGroup, and the labels and annotations of its pods."""


def _coscheduling_group(name: str, parts: Sequence[Manifest], _marks: Manifest) -> _MarkedGroup:
    members, resources = _members(parts)
    spec = {"minMember": members, "minResources": resources}
    group = child("scheduling.x-k8s.io/v1alpha1", "PodGroup", name, spec)
    return group, {"scheduling.x-k8s.io/pod-group": name}, {}


def _volcano_group(name: str, parts: Sequence[Manifest], marks: Manifest) -> _MarkedGroup:
    members, resources = _members(parts)
    spec: dict[str, Any] = {"minMember": members, "minResources": resources}
    queue = text(marks, "scheduling.volcano.sh/queue-name")
    group = child(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        name,
        {**spec, **({"queue": queue} if queue else {})},
    )
    return group, {}, {"scheduling.k8s.io/group-name": name}


_POD_GROUPS = {"coscheduling": _coscheduling_group, "Volcano": _volcano_group}


def _marked(part: Manifest, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Manifest:
    job = section(part, "template", "spec")
    pods = template_with(section(job, "template"), labels=labels, annotations=annotations)
    return {**part, "template": {**section(part, "template"), "spec": {**job, "template": pods}}}
