"""PyTorchJobs and MPIJobs of real operators (training-operator 1.9.3, mpi-operator 0.8.0), told by a whole gangboard.

All situations at once, each with nodes of its own and a near miss, which is told otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.kubeflow import kubeflow_job, replicas, version_of
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import quota
from tests.controlplane.queues import KUEUE, cluster_queue, in_queue, local_queue, resource_flavor
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

NEVER_READY = "test.gangboard.dev/never-ready"


@dataclass
class Place(PlaceOnBoard):
    """A namespace in which one thing happens to jobs of one kind."""

    def run(self, name: str = "run", *, pool: str = "", **options: Any) -> None:
        """Make a job on the nodes of this place, or of a pool."""
        roles = options.pop("roles", None) or self.roles(**options.pop("sizes", {}))
        where = {POOL: pool or self.name}
        self.client.create(kubeflow_job(self.kind, name, self.name, roles, where=where, **options))

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


@dataclass
class Torch(Place):
    """For PyTorchJobs: a master and two workers."""

    kind: ClassVar[str] = "PyTorchJob"

    def roles(self, **sizes: Any) -> dict[str, Json]:
        """`master` and `worker` are their cpu."""
        return {
            "Master": replicas(cpu=sizes.get("master", "1"), restart="OnFailure"),
            "Worker": replicas(2, cpu=sizes.get("worker", "1"), restart="OnFailure"),
        }


@dataclass
class Mpi(Place):
    """For MPIJobs: a launcher and two workers."""

    kind: ClassVar[str] = "MPIJob"

    def roles(self, **sizes: Any) -> dict[str, Json]:
        """`worker` is their cpu; the rest is said of the launcher's pod."""
        cpu = sizes.pop("worker", "1")
        return {
            "Launcher": replicas(restart="OnFailure", **sizes),
            "Worker": replicas(2, cpu=cpu),
        }


def _whole(place: Place) -> None:
    """Twin: no node is large enough for its workers, nor for what they wait for."""
    place.run()
    large = {role: replicas(cpu="65") for role in place.roles()}
    place.run("twin", roles=large)


