"""Manifests of the truth test: situations on a few nodes of their own, in several forms, and in queues.

`POOL` in a text is the name of the case. It is the value of a node label that all its pods select, so cases do not
disturb each other. Nothing says what should happen: the control plane decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

Json = dict[str, Any]
QUEUE = "queue"
"""LocalQueue of a case with a quota."""


@dataclass(frozen=True)
class NodeSpec:
    """A node of a case."""

    gpus: int = 4
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    unschedulable: bool = False
    busy: int = 0
    """GPUs that a pod on it has already."""


@dataclass(frozen=True)
class Case:
    """A manifest with its nodes."""

    name: str
    manifest: str
    nodes: tuple[NodeSpec, ...] = (NodeSpec(), NodeSpec())
    quota: Mapping[str, str] | None = None
    """Quota of the ClusterQueue of its namespace. None: no queue."""
    queue_spec: Json | None = None
    flavor_labels: Mapping[str, str] | None = None
    before: str = ""
    """Manifests that exist before the check."""


@dataclass(frozen=True)
class Situation:
    """Nodes, and pods that ask for some of them."""

    name: str
    nodes: tuple[NodeSpec, ...] = (NodeSpec(), NodeSpec())
    pods: int = 4
    gpus: int = 2
    spec: Json = field(default_factory=dict)
    """Further fields of the spec of each pod."""
    ports: tuple[Json, ...] = ()


_TAINT = {"key": "team", "value": "infra", "effect": "NoSchedule"}
_BUSY = (NodeSpec(busy=4), NodeSpec(busy=4))
_APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"case": "POOL"}},
                }
            ]
        }
    }
}
_SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"case": "POOL"}},
        }
    ]
}
_RACK = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    }
}
SITUATIONS = (
    Situation("fits"),
    Situation("fits-one-node", (NodeSpec(8),), pods=4),
    Situation("no-room", _BUSY),
    Situation("some-room", (NodeSpec(), NodeSpec(busy=4))),
    Situation("fragmented", (NodeSpec(busy=2), NodeSpec(busy=2)), pods=1, gpus=4),
    Situation("too-many", pods=6),
    Situation("too-large", pods=2, gpus=8),
    Situation("tainted", (NodeSpec(taints=(_TAINT,)), NodeSpec(taints=(_TAINT,)))),
    Situation(
        "tolerates",
        (NodeSpec(taints=(_TAINT,)), NodeSpec(taints=(_TAINT,))),
        spec={"tolerations": [{"key": "team", "operator": "Exists"}]},
    ),
    Situation("cordoned", (NodeSpec(unschedulable=True), NodeSpec(unschedulable=True))),
    Situation("no-label", spec={"nodeSelector": {"disk": "ssd"}}),
    Situation(
        "affinity", (NodeSpec(labels={"rack": "a"}), NodeSpec(labels={"rack": "b"})), spec=_RACK
    ),
    Situation("apart", pods=2, spec=_APART),
    Situation("too-few-apart", pods=3, gpus=1, spec=_APART),
    Situation("ports", pods=3, gpus=1, ports=({"containerPort": 80, "hostPort": 8080},)),
    Situation("spread", pods=4, spec=_SPREAD),
    Situation("gated", spec={"schedulingGates": [{"name": "example.com/wait"}]}),
)


# Forms


def _pod_spec(case: Situation) -> Json:
    selector = {"pool": "POOL", **case.spec.get("nodeSelector", {})}
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": str(case.gpus)}},
        **({"ports": list(case.ports)} if case.ports else {}),
    }
    return {**case.spec, "nodeSelector": selector, "containers": [container]}


def _template(case: Situation) -> Json:
    spec = {"restartPolicy": "Never", **_pod_spec(case)}
    return {"metadata": {"labels": {"case": "POOL"}}, "spec": spec}


def _job_spec(case: Situation, pods: int, *, indexed: bool) -> Json:
    mode = {"completionMode": "Indexed"} if indexed else {}
    return {"parallelism": pods, "completions": pods, **mode, "template": _template(case)}


def _object(api_version: str, kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def plain_job(case: Situation) -> list[Json]:
    """Return a Job whose pods are placed one by one, because it needs more completions than pods."""
    spec = _job_spec(case, case.pods, indexed=False)
    return [_object("batch/v1", "Job", "run", {**spec, "completions": case.pods * 2})]


def gang_job(case: Situation) -> list[Json]:
    """Return an indexed Job, which is a gang where the control plane makes gangs of Jobs."""
    return [_object("batch/v1", "Job", "run", _job_spec(case, case.pods, indexed=True))]


def jobset(case: Situation) -> list[Json]:
    """Return a JobSet with one Job for each half of the pods."""
    half = max(1, case.pods // 2)
    job = {"spec": _job_spec(case, half, indexed=True)}
    roles = [{"name": "workers", "replicas": case.pods // half, "template": job}]
    return [_object("jobset.x-k8s.io/v1alpha2", "JobSet", "run", {"replicatedJobs": roles})]


def bare_group(case: Situation) -> list[Json]:
    """Return a PodGroup with as many bare pods as its quorum."""
    group = _object(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        "run",
        {"schedulingPolicy": {"gang": {"minCount": case.pods}}},
    )
    spec = {**_pod_spec(case), "schedulingGroup": {"podGroupName": "run"}}
    pods = [_object("v1", "Pod", f"run-{index}", spec) for index in range(case.pods)]
    for pod in pods:
        pod["metadata"]["labels"] = {"case": "POOL"}
    return [group, *pods]


FORMS: Mapping[str, Callable[[Situation], list[Json]]] = {
    "job": plain_job,
    "gang": gang_job,
    "jobset": jobset,
    "bare": bare_group,
}


def _placed() -> Iterator[Case]:
    for form, make in FORMS.items():
        for situation in SITUATIONS:
            if form == "jobset" and situation.pods < 2:
                continue
            yield Case(f"{form}-{situation.name}", _dump(make(situation)), situation.nodes)


class _Dumper(yaml.SafeDumper):
    """Writes equal values twice, because manifests have no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # PyYAML's signature
        """Return true for every value."""
        return True


