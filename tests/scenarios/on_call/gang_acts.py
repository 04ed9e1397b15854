"""What is made and what happens in the scenarios of `gangs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon, silence_node
from tests.controlplane.objects import JobOptions, jobset, pod, podgroup, priority_class
from tests.scenarios.making import Objects, gang, one_job, taint
from tests.scenarios.scenario import PATIENCE, POOL, Stage, is_ready, patiently

BURN_IN = taint("example.com/burn-in")
TOLERATED: list[Json] = [{"key": "example.com/burn-in", "operator": "Exists"}]
Act = Callable[[Stage], None]


def bare(least: int, *pods: Mapping[str, Any], cpu: str = "1") -> Objects:
    """Return a PodGroup `run` with that quorum and bare pods with options of their own."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        made = [
            pod(f"m-{at}", ns, pod_group="run", node_selector=where, cpu=cpu, **options)
            for at, options in enumerate(pods)
        ]
        return [podgroup("run", ns, gang=least), *made]

    return make


def staged(group: str, least: int) -> Objects:
    """Return a JobSet whose driver waits for a download and whose workers wait for the driver."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        ring: JobOptions = {"pod_group": "ring", "node_selector": where}
        jobs: dict[str, JobOptions] = {
            "fetch": {"complete_after": "1s", "node_selector": where},
            "driver": {**ring, "depends_on": {"fetch": "Complete"}},
            "workers": {**ring, "pods": 2, "depends_on": {"driver": "Ready"}},
        }
        return [podgroup(group, ns, gang=least), jobset("run", ns, jobs=jobs)]

    return make


def in_ring(least: int, count: int) -> Objects:
    """Return a Job whose pods name a PodGroup that somebody made by hand."""
    made = one_job("run", count, pod_group="ring")
    return lambda ns, where: [podgroup("ring", ns, gang=least), *made(ns, where)]


def odd_one(value: int, **fields: Any) -> Objects:
    """Return a gang of three bare pods, the last of which has a priority class of its own."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        odd = f"{ns}-urgent"
        members = bare(3, {}, {}, {"priority_class": odd})(ns, where)
        return [priority_class(odd, value) | fields, *members]

    return make


def _make(stage: Stage, made: Objects) -> None:
    stage.make(made(stage.namespace, {POOL: stage.pool}))


def lower_quorum(name: str, least: int) -> Act:
    """Return the act of an admin who lowers a quorum."""

    def act(stage: Stage) -> None:
        policy = {"schedulingPolicy": {"gang": {"minCount": least}}}
        version = "scheduling.k8s.io/v1beta1"
        stage.client.patch(version, "PodGroup", name, {"spec": policy}, stage.namespace)

    return act


def _wait_placed(stage: Stage, count: int) -> None:
    patiently(
        lambda: sum("nodeName" in found["spec"] for found in stage.pods()) >= count,
        f"{count} placed pods in {stage.namespace}",
    )


def _has_succeeded(found: Json) -> bool:
    return bool(found["status"]["phase"] == "Succeeded")


def finish_one_lose_one(stage: Stage) -> None:
    """Let one member end well, then lose another, which its Job makes anew."""
    stage.wait_seen()
    first, second, _ = stage.pods()
    stage.script(first, complete_after="1s")
    name, ns = first["metadata"]["name"], stage.namespace
    stage.client.wait_for("v1", "Pod", name, ns, until=_has_succeeded, timeout=PATIENCE)
    stage.delete_pod(second)


def open_gate(stage: Stage) -> None:
    """Take the gate from the pod that has one."""
    stage.client.patch("v1", "Pod", "m-2", {"spec": {"schedulingGates": []}}, stage.namespace)


def tell_all(reason: str, text: str, component: str) -> Act:
    """Return the act of an autoscaler that says something of every pod."""

    def act(stage: Stage) -> None:
        for found in stage.pods():
            stage.tell(found, reason, text, component)

    return act


def take_seat(stage: Stage) -> None:
    """Lose the member on node 1 and give its room to a stranger before its replacement comes."""
    stage.wait_seen()
    node = stage.node("1")
    cordon(stage.client, node)
    stage.delete_pod(next(p for p in stage.pods() if is_ready(p) and p["spec"]["nodeName"] == node))
    stage.make([pod("stranger", stage.namespace, cpu="6", spec={"nodeName": node})])
    stage.uncordon()


def silence(node: str) -> Act:
    """Return the act after which the kubelet of that node says nothing any more."""

    def act(stage: Stage) -> None:
        stage.wait_seen()
        silence_node(stage.client, stage.node(node))

    return act


def _urgent(name: str, stage: Stage) -> None:
    """Make a gang of two that goes before everything of priority 0."""
    urgent = f"{stage.namespace}-urgent"
    stage.make([priority_class(urgent, 90)])
    _make(stage, one_job(name, 2, gang="all", cpu="5", priority_class=urgent))


def come_urgently(stage: Stage) -> None:
    """Make the gang when those run that must go for it."""
    stage.wait_running(2)
    _urgent("run", stage)


def be_pushed_out(stage: Stage) -> None:
    """Let something more urgent take both nodes."""
    stage.wait_seen()
    _urgent("urgent", stage)


def beside(other: int) -> Act:
    """Return the act after which `run` has node 0 and `other`, of so many pods, has node 1.

    Node 1 is tainted at first, and only `other` tolerates that: so each gets two places.
    """

    def act(stage: Stage) -> None:
        _wait_placed(stage, 2)
        _make(
            stage,
            one_job("other", other, indexed=False, cpu="4", tolerations=TOLERATED),
        )
        _wait_placed(stage, 4)
        stage.client.patch("v1", "Node", stage.node("1"), {"spec": {"taints": None}})

    return act


def pair(name: str, **worker: Any) -> Objects:
    """Return a JobSet of a driver that needs 6 cores and a worker that needs 4 GPUs."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        jobs: Any = {
            "driver": {"cpu": "6", "node_selector": where},
            "worker": {"gpu": 4, "node_selector": where, **worker},
        }
        return [jobset(name, ns, jobs=jobs)]

    return make


def cross(stage: Stage) -> None:
    """Let `other` have the GPUs while `run` has the cores, then open the GPU node for both."""
    _wait_placed(stage, 1)
    _make(stage, pair("other", tolerations=TOLERATED))
    _wait_placed(stage, 2)
    stage.client.patch("v1", "Node", stage.node("1"), {"spec": {"taints": None}})


def _is_in_force(found: Json) -> bool:
    return bool(found.get("status", {}).get("hard"))


def start_under_quota(stage: Stage) -> None:
    """Make the Job once the quota is in force."""
    name, ns = "memory-cap", stage.namespace
    stage.client.wait_for("v1", "ResourceQuota", name, ns, until=_is_in_force, timeout=PATIENCE)
    _make(stage, gang(2))


def give_default_limit(stage: Stage) -> None:
    """Let pods that say nothing of memory have a limit."""
    sizes = {"memory": "1Gi"}
    limits = [{"type": "Container", "default": sizes, "defaultRequest": sizes}]
    metadata = {"name": "sizes", "namespace": stage.namespace}
    kinds = {"apiVersion": "v1", "kind": "LimitRange"}
    stage.make([{**kinds, "metadata": metadata, "spec": {"limits": limits}}])
