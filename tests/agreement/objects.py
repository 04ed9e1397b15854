"""A case as Kubernetes objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.agreement.cases import PORT, Ask, Case, NodeSpec, PodSetSpec, SpreadSpec
from tests.controlplane.client import Json
from tests.controlplane.nodes import node
from tests.controlplane.objects import pod, podgroup

POOL = "agreement.test/pool"
RUN = "agreement.test/run"
"""Label of everything that one batch made."""
POD_SET = "agreement.test/pod-set"
RACK = "agreement.test/rack"
DISK = "agreement.test/disk"
TAINT = "agreement.test/dedicated"
_SET = "agreement.test/set"
_COUNTED = "agreement.test/counted"
_SPREAD_KEYS = {"rack": RACK, "disk": DISK, "host": "kubernetes.io/hostname"}


def node_objects(case: Case, run: str) -> list[Json]:
    """Return its nodes. Foreign pods do not select them."""
    return [_node(case, spec, run) for spec in case.nodes]


def _node(case: Case, spec: NodeSpec, run: str) -> Json:
    taint = {"key": TAINT, "value": "others", "effect": "NoSchedule"}
    labels = {POOL: case.name, RUN: run, DISK: spec.disk}
    return node(
        spec.name,
        cpu=f"{spec.cpu}m",
        memory=f"{spec.memory}Mi",
        gpus=spec.gpus,
        pods=spec.pods,
        labels=labels | ({RACK: spec.rack} if spec.rack else {}),
        taints=[taint] if spec.tainted else [],
        unschedulable=spec.cordoned,
    )


def running_pods(case: Case, namespace: str, run: str) -> list[Json]:
    """Return the pods that are on its nodes already, bound by name as they are made."""
    return [
        _pod(f"{spec.name}-r{index}", namespace, run, case, request, {"nodeName": spec.name})
        for spec in case.nodes
        for index, request in enumerate(spec.runs)
    ]


def members(case: Case, namespace: str, run: str) -> list[Json]:
    """Return the members of its gang, in the order in which they should be made."""
    named = {pod_set.name: pod_set for pod_set in case.pod_sets}
    numbers: Counter[str] = Counter()
    result = []
    for name in case.order:
        result.append(_member(case, namespace, run, named[name], numbers[name]))
        numbers[name] += 1
    return result


def _member(case: Case, namespace: str, run: str, pod_set: PodSetSpec, number: int) -> Json:
    spec: Json = {"nodeSelector": {POOL: case.name}}
    if pod_set.disk:
        spec["nodeSelector"][DISK] = pod_set.disk
    if pod_set.tolerates:
        spec["tolerations"] = [{"key": TAINT, "operator": "Exists"}]
    if pod_set.affinity:
        spec["affinity"] = _AFFINITIES[pod_set.affinity]
    spreads = [item for item in (pod_set.spread, pod_set.also) if item is not None]
    if spreads:
        spec["topologySpreadConstraints"] = [_spread(case, spread) for spread in spreads]
    spec["schedulingGroup"] = {"podGroupName": case.name}
    name = f"{case.name}-{pod_set.name}-{number}"
    created = _pod(name, namespace, run, case, pod_set.ask, spec)
    created["metadata"]["labels"][POD_SET] = pod_set.name
    return created


def group(case: Case, namespace: str, run: str) -> Json:
    """Return its PodGroup. The scheduler starts as soon as it exists."""
    created = podgroup(
        case.name, namespace, gang=case.quorum, topology=RACK if case.topology else None
    )
    created["metadata"]["labels"] = {RUN: run, POOL: case.name}
    return created


def pinned(case: Case, created: list[Json], placement: Mapping[str, str], name: str) -> list[Json]:
    """Return a copy of the gang under another name, each member with an assigned node.

    `placement` is pod → node. Members outside it are omitted, and the quorum is the number of
    members: the scheduler itself then shows whether the placement is valid.

    """
    result = []
    for obj in created:
        host = placement.get(obj["metadata"]["name"])
        if host is not None:
            metadata = {**obj["metadata"], "name": f"{obj['metadata']['name']}-{name}"}
            selector = {**obj["spec"]["nodeSelector"], "kubernetes.io/hostname": host}
            spec = {
                **obj["spec"],
                "nodeSelector": selector,
                "schedulingGroup": {"podGroupName": f"{case.name}-{name}"},
            }
            result.append({**obj, "metadata": metadata, "spec": spec})
    return result


def _pod(name: str, namespace: str, run: str, case: Case, request: Ask, spec: Json) -> Json:
    labels = {RUN: run, POOL: case.name}
    spec = dict(spec)
    if request.apart:
        labels[_SET] = f"{case.name}-{request.apart}"
    if request.counted:
        labels[_COUNTED] = case.name
    if request.avoided:
        avoided = [f"{case.name}-{item}" for item in sorted(request.avoided)]
        key = RACK if case.by_rack else "kubernetes.io/hostname"
        spec["affinity"] = {**spec.get("affinity", {}), **_apart(avoided, key)}
    resources = {"memory": f"{request.memory}Mi"} if request.memory else {}
    # Running pods need not be played: the scheduler counts a pod from the moment it is bound.
    created = pod(
        name,
        namespace,
        cpu=f"{request.cpu}m",
        gpu=request.gpus,
        resources=resources,
        labels=labels,
        hands_off=True,
        spec=spec,
    )
    if request.port:
        protocol = "UDP" if request.udp else "TCP"
        ports = [{"containerPort": PORT, "hostPort": PORT, "protocol": protocol}]
        created["spec"]["containers"][0]["ports"] = ports
    if request.init:
        first = {"requests": {"cpu": f"{request.init}m"}}
        created["spec"]["initContainers"] = [{"name": "first", "image": "x", "resources": first}]
    return created


def _spread(case: Case, spread: SpreadSpec) -> Json:
    return {
        "topologyKey": _SPREAD_KEYS[spread.key],
        "maxSkew": spread.skew,
        "minDomains": spread.least,
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor" if spread.honours_taints else "Ignore",
        "labelSelector": {"matchLabels": {_COUNTED: case.name}},
    }


def _on_nodes(key: str, operator: str, *values: str) -> Json:
    expression: Json = {"key": key, "operator": operator}
    if values:
        expression["values"] = list(values)
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


_AFFINITIES = {
    "no hdd": _on_nodes(DISK, "NotIn", "hdd"),
    "some rack": _on_nodes(RACK, "Exists"),
}


def _apart(values: Sequence[str], key: str) -> Json:
    terms = [
        {
            "labelSelector": {"matchLabels": {_SET: value}},
            "topologyKey": key,
        }
        for value in values
    ]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
