"""Ray's objects with the real KubeRay (1.6.2) and scheduler, under a complete gangboard. All at once.

The pods run no Ray. A Job submits a RayJob, the tests play its pod, and no dashboard answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.rays import RAY, cluster_spec, ray_pods, raycluster, rayjob, rayservice
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

NEVER_READY = "test.gangboard.dev/never-ready"
FAIL_AFTER = "test.gangboard.dev/fail-after"
WAITING = {NEVER_READY: "pending"}
"""A worker whose init container has not ended: so it waits for the head."""


class RayPlace(PlaceOnBoard):
    """Actions in the place of each of the three kinds."""

    def of(
        self,
        *,
        head: str = "1",
        worker: str = "2",
        workers: int = 3,
        notes: Json | None = None,
        of_head: Json | None = None,
        **spec: Any,
    ) -> Json:
        """Return the spec of a RayCluster on the node of this place; `notes` are for its workers."""
        on = {POOL: self.name}
        return cluster_spec(
            ray_pods(head, on=on, annotations=of_head),
            ray_pods(worker, on=on, annotations=notes),
            workers=workers,
            **spec,
        )

    def submitter(self, **notes: str) -> Json:
        """Return the pod that submits the work of a RayJob."""
        on = {POOL: self.name}
        return ray_pods(on=on, annotations=notes, name="ray-job-submitter", restart_policy="Never")

    def job(self, name: str = "run", *, submitter: Json | None = None, **spec: Any) -> None:
        """Make a RayJob; what belongs to its RayCluster goes there."""
        own = ("shutdownAfterJobFinishes", "submissionMode", "suspend")
        of_job = {key: spec.pop(key) for key in own if key in spec}
        self.client.create(
            rayjob(name, self.name, self.of(**spec), submitter or self.submitter(), **of_job)
        )

    def change(self, spec: Json, name: str = "run") -> None:
        """Merge into the spec of one."""
        self.client.patch(RAY, self.kind, name, {"spec": spec}, self.name)

    def status(self, name: str = "run") -> Json:
        """Return what KubeRay says of one."""
        result: Json = self.client.get(RAY, self.kind, name, self.name).get("status", {})
        return result

    def workers(self, name: str = "run") -> list[Json]:
        """Return the workers of one."""
        listed = self.client.list("v1", "Pod", self.name, labels="ray.io/node-type=worker")
        mine = (name, f"{name}-")
        return [
            pod for pod in listed if pod["metadata"]["labels"]["ray.io/cluster"].startswith(mine)
        ]

    def clusters(self, name: str = "run") -> list[Json]:
        """Return the RayClusters of one."""
        listed = self.client.list(RAY, "RayCluster", self.name)
        return [obj for obj in listed if obj["metadata"]["name"].startswith(f"{name}-")]


class ClusterPlace(RayPlace):
    """Of RayClusters."""

    kind = "RayCluster"

    def run(self, name: str = "run", **spec: Any) -> None:
        """Make a RayCluster."""
        self.client.create(raycluster(name, self.name, self.of(**spec)))


class JobPlace(RayPlace):
    """Of RayJobs."""

    kind = "RayJob"


class ServicePlace(RayPlace):
    """Of RayServices."""

    kind = "RayService"

    def run(self, name: str = "run", **spec: Any) -> None:
        """Make a RayService."""
        self.client.create(rayservice(name, self.name, self.of(**spec)))


# RayClusters


def _whole(place: ClusterPlace) -> None:
    """Twin: its workers ask for more than there is on any node."""
    place.run()
    place.run("twin", worker="65")


def _head_waits(place: ClusterPlace) -> None:
    """No node is large enough for the head, and the workers wait for it. Twin: it only does not get ready."""
    place.run(head="9", notes=WAITING, worker="1")
    place.run("twin", of_head={NEVER_READY: "unready"}, notes=WAITING, worker="1", workers=1)


def _workers_wait(place: ClusterPlace) -> None:
    """Two of three workers find room beside the head. Twin: it has no third one, and a pool of its own."""
    place.run("twin", workers=0)
    place.wait_told("running", "twin")
    place.run(worker="3")


def _autoscaled(place: ClusterPlace) -> None:
    """Three of four find room, and the autoscaler needs two. Twin: it needs all four."""
    place.run(workers=4, least=2, enableInTreeAutoscaling=True)
    wait(lambda: len(place.workers()) == 4, what="four workers", timeout=60)
    place.wait_told("below-size")
    place.run("twin", workers=4, least=4, enableInTreeAutoscaling=True)


def _lost(place: ClusterPlace) -> None:
    """A worker is gone, and another one finds no room. Twin: it does."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_told("running", name)
    (group,) = place.of(worker="65")["workerGroupSpecs"]
    place.change({"workerGroupSpecs": [group]})
    for name in ("run", "twin"):
        pod = place.workers(name)[0]["metadata"]["name"]
        place.client.delete("v1", "Pod", pod, place.name)


