"""MPIJobs of a real MPI operator, and the expected verdicts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.controlplane.client import Json, wait
from tests.controlplane.kubeflow import replicas, version_of
from tests.owners.kubeflow.place import Place, queued, suspended, whole
from tests.situations import Situation


@dataclass
class Mpi(Place):
    """For MPIJobs: a launcher and two workers."""

    kind: ClassVar[str] = "MPIJob"

    def roles(self, **sizes: Any) -> dict[str, Json]:
        """`worker` is the CPU of the workers. The other arguments are about the launcher's pod."""
        cpu = sizes.pop("worker", "1")
        return {
            "Launcher": replicas(restart="OnFailure", **sizes),
            "Worker": replicas(2, cpu=cpu),
        }

    def suspend(self, suspended: bool, name: str = "run") -> None:
        """Set its field. Resume it only once its operator has suspended it, and is at rest.

        mpi-operator 0.8.0 waits longer before each next try, and counts each event of the MPIJob and its objects as a
        try until a sync succeeds. Changes that meet each other let it wait for minutes (seen twice on a busy machine).

        """
        if not suspended:
            wait(lambda: self._is_at_rest(name), every=1.0, what=f"{name} of {self.name} at rest")
        super().suspend(suspended, name)

    def _is_at_rest(self, name: str) -> bool:
        """Return whether MPIJob, launcher and pods show the suspend and did not change within a second."""
        before = self._state(name)
        time.sleep(1.0)
        return before is not None and before == self._state(name)

    def _state(self, name: str) -> list[str] | None:
        """Return the versions of a suspended MPIJob and its launcher. None while its suspend is under way."""
        job = self.client.get(version_of(self.kind), self.kind, name, self.name)
        launcher = self.client.get("batch/v1", "Job", f"{name}-launcher", self.name)
        pods = self.client.list("v1", "Pod", self.name)
        told = {item["type"]: item["status"] for item in job["status"].get("conditions", ())}
        if told.get("Suspended") != "True" or not launcher["spec"].get("suspend"):
            return None
        if any(pod["metadata"]["name"].startswith(f"{name}-") for pod in pods):
            return None
        return [entry["metadata"]["resourceVersion"] for entry in (job, launcher)]


def _launcher_crashes(place: Place) -> None:
    """Its launcher fails because workers have no node. Twin: they have, and it fails all the same."""
    place.run(sizes={"worker": "9", "never_ready": "crash-loop"})
    place.run("twin", sizes={"never_ready": "crash-loop"})


def _launcher_waits(place: Place) -> None:
    """Its launcher is made when its workers are ready. Twin: at once."""
    unready = {**place.roles(), "Worker": replicas(2, never_ready="unready")}
    place.run(roles=unready, launcherCreationPolicy="WaitForWorkersReady")
    place.run("twin", roles=unready)


def _evicted(place: Place) -> None:
    """A worker is evicted and not replaced. Twin: a user deleted the worker."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_told("running", name)
        place.fail(f"{name}-worker-1", "Evicted", "The node was low on resource: memory.")
    place.wait_told("lost-members", "twin")
    place.client.delete("v1", "Pod", "twin-worker-1", place.name)


def _invalid(place: Place) -> None:
    """The API server takes it, its operator does not. Twin: it has a launcher."""
    place.run(roles={"Worker": replicas(2)})
    place.run("twin")


def _launcher_ends(place: Place) -> None:
    """Its launcher fails and may not again. Twin: it is done."""
    place.run(sizes={"fail_after": "1s"}, policy={"backoffLimit": 0})
    place.run("twin", sizes={"complete_after": "1s"})


MPI: dict[str, Situation[Any]] = {
    "mpi-whole": Situation(
        whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="no-matching-node",
    ),
    "mpi-launcher-crashes": Situation(
        _launcher_crashes, "partly-placed", "degraded",
        "Role Worker: 2 pods request 9 CPUs each, and the only node that matches their node "
        "selector (test.gangboard.dev/pool=mpi-launcher-crashes) has 8; 1 of 3 pods of the MPIJob "
        "is placed.",
        {"desired": 3, "created": 3, "scheduled": 1, "ready": 0}, twin="crash-loop", cpu="8",
    ),
    "mpi-launcher-waits": Situation(
        _launcher_waits, "dependency-waiting", "waiting",
        "Job run-launcher is not created before both workers are ready: 0 are.",
        {"desired": 3, "created": 2, "ready": 0}, twin="starting",
    ),
    "mpi-evicted": Situation(
        _evicted, "lost-members", "degraded",
        "Role Worker: 1 of 2 members runs: run-worker-1 failed (Evicted), and it comes back only when its "
        "pod is deleted.",
        {"desired": 3, "ready": 2, "failed": 1}, twin="running",
    ),
    "mpi-invalid": Situation(
        _invalid, "objects-not-made", "blocked",
        "An object of MPIJob run cannot be created: spec.mpiReplicaSpecs[Launcher]: Required value: must have "
        "Launcher replica spec.",
        {"desired": 2, "created": 0}, twin="running",
    ),
    "mpi-launcher-ends": Situation(
        _launcher_ends, "failed", "failed", None, {"desired": 3}, twin="succeeded",
    ),
    "mpi-suspended": Situation(
        suspended, "suspended", "suspended", None,
        {"desired": 3, "created": 0, "ready": 0}, twin="running",
    ),
    "mpi-queued": Situation(
        queued, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 3 more cpu of flavor default must become free.",
        {"desired": 3, "created": 0}, twin="running",
    ),
}  # fmt: skip
