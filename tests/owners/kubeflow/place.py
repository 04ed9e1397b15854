"""The place of a job of one kind of kubeflow.org, and the events that can happen to any of these jobs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.kubeflow import (
    container_of,
    kubeflow_job,
    replicas,
    roles_field,
    version_of,
)
from tests.controlplane.queues import KUEUE, cluster_queue, in_queue, local_queue, resource_flavor
from tests.situations import POOL, PlaceOnBoard

NEVER_READY = "test.gangboard.dev/never-ready"


@dataclass
class Place(PlaceOnBoard):
    """A namespace in which one thing happens to jobs of one kind."""

    def run(self, name: str = "run", *, pool: str = "", **options: Any) -> None:
        """Make a job on the nodes of this place, or of a pool."""
        roles = options.pop("roles", None) or self.roles(**options.pop("sizes", {}))
        nodes = {POOL: pool or self.name}
        self.client.create(kubeflow_job(self.kind, name, self.name, roles, where=nodes, **options))

    @abstractmethod
    def roles(self, **sizes: Any) -> dict[str, Json]:
        """Return the roles of a small job of this kind."""

    def change(self, spec: Json, name: str = "run") -> None:
        """Merge into its spec."""
        self.client.patch(version_of(self.kind), self.kind, name, {"spec": spec}, self.name)

    def suspend(self, suspended: bool, name: str = "run") -> None:
        """Set its field, as a person does."""
        self.change({"runPolicy": {"suspend": suspended}}, name)

    def fail(self, pod: str, reason: str = "Error", message: str = "") -> None:
        """Let a pod fail, as its kubelet would write it."""
        status = {"phase": "Failed", "reason": reason, "message": message}
        self.client.patch_status("v1", "Pod", pod, status, self.name)

    def end(self, pod: str, code: int) -> None:
        """Let a pod end with this exit code, as its kubelet would write it."""
        ended = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
        container = {"name": container_of(self.kind), "image": "x", "imageID": "", "ready": False}
        status = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{**container, "restartCount": 0, "state": ended}],
        }
        self.client.patch_status("v1", "Pod", pod, status, self.name)

    def let_none_come_up(self, role: str, name: str = "run") -> None:
        """Let no pod of a role come up that its operator makes from now on."""
        unready = {"template": {"metadata": {"annotations": {NEVER_READY: "pending"}}}}
        self.change({roles_field(self.kind): {role: unready}}, name)

    def leave(self) -> None:
        self.client.delete(KUEUE, "ClusterQueue", f"{self.name}-queue")

    def queue(self, cpu: str) -> None:
        """Make a queue with so many cpu."""
        shared = f"{self.name}-queue"
        self.client.create_all(
            [
                resource_flavor(),
                cluster_queue(shared, {"cpu": cpu}),
                local_queue("queue", self.name, cluster_queue=shared),
            ]
        )


def whole(place: Place) -> None:
    """Twin: no node is large enough for its workers or their launcher."""
    place.run()
    large = {role: replicas(cpu="65") for role in place.roles()}
    place.run("twin", roles=large)


def suspended(place: Place) -> None:
    """After it ran. Twin: it is resumed."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_told("running", name)
        place.suspend(True, name)
    place.wait_told("suspended", "twin")
    place.suspend(False, "twin")


def queued(place: Place) -> None:
    """Another takes the quota. Twin: that one."""
    place.queue("3")
    place.run("twin", labels=in_queue("queue"))
    place.wait_told("running", "twin")
    place.run(labels=in_queue("queue"))