def _dump(objects: list[Json], labels: Mapping[str, str] | None = None) -> str:
    if labels:
        objects[0]["metadata"]["labels"] = dict(labels)
    text: str = yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False)
    return text


# Faults and quorums

_FITS = SITUATIONS[0]


def _others() -> Iterator[Case]:
    long = gang_job(_FITS)
    long[0]["metadata"]["name"] = "a" * 63
    yield Case("job-long-name", _dump(long))
    suspended = gang_job(_FITS)
    suspended[0]["spec"]["suspend"] = True
    yield Case("job-suspended", _dump(suspended))
    short = bare_group(_FITS)
    yield Case("bare-below-quorum", _dump(short[:-1]))
    yield Case("bare-without-group", _dump(short[1:]))
    more = bare_group(_FITS)
    extra = replace(_FITS, pods=6)
    yield Case("bare-above-quorum", _dump([more[0], *bare_group(extra)[1:]]))
    ordered = jobset(_FITS)
    first = {
        "name": "first",
        "replicas": 1,
        "template": {"spec": _job_spec(_FITS, 1, indexed=True)},
    }
    workers = ordered[0]["spec"]["replicatedJobs"][0]
    workers["replicas"] = 1
    workers["dependsOn"] = [{"name": "first", "status": "Ready"}]
    ordered[0]["spec"]["replicatedJobs"] = [first, workers]
    yield Case("jobset-depends-on", _dump(ordered))
    unknown = jobset(_FITS)
    unknown[0]["spec"]["replicatedJobs"][0]["dependsOn"] = [{"name": "nobody", "status": "Ready"}]
    yield Case("jobset-unknown-dependency", _dump(unknown))


# Queues

_ENOUGH, _SOME, _LITTLE = ({"nvidia.com/gpu": amount} for amount in ("100", "12", "4"))
_HOLDER = replace(_FITS, gpus=1, pods=8)
"""Holds 8 GPUs of a quota of 12, on nodes that have 8."""


def _queued() -> Iterator[Case]:
    labels = {"kueue.x-k8s.io/queue-name": QUEUE}
    nodes = (NodeSpec(8), NodeSpec(8))
    for form, make in (("gang", gang_job), ("jobset", jobset)):
        fits = _dump(make(_FITS), labels)
        holder = make(_HOLDER)
        holder[0]["metadata"]["name"] = "holder"
        first = _dump(holder, labels)
        yield Case(f"{form}-queue-fits", fits, quota=_ENOUGH)
        yield Case(f"{form}-queue-exceeds", fits, quota=_LITTLE)
        yield Case(f"{form}-queue-waits", fits, nodes, quota=_SOME, before=first)
        yield Case(f"{form}-queue-missing", _dump(make(_FITS), {"kueue.x-k8s.io/queue-name": "no"}))
        yield Case(f"{form}-queue-stopped", fits, quota=_ENOUGH, queue_spec={"stopPolicy": "Hold"})
        yield Case(f"{form}-queue-no-nodes", fits, _BUSY, quota=_ENOUGH)
        yield Case(f"{form}-queue-flavor", fits, quota=_ENOUGH, flavor_labels={"disk": "ssd-POOL"})


CASES = (*_placed(), *_others(), *_queued())
