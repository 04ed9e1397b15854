"""PodCliqueSets as Grove v0.1.0-alpha.12-rc1 leaves them (read in its source): PodCliques, a PodGang, their
pods.

A gang of this kind has a clique for each role, with `pods` pods and `quorum` as `minAvailable`. Its PodGang
is complete if no pod is absent. There are no core groups, as with the backend of the default scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import manifests
from simulator.fleet_spec import Gang, Role
from simulator.manifests import owner_reference
from simulator.resources import Resource

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "PodCliqueSet"
SETS = Resource("grove.io", ("v1alpha1",), "podcliquesets", KIND, custom=True)
CLIQUES = Resource("grove.io", ("v1alpha1",), "podcliques", "PodClique", custom=True)
SCALING_GROUPS = Resource(
    "grove.io", ("v1alpha1",), "podcliquescalinggroups", "PodCliqueScalingGroup", custom=True
)
PODGANGS = Resource("scheduler.grove.io", ("v1alpha1",), "podgangs", "PodGang", custom=True)
RESOURCES = (SETS, CLIQUES, SCALING_GROUPS, PODGANGS)
_MANAGER = "grove-operator"
_GATE = "grove.io/podgang-pending-creation"


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a PodCliqueSet, its PodCliques, PodGang and pods."""
    cliques = [{"name": role.name, "spec": _spec(role)} for role in gang.roles]
    template = {"cliqueStartupType": "CliqueStartupTypeAnyOrder", "cliques": cliques}
    spec = {"replicas": 1, "template": {**template, "terminationDelay": "4h0m0s"}}
    meta = {"name": gang.name, "namespace": gang.namespace}
    podcliqueset = builder.create(SETS, {"metadata": meta, "spec": spec}, builder.born(gang))
    by_role = [_clique(builder, gang, role, podcliqueset) for role in gang.roles]
    _podgang(builder, gang, podcliqueset, by_role)
    counts = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 0}
    builder.world.set_status(SETS, podcliqueset, counts, _MANAGER)
    return [pod for pods in by_role for pod in pods]


def _clique(builder: Builder, gang: Gang, role: Role, owner: Json) -> list[Json]:
    """Create a PodClique and its pods. Return the pods."""
    meta = _meta(gang, f"{gang.name}-0-{role.name}", owner)
    podclique = builder.create(CLIQUES, {"metadata": meta, "spec": _spec(role)}, builder.born(gang))
    pods = _pods(builder, gang, role, podclique)
    builder.world.set_status(CLIQUES, podclique, _counted(pods), _MANAGER)
    return pods


def _podgang(builder: Builder, gang: Gang, owner: Json, by_role: list[list[Json]]) -> None:
    """Create the PodGang, which lists its pods once all of them exist."""
    is_complete = all("absent" not in role.states for role in gang.roles)
    podgroups = [
        {
            "name": f"{gang.name}-0-{role.name}",
            "minReplicas": _minimum(role),
            "podReferences": [
                {"namespace": gang.namespace, "name": pod["metadata"]["name"]} for pod in pods
            ]
            if is_complete
            else [],
        }
        for role, pods in zip(gang.roles, by_role, strict=True)
    ]
    meta = _meta(gang, f"{gang.name}-0", owner)
    spec = {"podgroups": podgroups}
    podgang = builder.create(PODGANGS, {"metadata": meta, "spec": spec}, builder.born(gang))
    builder.world.set_status(PODGANGS, podgang, _initialized(podgang, is_complete), _MANAGER)


def _minimum(role: Role) -> int:
    return role.pods if role.quorum is None else role.quorum


def _spec(role: Role) -> Json:
    return {
        "roleName": role.name,
        "replicas": role.pods,
        "minAvailable": _minimum(role),
        "podSpec": role.template.manifest()["spec"],
    }


def _labels(gang: Gang) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": _MANAGER,
        "app.kubernetes.io/part-of": gang.name,
        "grove.io/podcliqueset-replica-index": "0",
        "grove.io/podgang": f"{gang.name}-0",
    }


def _meta(gang: Gang, name: str, owner: Json) -> Json:
    return {
        "name": name,
        "namespace": gang.namespace,
        "labels": _labels(gang),
        "ownerReferences": [owner_reference(owner)],
    }


def _pods(builder: Builder, gang: Gang, role: Role, clique: Json) -> list[Json]:
    name = clique["metadata"]["name"]
    pods: list[Json] = []
    for index in range(role.pods):
        state = role.state(index)
        if state == "absent":
            continue
        pod = manifests.bare_pod(f"{name}-{index}", gang.namespace, role.template)
        pod["metadata"]["labels"] = {
            **_labels(gang),
            "grove.io/podclique": name,
            "grove.io/podclique-pod-index": str(index),
        }
        pod["metadata"]["ownerReferences"] = [owner_reference(clique)]
        if state == "gated":
            pod["spec"]["schedulingGates"] = [{"name": _GATE}]
        node = role.nodes[index] if index < len(role.nodes) else ""
        pods.append(builder.make_pod(gang, pod, state, node))
    return pods


def _counted(pods: list[Json]) -> Json:
    """Return the status of a PodClique with these pods."""
    placed = [pod for pod in pods if pod["spec"].get("nodeName")]
    ready = sum(_is_ready(pod) for pod in placed)
    return {
        "replicas": len(pods),
        "scheduledReplicas": len(placed),
        "readyReplicas": ready,
        "scheduleGatedReplicas": sum("schedulingGates" in pod["spec"] for pod in pods),
        "updatedReplicas": len(pods),
    }


def _is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(
        (condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions
    )


def _initialized(podgang: Json, is_so: bool) -> Json:
    reason, message = (
        ("PodGangPodsCreated", "PodGang is fully initialized")
        if is_so
        else ("PodGangPodsCreationPending", "Not all constituent pods have been created yet")
    )
    condition = {
        "type": "Initialized",
        "status": str(is_so),
        "reason": reason,
        "message": message,
        "lastTransitionTime": podgang["metadata"]["creationTimestamp"],
    }
    return {"phase": "Pending", "conditions": [condition]}