def _refused(place: ClusterPlace) -> None:
    """A quota of four pods. Twin: two of them are its, and enough."""
    meta = {"name": "team", "namespace": place.name}
    place.client.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": meta,
            "spec": {"hard": {"pods": "4"}},
        }
    )
    place.client.wait_for(
        "v1",
        "ResourceQuota",
        "team",
        place.name,
        until=lambda item: "used" in item.get("status", {}),
    )
    place.run("twin", workers=1)
    place.wait_told("running", "twin")
    place.run()


def _invalid(place: ClusterPlace) -> None:
    """Twin: its limits agree."""
    place.client.create(raycluster("run", place.name, _upside_down(place)))
    place.run("twin")


def _upside_down(place: ClusterPlace) -> Json:
    spec = place.of()
    spec["workerGroupSpecs"][0] |= {"minReplicas": 3, "maxReplicas": 1}
    return spec


def _suspended(place: ClusterPlace) -> None:
    """Twin: it is not."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_told("running", name)
    place.change({"suspend": True})


CLUSTERS: dict[str, Situation[ClusterPlace]] = {
    "whole": Situation(
        _whole, "running", "running", "All 4 pods are ready.",
        {"desired": 4, "created": 4, "ready": 4, "quorum": None}, twin="partly-placed",
    ),
    "head-waits": Situation(
        _head_waits, "partly-placed", "degraded",
        "Ray group headgroup: 1 pod requests 9 CPUs, and the only node that matches its node "
        "selector (test.gangboard.dev/pool=ray-head-waits) has 8; 3 of 4 pods of the RayCluster "
        "are placed.",
        {"desired": 4, "created": 4, "scheduled": 3, "ready": 0}, twin="starting", cpu="8",
    ),
    "workers-wait": Situation(
        _workers_wait, "partly-placed", "degraded",
        "Ray group gpu: 1 pod needs 3 CPUs, and none is free on the only usable node "
        "(test.gangboard.dev/pool=ray-workers-wait); 2 of 3 pods are placed.",
        {"desired": 4, "created": 4, "scheduled": 3, "ready": 3}, twin="running", cpu="8",
    ),
    "autoscaled": Situation(
        _autoscaled, "below-size", "degraded",
        "Ray group gpu: 3 of 4 members run (quorum 2). 1 pod needs 2 CPUs, and none is free on "
        "the only usable node (test.gangboard.dev/pool=ray-autoscaled).",
        {"desired": 5, "created": 5, "ready": 4}, twin="exceeds-capacity", cpu="7500m",
    ),
    "lost": Situation(
        _lost, "lost-members", "degraded",
        "Ray group gpu: 2 of 3 members run. 1 pod requests 65 CPUs, and the only node that matches its "
        "node selector (test.gangboard.dev/pool=ray-lost) has 64.",
        {"desired": 4, "created": 4, "ready": 3}, twin="running",
    ),
    "refused": Situation(
        _refused, "pod-creation-refused", "blocked",
        "Ray group gpu: 1 of 3 pods exists. ResourceQuota “team” refuses the rest: pods 4 of 4 used.",
        {"desired": 4, "created": 2, "ready": 2}, twin="running",
    ),
    "invalid": Situation(
        _invalid, "objects-not-made", "blocked",
        "An object of RayCluster run cannot be created: worker group gpu has minReplicas 3 greater than "
        "maxReplicas 1.",
        {"created": 0}, twin="running",
    ),
    "suspended": Situation(
        _suspended, "suspended", "suspended", None,
        {"desired": 4, "created": 0, "ready": 0}, twin="running",
    ),
}  # fmt: skip


# RayJobs


def _job_whole(place: JobPlace) -> None:
    """Twin: its workers ask for more than there is on any node."""
    place.job()
    place.job("twin", worker="65")


def _job_waits(place: JobPlace) -> None:
    """No pod of it fits on a node. Twin: all pods fit."""
    place.job(head="2", worker="2")
    place.job("twin", head="100m", worker="200m")


def _job_lost(place: JobPlace) -> None:
    """A worker is gone, and another one finds no room. Twin: it does."""
    for name in ("run", "twin"):
        place.job(name)
    for name in ("run", "twin"):
        _wait_submitted(place, name)
    (group,) = place.of(worker="65")["workerGroupSpecs"]
    (created,) = place.clusters()
    spec = {"spec": {"workerGroupSpecs": [group]}}
    place.client.patch(RAY, "RayCluster", created["metadata"]["name"], spec, place.name)
    for name in ("run", "twin"):
        pod = place.workers(name)[0]["metadata"]["name"]
        place.client.delete("v1", "Pod", pod, place.name)


def _wait_submitted(place: JobPlace, name: str = "run") -> None:
    """Wait until all of it runs, the pod that submits too."""
    wait(
        lambda: (place.told(name)["code"], _ready(place, name)) == ("running", 5),
        what=f"5 pods of {name} in {place.name}",
        seen=lambda: place.told(name),
        timeout=120,
    )


def _ready(place: JobPlace, name: str) -> int:
    return int(place.told(name).get("members", {}).get("ready", 0))


def _job_suspended(place: JobPlace) -> None:
    """Twin: it is not."""
    for name in ("run", "twin"):
        place.job(name)
    for name in ("run", "twin"):
        _wait_submitted(place, name)
    place.change({"suspend": True})


def _job_invalid(place: JobPlace) -> None:
    """It keeps its cluster, and a user suspends the cluster. Twin: it would not keep it."""
    place.job(shutdownAfterJobFinishes=False)
    place.job("twin")
    for name in ("run", "twin"):
        _wait_submitted(place, name)
    for name in ("run", "twin"):
        place.change({"suspend": True}, name)


def _job_fails(place: JobPlace) -> None:
    """The pod that submits its work fails. Twin: it does not get ready."""
    place.job(submitter=place.submitter(**{FAIL_AFTER: "1s"}))
    place.job("twin", submitter=place.submitter(**{NEVER_READY: "unready"}))


JOBS: dict[str, Situation[JobPlace]] = {
    "job-whole": Situation(
        _job_whole, "running", "running", "All 5 pods are ready.",
        {"desired": 5, "created": 5, "ready": 5}, twin="partly-placed",
    ),
    "job-waits": Situation(
        _job_waits, "no-matching-node", "blocked",
        "3 pods of gpu request 2 CPUs each, and the only node that matches their node selector "
        "(test.gangboard.dev/pool=ray-job-waits) has 1.8.",
        {"desired": 4, "created": 4, "scheduled": 0, "ready": 0}, twin="running", cpu="1800m",
    ),
    "job-lost": Situation(
        _job_lost, "lost-members", "degraded",
        "Ray group gpu: 2 of 3 members run. 1 pod requests 65 CPUs, and the only node that matches its "
        "node selector (test.gangboard.dev/pool=ray-job-lost) has 64.",
        {"desired": 5, "created": 5, "ready": 4}, twin="running",
    ),
    "job-suspended": Situation(
        _job_suspended, "suspended", "suspended", None,
        {"desired": 4, "created": 0, "ready": 0}, twin="running",
    ),
    "job-invalid": Situation(
        _job_invalid, "failed", "failed",
        "The RayJob failed (ValidationFailed): The RayJob spec is invalid: a RayJob with "
        "shutdownAfterJobFinishes set to false is not allowed to be suspended. 5 pods are still there.",
        {"created": 5, "ready": 5}, twin="suspended",
    ),
    "job-fails": Situation(_job_fails, "failed", "failed", None, twin="starting"),
}  # fmt: skip


# RayServices


def _serves(place: ServicePlace) -> None:
    """No Ray dashboard answers, so its applications are never deployed. Twin: its workers do not fit."""
    place.run()
    place.run("twin", worker="65")


SERVICES: dict[str, Situation[ServicePlace]] = {
    "service": Situation(
        _serves, "not-serving", "starting",
        "All 4 pods are ready, and its applications are not deployed yet: RayService is initializing.",
        {"desired": 4, "created": 4, "ready": 4}, twin="partly-placed",
    ),
}  # fmt: skip

SITUATIONS: dict[str, Situation[Any]] = {**CLUSTERS, **JOBS, **SERVICES}


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, RayPlace]]:
    """Every situation brought about, each in a namespace of its own."""
    result: dict[str, RayPlace] = {}
    created: tuple[tuple[Any, Callable[..., RayPlace]], ...] = (
        (CLUSTERS, ClusterPlace),
        (JOBS, JobPlace),
        (SERVICES, ServicePlace),
    )
    for situations, place in created:
        result |= {
            name: place(controlplane_kueue.client, f"ray-{name}", board) for name in situations
        }
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, RayPlace], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_workers_that_wait_for_the_head_stand_behind_it(places: dict[str, RayPlace]) -> None:
    result = places["head-waits"].detail()["findings"]
    waits = [item["message"] for item in result if item["code"] == "dependency-waiting"]
    assert waits == ["Ray group gpu: 3 of 3 pods wait for the head, which has no node."]


def test_a_suspended_rayjob_has_no_cluster_and_a_resumed_one_a_new_cluster(
    places: dict[str, RayPlace],
) -> None:
    place = places["job-suspended"]
    place.wait_told("suspended")
    wait(lambda: place.status()["jobDeploymentStatus"] == "Suspended", what="Suspended", timeout=60)
    assert place.clusters() == []
    place.change({"suspend": False})
    wait(lambda: len(place.clusters()) == 1, what="another RayCluster", timeout=60)
    place.wait_told("running")


def test_an_invalid_owner_keeps_running_without_its_operator(places: dict[str, RayPlace]) -> None:
    """So gangboard does not suspend it (test_ray.py): mended, it stays as it is."""
    place = places["job-invalid"]
    check(SITUATIONS["job-invalid"], place)
    place.change({"suspend": False, "shutdownAfterJobFinishes": True})
    wait(
        lambda: place.told()["generation"] == place.client.get(
            RAY, "RayJob", "run", place.name
        )["metadata"]["generation"],
        what="the mended RayJob to be seen",
        timeout=30,
    )  # fmt: skip
    assert place.status()["jobDeploymentStatus"] == "ValidationFailed"
    assert len(place.clusters()) == 1


def test_the_kuberay_message_about_a_failed_submission_is_quoted(
    places: dict[str, RayPlace],
) -> None:
    place = places["job-fails"]
    place.wait_told("failed")
    evidence = place.detail()["findings"][0]["evidence"]
    message = next(item["value"] for item in evidence if item["label"] == "reason")
    assert message.startswith(
        "SubmissionFailed: Job submission has failed. Reason: BackoffLimitExceeded."
    )