def _suspended(place: Place) -> None:
    """After it ran. Twin: it is resumed."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_told("running", name)
        place.suspend(True, name)
    place.wait_told("suspended", "twin")
    place.suspend(False, "twin")


def _queued(place: Place) -> None:
    """Another takes the quota. Twin: that one."""
    place.queue("3")
    place.run("twin", labels=in_queue("queue"))
    place.wait_told("running", "twin")
    place.run(labels=in_queue("queue"))


# PyTorchJobs


def _workers_wait(place: Place) -> None:
    """Its master runs, and no worker does. Twin: nor does the master, and none of it is placed."""
    place.run(sizes={"worker": "9"})
    place.run("twin", sizes={"master": "9", "worker": "9"})


def _master_waits(place: Place) -> None:
    """Its workers run. Twin: so does its master."""
    place.run(sizes={"master": "9"})
    place.run("twin")


def _below_size(place: Place) -> None:
    """Elastic: three of four workers find room, two are enough. Twin: it needs all."""
    pool = f"{place.name}-twin"
    make_nodes(place.client, [node(pool, cpu="8", labels={POOL: pool})])
    for name, least, where in (("run", 2, ""), ("twin", 4, pool)):
        elastic = {"minReplicas": least, "maxReplicas": 4}
        roles = {"Worker": replicas(4, cpu="2.5")}
        place.run(name, pool=where, roles=roles, elasticPolicy=elastic)


def _restarting(place: Place) -> None:
    """Its master fails, and the next one does not come up. Twin: it may not be made anew."""
    place.run()
    once = {**place.roles(), "Master": replicas(restart="Never")}
    place.run("twin", roles=once)
    for name in ("run", "twin"):
        place.wait_told("running", name)
    # What its operator makes from now on is made like that.
    unready = {"template": {"metadata": {"annotations": {NEVER_READY: "pending"}}}}
    place.change({"pytorchReplicaSpecs": {"Master": unready}})
    for name in ("run", "twin"):
        place.fail(f"{name}-master-0")


def _ended(place: Place) -> None:
    """Its master is done; its workers stay. Twin: a worker fails for good."""
    master = replicas(complete_after="1s")
    place.run(roles={**place.roles(), "Master": master})
    place.run("twin", roles={**place.roles(), "Worker": replicas(2, fail_after="1s")})


def _refused(place: Place) -> None:
    """A quota has no room for its last pods. Twin: it has."""
    place.client.create_all([quota("few", place.name, pods="4")])
    place.run("twin")
    place.wait_told("running", "twin")
    place.run(roles={"Worker": replicas(3)})


def _no_gang(place: Place) -> None:
    """It asks for a gang that its operator makes nowhere. Twin: all find room."""
    gang = {"schedulingPolicy": {"minAvailable": 3}}
    place.run("twin", policy=gang)
    place.wait_told("running", "twin")
    place.run(policy=gang, sizes={"worker": "3"})


# MPIJobs


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
    """A worker is evicted, and stays away. Twin: somebody has deleted it."""
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


TORCH: dict[str, Situation[Any]] = {
    "torch-whole": Situation(
        _whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="no-matching-node",
    ),
    "torch-workers-wait": Situation(
        _workers_wait, "partly-placed", "degraded",
        "Role Worker: 2 pods ask for 9 CPUs each, and the only node that matches their node "
        "selector (test.gangboard.dev/pool=torch-workers-wait) has 8; 1 of 3 pods of the "
        "PyTorchJob holds a node.",
        {"desired": 3, "created": 3, "scheduled": 1, "ready": 1}, twin="no-matching-node", cpu="8",
    ),
    "torch-master-waits": Situation(
        _master_waits, "partly-placed", "degraded",
        "Role Master: 1 pod asks for 9 CPUs, and the only node that matches its node selector "
        "(test.gangboard.dev/pool=torch-master-waits) has 8; 2 of 3 pods of the PyTorchJob hold a "
        "node.",
        {"desired": 3, "created": 3, "scheduled": 2, "ready": 2}, twin="running", cpu="8",
    ),
    "torch-below-size": Situation(
        _below_size, "below-size", "degraded", None,
        {"desired": 4, "created": 4, "scheduled": 3, "ready": 3}, twin="partly-placed", cpu="8",
    ),
    "torch-restarting": Situation(
        _restarting, "restarting", "degraded", "Role Master: Restarting: 0 of 1 pods are ready.",
        {"desired": 3, "ready": 2}, twin="failed",
    ),
    "torch-ended": Situation(
        _ended, "succeeded", "succeeded", "The PyTorchJob succeeded. 2 pods are still there.",
        {"desired": 3, "ready": 2}, twin="failed",
    ),
    "torch-refused": Situation(
        _refused, "pod-creation-refused", "blocked",
        "1 of 3 pods exists. ResourceQuota “few” refuses the rest: pods 4 of 4 used.",
        {"desired": 3, "created": 1}, twin="running",
    ),
    "torch-no-gang": Situation(
        _no_gang, "not-ganged", "degraded",
        "PyTorchJob run asks for a gang (schedulingPolicy), but default-scheduler places its pods "
        "one by one: 1 of 2.",
        {"desired": 3, "created": 3, "scheduled": 2}, twin="running", cpu="8",
    ),
    "torch-suspended": Situation(
        _suspended, "suspended", "suspended", "The PyTorchJob is suspended.",
        {"desired": 3, "created": 0, "ready": 0}, twin="running",
    ),
    "torch-queued": Situation(
        _queued, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 3 more cpu of flavor default must become free.",
        {"desired": 3, "created": 0}, twin="running",
    ),
}  # fmt: skip

MPI: dict[str, Situation[Any]] = {
    "mpi-whole": Situation(
        _whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="no-matching-node",
    ),
    "mpi-launcher-crashes": Situation(
        _launcher_crashes, "partly-placed", "degraded",
        "Role Worker: 2 pods ask for 9 CPUs each, and the only node that matches their node "
        "selector (test.gangboard.dev/pool=mpi-launcher-crashes) has 8; 1 of 3 pods of the MPIJob "
        "holds a node.",
        {"desired": 3, "created": 3, "scheduled": 1, "ready": 0}, twin="crash-loop", cpu="8",
    ),
    "mpi-launcher-waits": Situation(
        _launcher_waits, "dependency-waiting", "waiting",
        "Job run-launcher is not made before all 2 workers are ready: 0 are.",
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
        "What MPIJob run needs cannot be made: spec.mpiReplicaSpecs[Launcher]: Required value: must have "
        "Launcher replica spec.",
        {"desired": 2, "created": 0}, twin="running",
    ),
    "mpi-launcher-ends": Situation(
        _launcher_ends, "failed", "failed", None, {"desired": 3}, twin="succeeded",
    ),
    "mpi-suspended": Situation(
        _suspended, "suspended", "suspended", "The MPIJob is suspended.",
        {"desired": 3, "created": 0, "ready": 0}, twin="running",
    ),
    "mpi-queued": Situation(
        _queued, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 3 more cpu of flavor default must become free.",
        {"desired": 3, "created": 0}, twin="running",
    ),
}  # fmt: skip

SITUATIONS = TORCH | MPI
OTHERS = {
    "JAXJob": {"Worker": 2},
    "PaddleJob": {"Master": 1, "Worker": 1},
    "TFJob": {"Chief": 1, "PS": 1},
    "XGBoostJob": {"Master": 1, "Worker": 1},
}
"""Kinds that have all in common with PyTorchJobs but the names of their roles."""


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    found: dict[str, Place] = {
        name: (Torch if name in TORCH else Mpi)(controlplane_kueue.client, name, board)
        for name in SITUATIONS
    }
    with brought_about(SITUATIONS, found):
        yield found


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_person_reads(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_the_symptom_is_told_behind_the_cause(places: dict[str, Place]) -> None:
    findings = places["mpi-launcher-crashes"].detail()["findings"]
    told = {one["unit"]: (one["code"], one["message"]) for one in findings}
    code, message = told["run-launcher"]
    assert code == "dependency-waiting"
    assert message.startswith(
        "Job run-launcher: The launcher can start nothing before all 2 workers are ready: 0 are."
    )


def test_what_the_operators_say_stands_as_evidence(places: dict[str, Place]) -> None:
    said = {
        one["label"]: one["value"]
        for one in places["mpi-evicted"].detail()["findings"][0]["evidence"]
    }
    assert said["Failed"] == "MPIJobEvicted: 1/2 workers are evicted"
    said = {
        one["label"]: one["value"]
        for one in places["torch-restarting"].detail()["findings"][0]["evidence"]
    }
    assert "is restarting because" in said["Restarting"]


def test_an_evicted_worker_is_brought_back_by_what_is_advised(places: dict[str, Place]) -> None:
    place = places["mpi-evicted"]
    (advice,) = place.detail()["advice"]
    assert advice == ("Have them made anew: kubectl delete pod -n mpi-evicted run-worker-1")
    place.client.delete("v1", "Pod", "run-worker-1", place.name)
    place.wait_told("running")


def test_the_other_kinds_in_four_states(places: dict[str, Place]) -> None:
    """PyTorchJob run has 3 of the 64 cpu here, so a pod of 62 finds no room."""
    place = places["torch-whole"]
    expected: dict[tuple[str, str], tuple[str, str, int]] = {}
    for kind, sizes in OTHERS.items():
        first, *rest = sizes
        # The first role finds room and the other does not; of one role the first pod does.
        large = {role: replicas(cpu="62") for role in rest} or {first: replicas(2, cpu="30")}
        roles = {role: replicas(number) for role, number in sizes.items()}
        _make(place, kind, "run", roles)
        expected[kind, "run"] = ("running", "running", 2)
        _make(place, kind, "large", {first: replicas(cpu="62")})
        expected[kind, "large"] = ("insufficient-resources", "waiting", 1)
        _make(place, kind, "half", {first: replicas(), **large})
        expected[kind, "half"] = ("partly-placed", "degraded", 2)

    def told() -> dict[tuple[str, str], tuple[str, str, int]]:
        return {
            (gang["kind"], gang["name"].partition("-")[0]): (
                gang["code"],
                gang["health"],
                gang["members"]["created"],
            )
            for gang in place.installation.gangs(namespace=place.name)
            if gang["kind"] in OTHERS
        }

    wait(lambda: told() == expected, what=str(expected), seen=told, timeout=60)
    for kind in OTHERS:
        body = {"spec": {"runPolicy": {"suspend": True}}}
        place.client.patch(version_of(kind), kind, f"run-{kind.lower()}", body, place.name)
        expected[kind, "run"] = ("suspended", "suspended", 0)
    wait(lambda: told() == expected, what=str(expected), seen=told, timeout=60)


def _make(place: Place, kind: str, name: str, roles: dict[str, Json]) -> None:
    """Make a job whose pods have names of their own: those of two kinds would have the same."""
    where, full = {POOL: place.name}, f"{name}-{kind.lower()}"
    place.client.create(kubeflow_job(kind, full, place.name, roles, where=where))
