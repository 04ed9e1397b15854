"""The kubelets of all nodes, and the garbage collector."""

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
"""Seconds until a deleted pod ends, unless its grace period is shorter."""


class Kubelet:
    """Starts bound pods, and removes pods that are being deleted."""

    def __init__(self, world: World) -> None:
        self._world = world

    def start(self, pod: Json) -> None:
        """Start the containers of a newly bound pod."""
        uid, key = pod["metadata"]["uid"], key_of(pod)
        self._world.clock.later(_CREATING_AFTER, lambda: self._enter(key, uid, "creating"))
        self._world.clock.later(_RUNNING_AFTER, lambda: self._enter(key, uid, "running"))

    def finish(self, pod: Json, state: str) -> None:
        """Let a pod end by itself: `succeeded`, `failed` or `evicted`."""
        self._enter(key_of(pod), pod["metadata"]["uid"], state)

    def delete_pod(self, pod: Json) -> None:
        """Delete a pod for a controller or a person, with a grace period if it has a node."""
        key, grace = key_of(pod), pod["spec"].get("terminationGracePeriodSeconds", 30)
        with self._world.store.lock:
            if self._world.store.find(PODS, key) is None:
                return
            if pod["spec"].get("nodeName") and grace:
                self._world.writer.mark_deleted(PODS, key, grace=grace)
            else:
                self._world.writer.remove(PODS, key)

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Remove a pod that is being deleted, after its grace period."""
        if resource != PODS or record.type == "DELETED":
            return
        meta = obj["metadata"]
        if "deletionTimestamp" in meta and meta["uid"] not in self._world.scripted:
            wait = min(meta.get("deletionGracePeriodSeconds") or 0, _ENDS_AFTER)
            uid, key = meta["uid"], record.key
            self._world.clock.later(wait, lambda: self._remove_terminated(key, uid))

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
        self._record_event(pod, state)

    def _record_event(self, pod: Json, state: str) -> None:
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

    def _remove_terminated(self, key: Key, uid: str) -> None:
        """Remove a pod at the end of its grace period. An unexpected removal counts as a failure of its Job."""
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
        """Write that its containers have ended, the last visible state of a pod."""

        def terminate(target: Json) -> Json:
            if target["status"].get("phase") in ("Pending", "Running"):
                target["status"] = pod_status("failed", target, self._world.timestamp())
            target["metadata"]["deletionGracePeriodSeconds"] = 0
            return target

        self._world.change(PODS, pod, terminate, "kubelet")

    def _count_failure(self, pod: Json) -> None:
        for reference in pod["metadata"].get("ownerReferences", []):
            job = self._world.find(JOBS, (pod["metadata"]["namespace"], reference["name"]))
            if job is None or job["metadata"]["uid"] != reference["uid"]:
                continue
            status = dict(job.get("status", {}))
            status["failed"] = status.get("failed", 0) + 1
            self._world.set_status(JOBS, job, status, "kube-controller-manager")


class Collector:
    """Garbage collector of owned objects whose owner was deleted, and of unused PodGroups."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        self._world = world
        self._kubelet = kubelet

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Collect garbage after a deletion."""
        if record.type == "DELETED":
            for owned, key in self._world.owned_by(obj["metadata"]["uid"]):
                self._remove(owned, key)
            if resource == PODS:
                self._release_group(obj)
            elif resource == NAMESPACES:
                self._delete_namespace_objects(obj["metadata"]["name"])
        elif (
            resource.plural == "podgroups"
            and "deletionTimestamp" in obj["metadata"]
            and obj["metadata"]["uid"] not in self._world.scripted
        ):
            self._release(resource, record.key)

    def _delete_namespace_objects(self, namespace: str) -> None:
        """Remove all objects of a namespace."""
        with self._world.store.lock:
            for resource in self._world.store.resources():
                for key in list(self._world.store.table(resource).objects):
                    if key[0] == namespace:
                        self._world.writer.remove(resource, key)

    def _remove(self, resource: Resource, key: Key) -> None:
        world = self._world
        obj = world.find(resource, key)
        if obj is None:
            return
        meta = obj["metadata"]
        if resource == PODS:
            world.scripted.discard(meta["uid"])
            world.expected_removals.add(meta["uid"])
            self._kubelet.delete_pod(obj)
        elif meta.get("finalizers"):
            world.scripted.discard(meta["uid"])
            world.writer.mark_deleted(resource, key)
        else:
            world.writer.remove(resource, key)

    def _release_group(self, pod: Json) -> None:
        """Release the PodGroup of a removed pod if it is being deleted."""
        name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
        resource = self._world.resource("podgroups")
        if name and resource is not None:
            key = (pod["metadata"]["namespace"], name)
            group = self._world.find(resource, key)
            if group is not None and "deletionTimestamp" in group["metadata"]:
                self._release(resource, key)

    def _release(self, resource: Resource, key: Key) -> None:
        """Remove the finalizer of a PodGroup that is being deleted, if no live pod uses it."""
        live = [
            pod
            for pod in self._world.members(*key)
            if pod["status"].get("phase") not in ("Succeeded", "Failed")
        ]
        if not live:
            self._world.writer.remove(resource, key)
