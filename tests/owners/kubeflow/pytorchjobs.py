"""PyTorchJobs of a real training-operator, and the expected verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tests.controlplane.client import Json
from tests.controlplane.kubeflow import replicas
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import quota
from tests.owners.kubeflow.place import Place, queued, suspended, whole
from tests.situations import POOL, Situation


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


def _workers_wait(place: Place) -> None:
    """Its master runs without workers. Twin: no pod is placed, including the master."""
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
    for name, least, nodes in (("run", 2, ""), ("twin", 4, pool)):
        elastic = {"minReplicas": least, "maxReplicas": 4}
        roles = {"Worker": replicas(4, cpu="2.5")}
        place.run(name, pool=nodes, roles=roles, elasticPolicy=elastic)


def _restarting(place: Place) -> None:
    """Its master fails, and the next one does not come up. Twin: it may not be made anew."""
    place.run()
    once = {**place.roles(), "Master": replicas(restart="Never")}
    place.run("twin", roles=once)
    for name in ("run", "twin"):
        place.wait_told("running", name)
    place.let_none_come_up("Master")
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
    """It requests a gang that its operator makes nowhere. Twin: all find room."""
    gang = {"schedulingPolicy": {"minAvailable": 3}}
    place.run("twin", policy=gang)
    place.wait_told("running", "twin")
    place.run(policy=gang, sizes={"worker": "3"})


TORCH: dict[str, Situation[Any]] = {
    "torch-whole": Situation(
        whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="no-matching-node",
    ),
    "torch-workers-wait": Situation(
        _workers_wait, "partly-placed", "degraded",
        "Role Worker: 2 pods request 9 CPUs each, and the only node that matches their node "
        "selector (test.gangboard.dev/pool=torch-workers-wait) has 8; 1 of 3 pods of the "
        "PyTorchJob is placed.",
        {"desired": 3, "created": 3, "scheduled": 1, "ready": 1}, twin="no-matching-node", cpu="8",
    ),
    "torch-master-waits": Situation(
        _master_waits, "partly-placed", "degraded",
        "Role Master: 1 pod requests 9 CPUs, and the only node that matches its node selector "
        "(test.gangboard.dev/pool=torch-master-waits) has 8; 2 of 3 pods of the PyTorchJob are "
        "placed.",
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
        "PyTorchJob run requests a gang (schedulingPolicy), but default-scheduler places its pods "
        "one by one: 1 of 2.",
        {"desired": 3, "created": 3, "scheduled": 2}, twin="running", cpu="8",
    ),
    "torch-suspended": Situation(
        suspended, "suspended", "suspended", None,
        {"desired": 3, "created": 0, "ready": 0}, twin="running",
    ),
    "torch-queued": Situation(
        queued, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 3 more cpu of flavor default must become free.",
        {"desired": 3, "created": 0}, twin="running",
    ),
}  # fmt: skip
