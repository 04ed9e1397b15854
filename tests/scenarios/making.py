"""Objects of scenarios in few words: a gang, what holds its nodes, and how its pods look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tests.controlplane.client import Json
from tests.controlplane.objects import PodOptions, job, pod, pod_template, podgroup

Objects = Callable[[str, Mapping[str, str]], list[Json]]
"""(namespace, node selector of its own nodes) → objects."""
SET = "test.gangboard.dev/set"


def gang(count: int, **options: Any) -> Objects:
    """Return a Job `run` of so many pods that must be placed together."""
    return one_job("run", count, gang="all", **options)


def loose(count: int, **options: Any) -> Objects:
    """Return a Job `run` whose pods are placed one by one, on every minor."""
    return one_job("run", count, indexed=False, **options)


def one_job(name: str, count: int, **options: Any) -> Objects:
    """Return a Job by the words of `tests.controlplane.objects.job`."""
    selector = options.pop("node_selector", {})

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        return [job(name, ns, parallelism=count, node_selector={**where, **selector}, **options)]

    return make


def quorum(count: int, least: int, *, version: str = "v1beta1", **options: Any) -> Objects:
    """Return a PodGroup `run` with that quorum and `count` bare pods."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        members = [
            pod(f"m-{index}", ns, pod_group="run", node_selector=where, **options)
            for index in range(count)
        ]
        return [podgroup("run", ns, version=version, gang=least), *members]

    return make


def holders(nodes: Sequence[int], **options: Any) -> Objects:
    """Return one pod on each of these nodes, called `holder-<node>`."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        spec = options.get("spec", {})
        return [
            pod(f"holder-{at}", ns, **{**options, "spec": {**spec, "nodeName": f"{ns}-{at}"}})
            for at in nodes
        ]

    return make


def daemons(**options: Any) -> Objects:
    """Return a DaemonSet `agent` on all nodes of the scenario."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        given = {"restart_policy": "Always", "node_selector": where, "labels": {SET: "agent"}}
        template = pod_template(cast("PodOptions", {**given, **options}))
        metadata = {"name": "agent", "namespace": ns}
        spec = {"selector": {"matchLabels": {SET: "agent"}}, "template": template}
        return [{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}]

    return make


def all_of(*made: Objects) -> Objects:
    """Return the objects of all of them, in order."""
    return lambda ns, where: [obj for make in made for obj in make(ns, where)]


# How pods look


def device(resource: str, count: int) -> Json:
    """Return a pod spec that asks for an extended resource: its limit must be the same."""
    amounts = {resource: str(count)}
    return _container(resources={"requests": amounts, "limits": amounts})


def port(number: int) -> Json:
    """Return a pod spec that takes a port of its node."""
    return _container(ports=[{"containerPort": number, "hostPort": number}])


def _container(**fields: Any) -> Json:
    return {"containers": [{"name": "main", "image": "registry.example/train:1", **fields}]}


def volume(claim: str) -> Json:
    """Return a pod spec that mounts a PersistentVolumeClaim."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def resource_claim(name: str) -> Json:
    """Return a pod spec that uses a ResourceClaim."""
    spec = _container(resources={"claims": [{"name": "accelerator"}]})
    return {**spec, "resourceClaims": [{"name": "accelerator", "resourceClaimName": name}]}


def apart(name: str) -> dict[str, Any]:
    """Return options of pods of which a node takes one only."""
    term = {
        "labelSelector": {"matchLabels": {SET: name}},
        "topologyKey": "kubernetes.io/hostname",
    }
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"labels": {SET: name}, "affinity": rule}


def spread(key: str) -> dict[str, Any]:
    """Return options of pods that must be spread evenly over the values of a node label."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {SET: "even"}},
    }
    return {"labels": {SET: "even"}, "spec": {"topologySpreadConstraints": [constraint]}}


def on_type(key: str, value: str) -> Json:
    """Return the required affinity to nodes whose label has that value."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }


def taint(key: str, value: str = "") -> Json:
    """Return a taint that keeps new pods away."""
    return {"key": key, "value": value, "effect": "NoSchedule"}
