"""Further manifests of the truth test: pods that fit in part, ports, affinity, and faults.

`POOL` in a manifest is the name of the case. It is the value of a node label that all its pods select, so cases do not
disturb each other. Nothing says what should happen: the control plane decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.check_manifests import TruthCase
from tests.controlplane.nodes import node
from tests.controlplane.objects import pod

Json = dict[str, Any]


@dataclass(frozen=True)
class NodeSpec:
    """A node of a case."""

    gpus: int = 4
    labels: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    busy: int = 0
    """GPUs that a pod on it has already."""


@dataclass(frozen=True)
class Case:
    """A manifest with its nodes."""

    name: str
    manifest: list[Json]
    nodes: tuple[NodeSpec, ...] = (NodeSpec(), NodeSpec())


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
    Situation("some-room", (NodeSpec(), NodeSpec(busy=4))),
    Situation("cordoned", (NodeSpec(unschedulable=True), NodeSpec(unschedulable=True))),
    Situation(
        "affinity", (NodeSpec(labels={"rack": "a"}), NodeSpec(labels={"rack": "b"})), spec=_RACK
    ),
    Situation("too-few-apart", pods=3, gpus=1, spec=_APART),
    Situation("ports", pods=3, gpus=1, ports=({"containerPort": 80, "hostPort": 8080},)),
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
    members = [_object("v1", "Pod", f"run-{index}", spec) for index in range(case.pods)]
    for member in members:
        member["metadata"]["labels"] = {"case": "POOL"}
    return [group, *members]


FORMS: Mapping[str, Callable[[Situation], list[Json]]] = {
    "job": plain_job,
    "gang": gang_job,
    "jobset": jobset,
    "bare": bare_group,
}


def _placed() -> Iterator[Case]:
    for form, make in FORMS.items():
        for situation in SITUATIONS:
            yield Case(f"{form}-{situation.name}", make(situation), situation.nodes)


# Faults and quorums

_FITS = Situation("fits")


def _others() -> Iterator[Case]:
    long = gang_job(_FITS)
    long[0]["metadata"]["name"] = "a" * 63
    yield Case("job-long-name", long)
    group, *pods = bare_group(_FITS)
    yield Case("bare-without-group", pods)
    yield Case("bare-far-above-quorum", [group, *bare_group(replace(_FITS, pods=6))[1:]])
    unknown = jobset(_FITS)
    unknown[0]["spec"]["replicatedJobs"][0]["dependsOn"] = [{"name": "nobody", "status": "Ready"}]
    yield Case("jobset-unknown-dependency", unknown)


def truth_case(case: Case) -> TruthCase:
    """Return a case with its nodes and namespace filled in."""
    name = f"checked-{case.name}"
    nodes = tuple(
        node(
            f"{name}-{index}",
            cpu="16",
            gpus=spec.gpus,
            labels={"pool": name, **spec.labels},
            unschedulable=spec.unschedulable,
        )
        for index, spec in enumerate(case.nodes)
    )
    busy = tuple(
        pod(f"busy-{index}", name, gpu=spec.busy, spec={"nodeName": f"{name}-{index}"})
        for index, spec in enumerate(case.nodes)
        if spec.busy
    )
    manifest = json.loads(json.dumps(case.manifest).replace("POOL", name))
    for item in manifest:
        item["metadata"]["namespace"] = name
    return TruthCase(name, nodes, tuple(manifest), busy)


CASES = tuple(map(truth_case, (*_placed(), *_others())))
