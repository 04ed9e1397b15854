"""The scheduler's loop: pods without a node, group by group, after every change."""

from __future__ import annotations

from typing import Any

from simulator.job_status import plain_condition, set_condition
from simulator.kubelet import Kubelet
from simulator.placement import Attempt, FreeResources
from simulator.pod_status import bound_status, pod_status
from simulator.resources import NODES, PODS, Resource
from simulator.store import Key, Record
from simulator.world import World, key_of

Json = dict[str, Any]

NAME = "default-scheduler"
_ROUND_DELAY = 0.2  # Seconds before a round, so that all pods of a gang exist by then.


class Scheduler:
    """Places pods, and writes why the others do not fit."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        self._world = world
        self._kubelet = kubelet
        self._waiting: dict[Key, str] = {}
        self._is_round_scheduled = False

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Queue a waiting pod, or a round after resources may have become free."""
        if resource == PODS:
            if record.type == "DELETED" or obj["spec"].get("nodeName"):
                self._waiting.pop(record.key, None)
                freed = record.type == "DELETED" or obj["status"].get("phase") in _FINISHED
                if freed and self._waiting:
                    self._schedule_round()
            elif record.key not in self._waiting:
                self._waiting[record.key] = obj["metadata"]["uid"]
                self._schedule_round()
        elif resource == NODES or (resource.plural == "podgroups" and record.type == "ADDED"):
            self._schedule_round()

    def adopt_waiting_pods(self) -> None:
        """Queue the pods that wait before the first change."""
        with self._world.store.lock:
            for key in self._world.store.table(PODS).ordered():
                pod = self._world.find(PODS, key)
                if pod is not None and not pod["spec"].get("nodeName"):
                    self._waiting[key] = pod["metadata"]["uid"]

    def retry_waiting_pods(self) -> None:
        """Try all waiting pods again, because a script has released objects."""
        self._schedule_round()

    def _schedule_round(self) -> None:
        if not self._is_round_scheduled:
            self._is_round_scheduled = True
            self._world.clock.later(_ROUND_DELAY, self._run_round)

    def _run_round(self) -> None:
        """Try all waiting pods, the oldest group first."""
        self._is_round_scheduled = False
        groups: dict[tuple[str, str], list[Json]] = {}
        for key in list(self._waiting):
            pod = self._world.find(PODS, key)
            if pod is None or not self._is_schedulable(pod):
                continue
            name = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
            groups.setdefault((key[0], name or f"\0{key[1]}"), []).append(pod)
        if not groups:
            return
        free_resources = self._world.free_resources()
        for (namespace, name), pods in groups.items():
            if name.startswith("\0"):
                self._settle(pods, free_resources.place_alone(pods))
            else:
                self._try_group(namespace, name, pods, free_resources)

    def _is_schedulable(self, pod: Json) -> bool:
        spec, meta = pod["spec"], pod["metadata"]
        return (
            spec.get("schedulerName") == NAME
            and not spec.get("nodeName")
            and not spec.get("schedulingGates")
            and "deletionTimestamp" not in meta
            and meta["uid"] not in self._world.scripted
        )

    def _try_group(
        self, namespace: str, name: str, pods: list[Json], free_resources: FreeResources
    ) -> None:
        resource = self._world.resource("podgroups")
        group = self._world.find(resource, (namespace, name)) if resource else None
        if resource is None or group is None or "deletionTimestamp" in group["metadata"]:
            return
        members = [
            pod
            for pod in self._world.members(namespace, name)
            if pod["status"].get("phase") not in _FINISHED
        ]
        quorum = group["spec"]["schedulingPolicy"].get("gang", {}).get("minCount", 1)
        gated = any(pod["spec"].get("schedulingGates") for pod in members)
        mixed = len({pod["spec"].get("schedulerName") for pod in members}) > 1
        if len(members) < quorum or gated or mixed:
            return  # The real scheduler is silent about such a group.
        placed = sum(bool(pod["spec"].get("nodeName")) for pod in members)
        topology = group["spec"].get("schedulingConstraints", {}).get("topology", [])
        attempt = free_resources.place_group(
            pods,
            quorum,
            version=self._world.version or "",
            topology=topology[0]["key"] if topology else "",
            placed=placed,
        )
        self._settle(pods, attempt)
        self._write_condition(resource, group, attempt)

    def _settle(self, pods: list[Json], attempt: Attempt) -> None:
        for pod in pods:
            name = pod["metadata"]["name"]
            if name in attempt.nodes:
                self._bind(pod, attempt.nodes[name])
            elif name in attempt.texts:
                self._refuse(pod, attempt.texts[name])

    def _bind(self, pod: Json, node: str) -> None:
        def bind(target: Json) -> Json:
            target["spec"]["nodeName"] = node
            target["status"] = bound_status(self._world.timestamp())
            return target

        self._waiting.pop(key_of(pod), None)
        self._world.change(PODS, pod, bind, NAME)
        meta = pod["metadata"]
        note = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
        self._world.recorder.record(pod, "Scheduled", note, source=NAME)
        self._kubelet.start(pod)

    def _refuse(self, pod: Json, text: str) -> None:
        for condition in pod["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition.get("message") == text:
                return

        def refuse(target: Json) -> Json:
            target["status"] = pod_status("unschedulable", target, self._world.timestamp(), text)
            return target

        self._world.change(PODS, pod, refuse, NAME)
        self._world.recorder.record(pod, "FailedScheduling", text, source=NAME, warning=True)

    def _write_condition(self, resource: Resource, group: Json, attempt: Attempt) -> None:
        """Write the group's condition. True is final."""
        kind = initial_condition(self._world.version)
        status = group.get("status") or {}
        conditions = list(status.get("conditions", []))
        if any(c["type"] == kind and c["status"] == "True" for c in conditions):
            return
        set_condition(
            conditions, group_condition(self._world.version, attempt, self._world.timestamp())
        )
        self._world.set_status(resource, group, {**status, "conditions": conditions}, NAME)


_FINISHED = ("Succeeded", "Failed")


def initial_condition(version: str | None) -> str:
    """Return the type of the PodGroup condition in this version."""
    return "PodGroupScheduled" if version == "v1alpha2" else "PodGroupInitiallyScheduled"


def group_condition(version: str | None, attempt: Attempt, now: str) -> Json:
    """Return the PodGroup condition after an attempt."""
    kind = initial_condition(version)
    if attempt.group_text:
        return plain_condition(kind, "False", "Unschedulable", attempt.group_text, now)
    return plain_condition(kind, "True", "Scheduled", "", now)
