"""Objects of scenarios in few words: a gang, what holds its nodes, and how its pods look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tests.controlplane.client import Json
from tests.controlplane.objects import PodOptions, job, pod, pod_template, podgroup
from tests.scenarios.scenario import POOL, Stage

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

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        return [job(name, ns, parallelism=count, node_selector={**nodes, **selector}, **options)]

    return make


def quorum(count: int, least: int, *, version: str = "v1beta1", **options: Any) -> Objects:
    """Return a PodGroup `run` with that quorum and `count` bare pods."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        members = [
            pod(f"m-{index}", ns, pod_group="run", node_selector=nodes, **options)
            for index in range(count)
        ]
        return [podgroup("run", ns, version=version, gang=least), *members]

    return make


def bare(least: int, *pods: Mapping[str, Any], cpu: str = "1") -> Objects:
    """Return a PodGroup `run` with that quorum and bare pods, each with its own options."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        created = [
            pod(f"m-{index}", ns, pod_group="run", node_selector=nodes, cpu=cpu, **options)
            for index, options in enumerate(pods)
        ]
        return [podgroup("run", ns, gang=least), *created]

    return make


def holders(nodes: Sequence[int], **options: Any) -> Objects:
    """Return one pod on each of these nodes, called `holder-<node>`."""

    def make(ns: str, placements: Mapping[str, str]) -> list[Json]:
        spec = options.get("spec", {})
        return [
            pod(f"holder-{node}", ns, **{**options, "spec": {**spec, "nodeName": f"{ns}-{node}"}})
            for node in nodes
        ]

    return make


def daemons(**options: Any) -> Objects:
    """Return a DaemonSet `agent` on all nodes of the scenario."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        value = {"restart_policy": "Always", "node_selector": nodes, "labels": {SET: "agent"}}
        template = pod_template(cast("PodOptions", {**value, **options}))
        metadata = {"name": "agent", "namespace": ns}
        spec = {"selector": {"matchLabels": {SET: "agent"}}, "template": template}
        return [{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}]

    return make


def all_of(*created: Objects) -> Objects:
    """Return the objects of all of them, in order."""
    return lambda ns, nodes: [obj for make in created for obj in make(ns, nodes)]


# What happens


def once_running(count: int, created: Objects) -> Callable[[Stage], None]:
    """Return the act that makes these objects when so many pods of the scenario are ready."""

    def act(stage: Stage) -> None:
        stage.wait_running(count)
        stage.make(created(stage.namespace, {POOL: stage.pool}))

    return act


def lose_member(stage: Stage) -> None:
    """Delete a pod of Job `run` and cordon its node, where other pods run as well."""
    stage.lose_one(**{"batch.kubernetes.io/job-name": "run"})


# How pods look


def device(resource: str, count: int) -> Json:
    """Return a pod spec that asks for an extended resource: its limit must be the same."""
    amounts = {resource: str(count)}
    return {"containers": [container(resources={"requests": amounts, "limits": amounts})]}


def port(number: int, cpu: str = "", **extra: str) -> Json:
    """Return a pod spec that takes a port of its node; `more` has its protocol and hostIP."""
    ports = [{"containerPort": number, "hostPort": number, **extra}]
    return {"containers": [container(cpu=cpu, ports=ports)]}


def container(name: str = "main", cpu: str = "", **fields: Any) -> Json:
    """Return a container, with a request for CPU if one is given."""
    requests = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    return {"name": name, "image": "registry.example/train:1", **requests, **fields}


def volume(claim: str) -> Json:
    """Return a pod spec that mounts a PersistentVolumeClaim."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def resource_claim(name: str) -> Json:
    """Return a pod spec that uses a ResourceClaim."""
    containers = [container(resources={"claims": [{"name": "accelerator"}]})]
    return {
        "containers": containers,
        "resourceClaims": [{"name": "accelerator", "resourceClaimName": name}],
    }


HOST = "kubernetes.io/hostname"


def near(kind: str, name: str, key: str = HOST) -> Json:
    """Return the required `podAffinity` or `podAntiAffinity` to pods of that set in a domain of the key."""
    term = {"labelSelector": {"matchLabels": {SET: name}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def apart(name: str, key: str = HOST) -> dict[str, Any]:
    """Return options of pods of which a domain takes one only."""
    return {"labels": {SET: name}, "affinity": near("podAntiAffinity", name, key)}


def spread(*keys: str) -> dict[str, Any]:
    """Return options of pods that must be spread evenly over the values of each of these node labels."""
    chosen = {"labelSelector": {"matchLabels": {SET: "even"}}}
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **chosen}
    constraints = [{**rule, "topologyKey": key} for key in keys]
    return {"labels": {SET: "even"}, "spec": {"topologySpreadConstraints": constraints}}


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
