"""The kubelets of all nodes, and the garbage collector: how pods start, end and go."""

from __future__ import annotations

from typing import Any

from simulator.pod_status import pod_status
from simulator.resources import JOBS, NAMESPACES, PODS, Resource
from simulator.store import Key, Record
from simulator.world import World, key_of

Json = dict[str, Any]

_CREATING_AFTER = 0.3
_RUNNING_AFTER = 2.5
_ENDS_AFTER = 1.5
"""Seconds that a pod takes to end, if its grace period is not shorter."""


class Kubelet:
    """Starts pods that were bound and lets those go that were told to."""

    def __init__(self, world: World) -> None:
        self._world = world

    def start(self, pod: Json) -> None:
        """Take a pod that was just bound through its containers' start."""
        uid, key = pod["metadata"]["uid"], key_of(pod)
        self._world.clock.later(_CREATING_AFTER, lambda: self._enter(key, uid, "creating"))
        self._world.clock.later(_RUNNING_AFTER, lambda: self._enter(key, uid, "running"))

    def finish(self, pod: Json, state: str) -> None:
        """End a pod by itself: `succeeded`, `failed` or `evicted`."""
        self._enter(key_of(pod), pod["metadata"]["uid"], state)

    def end(self, pod: Json) -> None:
        """End a pod as its owner's controller or a person asks: with grace where it has a node."""
        key, grace = key_of(pod), pod["spec"].get("terminationGracePeriodSeconds", 30)
        with self._world.store.lock:
            if self._world.store.find(PODS, key) is None:
                return
            if pod["spec"].get("nodeName") and grace:
                self._world.writer.mark_deleted(PODS, key, grace=grace)
            else:
                self._world.writer.remove(PODS, key)

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Let a pod go that is being deleted."""
        if resource != PODS or record.type == "DELETED":
            return
        meta = obj["metadata"]
        if "deletionTimestamp" in meta and meta["uid"] not in self._world.scripted:
            wait = min(meta.get("deletionGracePeriodSeconds") or 0, _ENDS_AFTER)
            uid, key = meta["uid"], record.key
            self._world.clock.later(wait, lambda: self._let_go(key, uid))

    def _enter(self, key: Key, uid: str, state: str) -> None:
        def enter(pod: Json) -> Json:
            pod["status"] = pod_status(state, pod, self._world.timestamp())
            return pod

        with self._world.store.lock:
            pod = self._world.find(PODS, key)
            if pod is None or pod["metadata"]["uid"] != uid:
                return
            if "deletionTimestamp" in pod["metadata"]:
                return
            self._world.change(PODS, pod, enter, "kubelet")
        self._tell(pod, state)

    def _tell(self, pod: Json, state: str) -> None:
        image = pod["spec"]["containers"][0]["image"]
        record = self._world.recorder.record
        if state == "creating":
            record(
                pod,
                "Pulled",
                f'Container image "{image}" already present on machine',
                source="kubelet",
            )
        elif state == "running":
            record(pod, "Started", "Started container main", source="kubelet")
        elif state == "evicted":
            note = "The node was low on resource: ephemeral-storage."
            record(pod, "Evicted", note, source="kubelet", warning=True)

    def _let_go(self, key: Key, uid: str) -> None:
        """Remove a pod at the end of its grace; its Job counts a loss it did not ask for."""
        world = self._world
        with world.store.lock:
            pod = world.find(PODS, key)
            if pod is None or pod["metadata"]["uid"] != uid:
                return
            running = pod["status"].get("phase") == "Running"
            if running and uid not in world.expected_removals:
                self._count_failure(pod)
            world.expected_removals.discard(uid)
            self._end_containers(pod)
            world.writer.remove(PODS, key)

    def _end_containers(self, pod: Json) -> None:
        """Say that its containers have ended; the last anybody sees of a pod."""

        def end(found: Json) -> Json:
            if found["status"].get("phase") in ("Pending", "Running"):
                found["status"] = pod_status("failed", found, self._world.timestamp())
            found["metadata"]["deletionGracePeriodSeconds"] = 0
            return found

        self._world.change(PODS, pod, end, "kubelet")

    def _count_failure(self, pod: Json) -> None:
        for reference in pod["metadata"].get("ownerReferences", []):
            job = self._world.find(JOBS, (pod["metadata"]["namespace"], reference["name"]))
            if job is None or job["metadata"]["uid"] != reference["uid"]:
                continue
            status = dict(job.get("status", {}))
            status["failed"] = status.get("failed", 0) + 1
            self._world.set_status(JOBS, job, status, "kube-controller-manager")


class Collector:
    """Removes what belonged to something that is gone, and PodGroups that nobody uses."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        self._world = world
        self._kubelet = kubelet

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Follow a deletion."""
        if record.type == "DELETED":
            for owned, key in self._world.owned_by(obj["metadata"]["uid"]):
                self._remove(owned, key)
            if resource == PODS:
                self._release_group(obj)
            elif resource == NAMESPACES:
                self._empty(obj["metadata"]["name"])
        elif (
            resource.plural == "podgroups"
            and "deletionTimestamp" in obj["metadata"]
            and obj["metadata"]["uid"] not in self._world.scripted
        ):
            self._release(resource, record.key)

    def _empty(self, namespace: str) -> None:
        """Remove everything that was in a namespace."""
        with self._world.store.lock:
            for resource in self._world.store.resources():
                for key in list(self._world.store.table(resource).objects):
                    if key[0] == namespace:
                        self._world.writer.remove(resource, key)

    def _remove(self, resource: Resource, key: Key) -> None:
        world = self._world
        found = world.find(resource, key)
        if found is None:
            return
        meta = found["metadata"]
        if resource == PODS:
            world.scripted.discard(meta["uid"])
            world.expected_removals.add(meta["uid"])
            self._kubelet.end(found)
        elif meta.get("finalizers"):
            world.scripted.discard(meta["uid"])
            world.writer.mark_deleted(resource, key)
        else:
            world.writer.remove(resource, key)

    def _release_group(self, pod: Json) -> None:
        """Look again at the PodGroup of a pod that has gone."""
        name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
        resource = self._world.resource("podgroups")
        if name and resource is not None:
            key = (pod["metadata"]["namespace"], name)
            group = self._world.find(resource, key)
            if group is not None and "deletionTimestamp" in group["metadata"]:
                self._release(resource, key)

    def _release(self, resource: Resource, key: Key) -> None:
        """Take the finalizer off a PodGroup that is going and that no live pod uses."""
        live = [
            pod
            for pod in self._world.members(*key)
            if pod["status"].get("phase") not in ("Succeeded", "Failed")
        ]
        if not live:
            self._world.writer.remove(resource, key)
