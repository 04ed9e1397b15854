"""Fake nodes: made with their status, silenced, broken and mended."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from tests.controlplane.client import PATIENCE, Client, Json, wait
from tests.controlplane.conditions import is_true
from tests.controlplane.processes import SILENT_LABEL

_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_LEASES, _LEASES_IN = "coordination.k8s.io/v1", "kube-node-lease"


def node(
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    gpus: int = 0,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Json] = (),
    unschedulable: bool = False,
    extra: Mapping[str, str] | None = None,
    withheld: Mapping[str, str] | None = None,
) -> Json:
    """Return a node with its status. `extra` are further resources, such as {"rdma/hca": "8"}.

    `withheld` is the allocatable amount of resources with a larger capacity.

    """
    room = {"cpu": cpu, "memory": memory, "pods": str(pods), **(extra or {})}
    if gpus:
        room["nvidia.com/gpu"] = str(gpus)
    spec: Json = {"taints": list(taints)}
    if unschedulable:  # the taint that the controller manager would give it, four nodes a second
        spec["unschedulable"] = True
        spec["taints"].append({"key": _CORDON_TAINT, "effect": "NoSchedule"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                # Otherwise the controller manager would add them, and every watch of nodes would report them.
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                **(labels or {}),
            },
        },
        "spec": spec,
        # The API server keeps a status that comes with a new node. Patched in later it could lose
        # against KWOK's own, and the test would run on nodes of another size.
        "status": {
            "phase": "Running",
            "capacity": dict(room),
            "allocatable": {**room, **(withheld or {})},
            "conditions": [_condition(kind, status, reason) for kind, status, reason in _HEALTHY],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": _NODE_INFO,
        },
    }


_NODE_INFO = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "fake",
    "kernelVersion": "fake",
    "kubeProxyVersion": "",
    "kubeletVersion": "fake",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "fake",
    "systemUUID": "",
}


def make_node(
    client: Client,
    name: str,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    gpus: int = 0,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Json] = (),
    unschedulable: bool = False,
) -> Json:
    """Create one node and wait until pods can be placed on it; return it."""
    created = node(
        name,
        cpu=cpu,
        memory=memory,
        gpus=gpus,
        labels=labels,
        taints=taints,
        unschedulable=unschedulable,
    )
    return make_nodes(client, [created])[0]


def with_annotations(created: Json) -> Json:
    """Return a node with the annotation that the ttl controller gives each node. It does not run here."""
    annotations = {"node.alpha.kubernetes.io/ttl": "0"}
    return {**created, "metadata": {**created["metadata"], "annotations": annotations}}


def make_nodes(client: Client, nodes: Iterable[Json], *, timeout: float = PATIENCE) -> list[Json]:
    """Create all of them, then wait until pods can be placed on the last; return them as they are."""
    created = [client.create(item) for item in nodes]
    _wait_leased(client, created, timeout)
    return created


def _wait_leased(client: Client, created: Iterable[Json], timeout: float) -> None:
    """Wait until a fake kubelet has each node. KWOK may ignore pods that are bound earlier."""
    wanted = {_name(item): item["metadata"]["uid"] for item in created}

    def leased() -> bool:
        result = {_name(lease): lease for lease in client.list(_LEASES, "Lease", _LEASES_IN)}
        return all(name in result and _owner(result[name]) == uid for name, uid in wanted.items())

    wait(leased, timeout=timeout, what=f"leases of nodes {sorted(wanted)}")


def _owner(lease: Json) -> str:
    owners = lease["metadata"].get("ownerReferences", [])
    return owners[0]["uid"] if owners else ""


def _has_settled(result: Json) -> bool:
    keys = {taint["key"] for taint in result["spec"].get("taints", [])}
    # A cordon becomes a taint as well, a moment later: the scheduler's text depends on it.
    return bool(result["spec"].get("unschedulable")) == (_CORDON_TAINT in keys)


def delete_nodes(client: Client, names: Iterable[str] | None = None) -> None:
    """Delete the named nodes, or all, and wait for their deletion.

    Their leases are deleted immediately. The garbage collector would delete them later, from the next
    nodes of the same names.

    """
    gone = list(names) if names is not None else [_name(n) for n in client.list("v1", "Node")]
    for name in gone:
        client.delete("v1", "Node", name)
    wait(
        lambda: not {_name(n) for n in client.list("v1", "Node")} & set(gone),
        what=f"nodes {gone} to be gone",
    )
    for name in gone:
        client.delete(_LEASES, "Lease", name, _LEASES_IN)


def silence_node(client: Client, name: str) -> None:
    """Stop its kubelet: the node and its pods no longer change.

    Some 50 s later the controller manager sets Ready=Unknown and taints it.

    """
    client.patch("v1", "Node", name, {"metadata": {"labels": {SILENT_LABEL: "true"}}})


def lose_node(client: Client, name: str) -> None:
    """Let its kubelet die, and say so of it and its pods at once, where the controller manager takes 50 s.

    A pod that is deleted there stays, given the annotation `linger`: KWOK may hear of the silence after the deletion.
    """
    silence_node(client, name)
    lost = _condition("Ready", "False", "NodeLost", "the kubelet is gone")
    client.patch_status("v1", "Node", name, {"conditions": [lost]})
    del lost["lastHeartbeatTime"]
    for pod in client.list("v1", "Pod"):
        nodes = pod["metadata"]
        if pod["spec"].get("nodeName") == name:
            status = {"conditions": [lost]}
            client.patch_status(
                "v1", "Pod", nodes["name"], status, nodes["namespace"], type="strategic"
            )


def wake_node(client: Client, name: str) -> None:
    """Let a silenced node report again, then its pods: all become ready that were ready before."""
    client.patch("v1", "Node", name, {"metadata": {"labels": {SILENT_LABEL: None}}})
    client.wait_for("v1", "Node", name, until=lambda result: is_true(result, "Ready"))


def cordon(client: Client, name: str, unschedulable: bool = True) -> None:
    """Cordon or uncordon a node and wait until the taint has followed."""
    client.patch("v1", "Node", name, {"spec": {"unschedulable": unschedulable or None}})
    client.wait_for("v1", "Node", name, until=_has_settled)


def _condition(kind: str, status: str, reason: str, message: str = "") -> Json:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _name(obj: Json) -> str:
    name: str = obj["metadata"]["name"]
    return name
