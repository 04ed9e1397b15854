"""Common parts of StatefulSets and Deployments of apps/v1: replicas of one template, and the group of their
pods.

A gang of these kinds has one role without a name. Its template names a PodGroup that a person created,
because no controller of 1.36 or 1.37 creates one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simulator import job_status, manifests
from simulator.fleet_spec import Gang
from simulator.resources import Resource

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

MANAGER = "kube-controller-manager"


def labels_of(gang: Gang) -> dict[str, str]:
    """Return the labels of the pod selector."""
    return {"app": gang.name}


def make_owner(builder: Builder, gang: Gang, resource: Resource, spec: Json) -> Json:
    """Create the group of a gang and its StatefulSet or Deployment, and return the latter. `spec` has the
    fields of one kind."""
    (role,) = gang.roles
    builder.groups.by_hand(gang, role.template.group)
    meta = {"name": gang.name, "namespace": gang.namespace, "labels": labels_of(gang)}
    common = replicated(gang, labels_of(gang))
    return builder.create(
        resource, {"metadata": meta, "spec": {**common, **spec}}, builder.born(gang)
    )


def replicated(gang: Gang, labels: dict[str, str]) -> Json:
    """Return the spec that a StatefulSet, a Deployment and its ReplicaSet share."""
    (role,) = gang.roles
    template = role.template.manifest()
    template["metadata"] = {"labels": labels}
    return {"replicas": role.pods, "selector": {"matchLabels": labels}, "template": template}


def make_pods(
    builder: Builder, gang: Gang, controller: Json, meta: Sequence[Json], hosts: Sequence[Json]
) -> list[Json]:
    """Create pods in the states of the script, and update their group.

    `meta` has name and labels of each pod, and `hosts` its spec fields in addition to the template. `maker`
    controls them.
    """
    (role,) = gang.roles
    pods = []
    for index, (own, host) in enumerate(zip(meta, hosts, strict=True)):
        state = role.state(index)
        if state == "absent":
            continue
        pod = manifests.bare_pod(own["name"], gang.namespace, role.template)
        pod["metadata"] |= {**own, "ownerReferences": [manifests.owner_reference(controller)]}
        pod["spec"] |= host
        pods.append(builder.make_pod(gang, pod, state, ""))
    builder.groups.settle(gang, gang.namespace, role.template.group, pods)
    return pods


def counts(pods: Sequence[Json]) -> Json:
    """Return the status counts of both kinds for these pods, which are all of the newest template."""
    ready = sum(map(job_status.is_ready, pods))
    return {
        "availableReplicas": ready,
        "readyReplicas": ready,
        "replicas": len(pods),
        "updatedReplicas": len(pods),
    }
