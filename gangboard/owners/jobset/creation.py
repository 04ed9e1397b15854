"""Jobs and groups that the JobSet controller and its webhooks create from the manifest of a JobSet.

Source: jobset_controller.go, jobset_webhook.go and pod_webhook.go of v0.12.0, and KEP-969 for `spec.scheduling`, which no
release has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import Any

from gangboard.decode.jobs import read_managed_by
from gangboard.domain.forecast import CreationContext, Manifest
from gangboard.owners.jobset.exclusive_placement import (
    EXCLUSIVE,
    JOB_KEY,
    NODE_SELECTOR,
    PREFIX,
    exclusive_topology,
    selected_node,
)
from gangboard.owners.jobset.job_templates import IN_ORDER, ReplicatedJob, replicated_jobs
from gangboard.owners.jobset.manifest_groups import JobSetGroups
from gangboard.owners.jobset.wire import child_name
from gangboard.plugins.child_manifests import (
    child,
    group_member,
    has_section,
    is_true,
    name_of,
    namespace_of,
    section,
    size,
    string_map,
    template_with,
    text,
)
from gangboard.plugins.exclusive_affinity import exclusive_affinity

_PRIORITY = f"{PREFIX}/priority"


def children(
    manifest: Manifest, context: CreationContext, own_managers: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the groups of a JobSet and the Jobs that it creates at once.

    A ReplicatedJob with `dependsOn` waits. With the startup order `InOrder`, all but the first wait until the JobSet
    is resumed. `own_managers` are the values of `spec.managedBy` for the JobSet controller.
    """
    spec = section(manifest, "spec")
    if read_managed_by(text(spec, "managedBy") or None, own_managers):
        return
    roles = replicated_jobs(spec)
    group_of = JobSetGroups(manifest, context, roles)
    yield from group_of.manifests()
    in_order = text(spec, "startupPolicy", "startupPolicyOrder") == IN_ORDER
    waits = in_order and not is_true(spec, "suspend") and not context.dependencies_met
    for role in roles:
        if role.has_dependencies and not context.dependencies_met:
            continue
        for index in range(role.replicas):
            yield _job(manifest, roles, role, index, group_of.name(role, index))
        if waits:
            return


def _job(
    manifest: Manifest, roles: list[ReplicatedJob], role: ReplicatedJob, index: int, group: str
) -> dict[str, Any]:
    """Return one Job (constructJob), with the constraints that the webhook adds to its pods."""
    spec, name = section(manifest, "spec"), child_name(name_of(manifest), role.name, index)
    marks = _marks(manifest, roles, role, index)
    topology = exclusive_topology(manifest, role)
    annotations = {**marks, **topology}
    pod_labels = dict(marks)
    template = section(role.spec, "template")
    pod: Manifest = section(template, "spec")
    fields: dict[str, Any] = {"restartPolicy": text(pod, "restartPolicy") or "OnFailure"}
    if not text(pod, "priorityClassName"):
        pod_labels[_PRIORITY] = "0"
    if NODE_SELECTOR in topology:
        fields |= selected_node(namespace_of(manifest), name, pod)
    elif topology:
        # The webhook gives it to the first pod. The others get that pod's domain as node selector once it has a node.
        fields["affinity"] = exclusive_affinity(
            pod, topology[EXCLUSIVE], JOB_KEY, marks[JOB_KEY], in_all_namespaces=True
        )
    return child(
        "batch/v1",
        "Job",
        name,
        {
            "completionMode": "Indexed",
            **role.spec,
            "suspend": is_true(spec, "suspend"),
            "template": template_with(
                template,
                labels=pod_labels,
                annotations=annotations,
                spec={**fields, **group_member(group)},
            ),
        },
        labels={**string_map(role.template, "metadata", "labels"), **marks},
        annotations={**string_map(role.template, "metadata", "annotations"), **annotations},
    )


def _marks(
    manifest: Manifest, roles: list[ReplicatedJob], role: ReplicatedJob, index: int
) -> dict[str, str]:
    """Return the labels of a Job and its pods, which are annotations as well (labelAndAnnotateObject)."""
    jobset, namespace = name_of(manifest), namespace_of(manifest)
    key = f"{namespace}/{child_name(jobset, role.name, index)}"
    values: dict[str, object] = {
        "jobset-name": jobset,
        "jobset-uid": text(manifest, "metadata", "uid"),
        "replicatedjob-name": role.name,
        "restart-attempt": 0,
        "replicatedjob-replicas": role.replicas,
        "global-replicas": sum(each.replicas for each in roles),
        "job-index": index,
        "job-key": hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest(),
        "job-global-index": role.first_index + index,
        "group-name": role.group,
        "group-replicas": sum(each.replicas for each in roles if each.group == role.group),
        "job-group-index": role.first_group_index + index,
    }
    if has_section(manifest, "spec", "coordinator"):
        values["coordinator"] = coordinator_address(manifest)
    return {f"{PREFIX}/{name}": str(value) for name, value in values.items()}


def coordinator_address(manifest: Manifest) -> str:
    """Return the address of the coordinator pod (CoordinatorEndpoint)."""
    spec = section(manifest, "spec")
    coordinator = section(spec, "coordinator")
    job = child_name(
        name_of(manifest),
        text(coordinator, "replicatedJob"),
        size(coordinator, "jobIndex", default=0),
    )
    subdomain = text(spec, "network", "subdomain") or name_of(manifest)
    return f"{job}-{size(coordinator, 'podIndex', default=0)}.{subdomain}"
