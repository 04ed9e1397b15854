"""Objects that the Job controller creates from the manifest of a Job, and what the API server refuses.

Source: job_controller.go, job_scheduling_manager.go and pkg/apis/batch/validation/validation.go of 1.36 and 1.37.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from gangboard.decode.jobs import read_managed_by
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.plugins.child_manifests import (
    controller_of,
    core_groups,
    group_member,
    group_version,
    has_section,
    is_true,
    name_of,
    number,
    pod_from,
    section,
    size,
    text,
)
from gangboard.plugins.manifest_faults import (
    LABEL_LENGTH,
    dns_label_fault,
    negative_fault,
    pod_template_faults,
    scheduling_policy_faults,
    subdomain_fault,
)

INDEXED = "Indexed"
_SHAPED_BY_JOB = "v1alpha2"
"""The version of 1.36, in which the shape of a Job decides about its group."""
_INDEX = "batch.kubernetes.io/job-completion-index"
_MAX_INDEXED_PARALLELISM = 100_000
"""Limit of the API server for an Indexed Job (maxParallelismForIndexedJob)."""
_NON_NEGATIVE = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds")


def children(
    manifest: Manifest, context: CreationContext, own_managers: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the Workload and PodGroup of a Job, and its pods unless it is suspended.

    `own_managers` are the values of `spec.managedBy` for the Job controller. It creates the groups of a suspended Job
    as well (observed on 1.36.3 and 1.37.0).
    """
    spec = section(manifest, "spec")
    if read_managed_by(text(spec, "managedBy") or None, own_managers):
        return
    group = _group_spec(manifest, context)
    template, name = f"{name_of(manifest)}-pgt-0", ""
    if group is not None:
        name = template
        yield from core_groups(manifest, context, {template: group}, [(name, template)])
    if not is_true(spec, "suspend"):
        yield from _pods(manifest, name)


def faults(manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
    """Yield what the API server refuses in a Job. It drops `spec.scheduling` unread if it serves no groups for it."""
    spec, name = section(manifest, "spec"), name_of(manifest)
    yield from _name_faults(name, spec)
    for field in _NON_NEGATIVE:
        yield from negative_fault(spec, field, f"spec.{field}")
    if text(spec, "completionMode") == INDEXED:
        yield from _indexed_faults(spec)
    if group_version(context) not in ("", _SHAPED_BY_JOB):
        yield from _gang_faults(spec)
    yield from pod_template_faults(
        section(spec, "template"), "spec.template", restart_policies=("Never", "OnFailure")
    )


def _width(spec: Manifest) -> int:
    """Return the number of pods that a new Job runs in parallel."""
    parallelism, completions = size(spec, "parallelism"), number(spec, "completions")
    return parallelism if completions is None else min(parallelism, max(0, completions))


def _pods(manifest: Manifest, group: str) -> Iterator[dict[str, Any]]:
    """Yield the pods of a new Job, in a PodGroup if it is named (managePods in job_controller.go)."""
    spec, name = section(manifest, "spec"), name_of(manifest)
    template = section(spec, "template")
    indexed = text(spec, "completionMode") == INDEXED
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    for index in range(_width(spec)):
        mark = {_INDEX: str(index)} if indexed else {}
        fields = {**({"hostname": f"{name}-{index}"} if indexed else {}), **group_member(group)}
        yield pod_from(
            template,
            generate_name=f"{name}-{index}-" if indexed else f"{name}-",
            labels={**labels, **mark},
            annotations=mark,
            spec=fields,
        )


def _group_spec(manifest: Manifest, context: CreationContext) -> Manifest | None:
    """Return the spec of the group that the Job controller creates for a Job, or None.

    1.36 makes a gang of each Indexed Job whose completions are its parallelism. From 1.37 on only a Job without an
    owner gets a group, and its `spec.scheduling` says which. Without that the group is a basic one, which has no
    effect on the placement. Both need a feature gate, which no API shows.
    """
    spec, version = section(manifest, "spec"), group_version(context)
    pod = section(spec, "template", "spec")
    if not version or has_section(pod, "schedulingGroup"):
        return None
    parallelism = size(spec, "parallelism")
    priority = text(pod, "priorityClassName")
    priority_class = {"priorityClassName": priority} if priority else {}
    if version == _SHAPED_BY_JOB:
        is_gang = (
            text(spec, "completionMode") == INDEXED
            and parallelism > 1
            and number(spec, "completions") == parallelism
        )
        policy = {"gang": {"minCount": parallelism}}
        return {"schedulingPolicy": policy} if is_gang else None
    if not has_section(spec, "scheduling") or any(controller_of(manifest)):
        return None
    scheduling = section(spec, "scheduling")
    policy = dict(section(scheduling, "schedulingPolicy")) or {"basic": {}}
    if has_section(policy, "gang"):
        policy = {"gang": {"minCount": parallelism, **section(policy, "gang")}}
    return {**scheduling, **priority_class, "schedulingPolicy": policy}


def _name_faults(name: str, spec: Manifest) -> Iterator[ManifestFault]:
    """Yield faults of its name, which is a label of its pods and begins their host names."""
    completions = number(spec, "completions") or 0
    if text(spec, "completionMode") == INDEXED and completions > 0:
        hostname = f"{name}-{completions - 1}"
        yield from dns_label_fault("metadata.name", hostname, "The host name of its last pod")
    else:
        yield from subdomain_fault("metadata.name", name, "Its name")
        if len(name) > LABEL_LENGTH:
            yield ManifestFault(
                "metadata.name",
                f"Its name has {len(name)} characters. It is a label of its pods, and {LABEL_LENGTH} are allowed.",
            )


def _indexed_faults(spec: Manifest) -> Iterator[ManifestFault]:
    # Without both fields the API server sets both to 1.
    if number(spec, "completions") is None and number(spec, "parallelism") is not None:
        yield ManifestFault("spec.completions", "An Indexed Job must say how many completions.")
    parallelism = size(spec, "parallelism")
    if parallelism > _MAX_INDEXED_PARALLELISM:
        yield ManifestFault(
            "spec.parallelism",
            f"parallelism is {parallelism:,}, and an Indexed Job may have {_MAX_INDEXED_PARALLELISM:,}.",
        )


def _gang_faults(spec: Manifest) -> Iterator[ManifestFault]:
    """Yield faults of `spec.scheduling` (validateGangMinCount and the declarative rules of 1.37)."""
    policy, field = (
        section(spec, "scheduling", "schedulingPolicy"),
        "spec.scheduling.schedulingPolicy",
    )
    yield from scheduling_policy_faults(policy, field)
    minimum, parallelism = number(policy, "gang", "minCount"), size(spec, "parallelism")
    if minimum is not None and minimum > parallelism:
        yield ManifestFault(
            f"{field}.gang.minCount",
            f"minCount is {minimum}, and it must not be above parallelism, which is {parallelism}.",
        )
