"""Pods and groups that the LeaderWorkerSet controller and its webhooks create from a manifest.

Source: leaderworkerset_controller.go, pod_controller.go and pod_webhook.go of 0.9.0. The groups are those of KEP-666, which
no release makes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.plugins.child_manifests import (
    core_groups,
    group_member,
    group_version,
    has_section,
    name_of,
    namespace_of,
    number,
    pod_from,
    section,
    size,
    string_map,
    text,
)
from gangboard.plugins.exclusive_affinity import exclusive_affinity
from gangboard.plugins.manifest_faults import (
    INT32_MAX,
    dns_label_fault,
    negative_fault,
    pod_template_faults,
)

_PREFIX = "leaderworkerset.sigs.k8s.io"
_KEY, _EXCLUSIVE = f"{_PREFIX}/group-key", f"{_PREFIX}/exclusive-topology"


def children(manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
    """Yield the groups of a set and the pods of its replicas.

    The controller creates the pods through StatefulSets, which gangboard does not read. Workers that wait for their
    leader are only created if the context says so.
    """
    spec = section(manifest, "spec")
    template = section(spec, "leaderWorkerTemplate")
    pods, replicas = max(1, size(template, "size")), size(spec, "replicas")
    name = name_of(manifest)
    grouped = has_section(spec, "scheduling") and bool(group_version(context))
    if grouped:
        group = _group_spec(section(spec, "scheduling"), pods)
        groups = ((f"{name}-{index}", "replica") for index in range(replicas))
        yield from core_groups(manifest, context, {"replica": group}, groups)
    topology = string_map(manifest, "metadata", "annotations").get(_EXCLUSIVE, "")
    waits = text(spec, "startupPolicy") == "LeaderReady" or bool(topology)
    workers = pods if context.dependencies_met or not waits else 1
    worker = section(template, "workerTemplate")
    leader = section(template, "leaderTemplate") or worker
    for replica in range(replicas):
        group_name = f"{name}-{replica}" if grouped else ""
        for index in range(workers):
            yield _pod(manifest, leader if index == 0 else worker, replica, index, group_name)


def _pod(
    manifest: Manifest, template: Manifest, replica: int, index: int, group: str
) -> dict[str, Any]:
    name = name_of(manifest)
    leader = f"{name}-{replica}"
    pod_name = leader if index == 0 else f"{leader}-{index}"
    key = hashlib.sha1(
        f"{namespace_of(manifest)}/{leader}".encode(), usedforsecurity=False
    ).hexdigest()
    labels = {
        f"{_PREFIX}/name": name,
        f"{_PREFIX}/group-index": str(replica),
        f"{_PREFIX}/worker-index": str(index),
        _KEY: key,
        "apps.kubernetes.io/pod-index": str(replica if index == 0 else index),
        "statefulset.kubernetes.io/pod-name": pod_name,
    }
    pods = size(manifest, "spec", "leaderWorkerTemplate", "size")
    annotations = {f"{_PREFIX}/size": str(max(1, pods))}
    if index:
        annotations[f"{_PREFIX}/leader-name"] = leader
    topology = string_map(manifest, "metadata", "annotations").get(_EXCLUSIVE, "")
    fields = group_member(group)
    if topology:
        # The webhook gives it to the leader. The workers get its domain as node selector once it has a node.
        affinity = exclusive_affinity(section(template, "spec"), topology, _KEY, key)
        fields = {**fields, "affinity": affinity}
    return pod_from(template, pod_name, labels=labels, annotations=annotations, spec=fields)


def _group_spec(scheduling: Manifest, pods: int) -> dict[str, Any]:
    """Return the spec of the group of one replica, by default a gang of all its pods."""
    if has_section(scheduling, "schedulingPolicy", "basic"):
        policy: Manifest = {"basic": {}}
    else:
        policy = {"gang": {"minCount": pods, **section(scheduling, "schedulingPolicy", "gang")}}
    return {**scheduling, "schedulingPolicy": policy}


def faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what the webhook refuses (generalValidate in leaderworkerset_webhook.go), and faults of the templates."""
    spec = section(manifest, "spec")
    template, field = section(spec, "leaderWorkerTemplate"), "spec.leaderWorkerTemplate"
    yield from dns_label_fault(
        "metadata.name", name_of(manifest), "Its name", starts_with_letter=True
    )
    yield from negative_fault(spec, "replicas", "spec.replicas")
    pods = number(template, "size")
    if pods is not None and pods < 1:
        yield ManifestFault(f"{field}.size", f"size is {pods}, and it must be 1 or more.")
    total = size(spec, "replicas") * size(template, "size")
    if total > INT32_MAX:
        yield ManifestFault(
            "spec.replicas", f"replicas times size is {total:,}, and {INT32_MAX:,} are allowed."
        )
    for key in ("leaderTemplate", "workerTemplate"):
        if has_section(template, key):
            yield from pod_template_faults(
                section(template, key), f"{field}.{key}", restart_policies=("", "Always")
            )
