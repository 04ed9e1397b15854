"""Public reports about owners, rebuilt on the control plane with the controllers of all kinds. All at once.

KubeRay, the training operator and the LeaderWorkerSet controller are real. PodGroups of schedulers that do
not run here are played as their controllers leave them. Each situation has a near miss with another
verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.gang_schedulers import COSCHEDULING, VOLCANO, podgroup, vcjob
from tests.controlplane.grove import reference
from tests.controlplane.kubeflow import replicas
from tests.controlplane.leaderworkersets import leaderworkerset, template
from tests.controlplane.nodes import lose_node, make_nodes, node
from tests.controlplane.objects import pod
from tests.controlplane.rays import RAY, cluster_spec, ray_pods, raycluster, rayjob
from tests.controlplane.scheduled_elsewhere import bind
from tests.installation import Installation
from tests.owners.kubeflow.pytorchjobs import Torch
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

VCJOB = "batch.volcano.sh/v1alpha1"


class RayPlace(PlaceOnBoard):
    """A place of RayClusters whose pods another scheduler has to place."""

    kind = "RayCluster"

    def run(self, name: str, minimum: int) -> None:
        """Make a RayCluster of a head and two workers in a PodGroup that was made for `minimum` pods."""
        pods = ray_pods(on={POOL: self.name})
        pods["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": name}
        pods["spec"]["schedulerName"] = "scheduler-plugins"
        created = self.client.create(
            raycluster(name, self.name, cluster_spec(pods, pods, workers=2))
        )
        group = podgroup(COSCHEDULING, name, self.name, minimum)
        group["metadata"]["ownerReferences"] = [reference(created)]
        self.client.create(group)


class RayJobPlace(PlaceOnBoard):
    """A place of RayJobs."""

    kind = "RayJob"

    def run(self, name: str) -> str:
        """Make a RayJob and return the name of its RayCluster once it exists."""
        on = {POOL: self.name}
        spec = cluster_spec(ray_pods(on=on), ray_pods(on=on), workers=1)
        submitter = ray_pods(on=on, name="ray-job-submitter", restart_policy="Never")
        self.client.create(rayjob(name, self.name, spec, submitter))

        def cluster() -> str:
            result = self.client.get(RAY, "RayJob", name, self.name).get("status") or {}
            return str(result.get("rayClusterName", ""))

        return wait(cluster, what=f"the RayCluster of {name}", timeout=60)

    def suspend(self, kind: str, name: str) -> None:
        """Suspend an object as a person with kubectl does not: by another field manager."""
        self.client.patch(RAY, kind, name, {"spec": {"suspend": True}}, self.name)


class LwsPlace(PlaceOnBoard):
    """A place of LeaderWorkerSets."""

    kind = "LeaderWorkerSet"


class VolcanoPlace(PlaceOnBoard):
    """A place of Jobs of Volcano, whose controller is played."""

    kind = "Job"

    def run(self, name: str, phase: str) -> None:
        """Make a restarting Job of two workers of which one runs, with a PodGroup in this phase."""
        on = {POOL: self.name}
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
        tasks = {"worker": {"containers": [container], "nodeSelector": on, "replicas": 2}}
        created = self.client.create(vcjob(name, self.name, tasks))
        status = {
            "state": {"phase": "Restarting"}, "minAvailable": 2, "retryCount": 1, "running": 1,
            "failed": 1,
        }  # fmt: skip
        self.client.patch_status(VCJOB, "Job", name, status, self.name)
        group = podgroup(VOLCANO, f"{name}-g", self.name, 2, queue="default")
        group["metadata"]["ownerReferences"] = [reference(created)]
        self.client.create({**group, "status": {"phase": phase, "running": 1}})
        labels = {"volcano.sh/job-name": name, "volcano.sh/task-spec": "worker"}
        notes = {"scheduling.k8s.io/group-name": f"{name}-g"}
        obj = pod(
            f"{name}-worker-0", self.name, labels=labels, annotations=notes, node_selector=on,
            scheduler="volcano",
        )  # fmt: skip
        obj["metadata"]["ownerReferences"] = [reference(created)]
        bind(self.client, self.client.create(obj), self.name)


def _kept_by_lost_node(place: Torch) -> None:
    """A worker on a silent node is deleted. Twin: it is not deleted."""
    worker = replicas(2, restart="OnFailure", cpu="1", linger="1h")
    for name in ("run", "twin"):
        pool = f"{place.name}-{name}"
        make_nodes(
            place.client,
            [node(f"{pool}-{index}", cpu="1", labels={POOL: pool}) for index in (0, 1)],
        )
        place.run(name, pool=pool, roles={"Worker": worker})
    for name in ("run", "twin"):
        place.wait_told("running", name)
        lose_node(place.client, f"{place.name}-{name}-1")
    place.client.delete("v1", "Pod", _on_lost_node(place, "run"), place.name, grace=1)


def _group_kept_by_lost_node(place: LwsPlace) -> None:
    """A worker on a silent node is deleted. Twin: its node works, so its group is made again."""
    for name in ("run", "twin"):
        pool = f"{place.name}-{name}"
        make_nodes(
            place.client,
            [node(f"{pool}-{index}", cpu="1", labels={POOL: pool}) for index in (0, 1)],
        )
        workers = template()
        workers["spec"]["nodeSelector"] = {POOL: pool}
        place.client.create(leaderworkerset(name, place.name, replicas=1, size=2, worker=workers))
    for name in ("run", "twin"):
        place.wait_told("running", name)
    linger = {"metadata": {"annotations": {"test.gangboard.dev/linger": "1h"}}}
    worker = place.client.patch("v1", "Pod", "run-0-1", linger, place.name)
    lose_node(place.client, worker["spec"]["nodeName"])
    for name in ("run-0-1", "twin-0-1"):
        place.client.delete("v1", "Pod", name, place.name, grace=1)


def _on_lost_node(place: Torch, name: str) -> str:
    """Return the pod of a PyTorchJob that is bound to its lost node."""
    pods = place.client.list("v1", "Pod", place.name)
    lost = f"{place.name}-{name}-1"
    return next(
        str(item["metadata"]["name"]) for item in pods if item["spec"].get("nodeName") == lost
    )


def _scaled_down(place: RayPlace) -> None:
    """Its PodGroup was made for six pods. Twin: for the three that it has, so they get nodes."""
    place.run("run", 6)
    place.run("twin", 3)

    def pods() -> list[Json]:
        result = place.client.list("v1", "Pod", place.name, labels="ray.io/cluster=twin")
        return result if len(result) == 3 else []

    for one in wait(pods, what="the pods of twin", timeout=60):
        bind(place.client, one, place.name)


def _suspended_below(place: RayJobPlace) -> None:
    """Its RayCluster is suspended. Twin: the RayJob itself is."""
    below = place.run("run")
    place.run("twin")
    place.suspend("RayCluster", below)
    place.suspend("RayJob", "twin")


def _statefulset_refused(place: LwsPlace) -> None:
    """A quota has room for no other StatefulSet. Twin: two of them are its: of the leader, and of its worker."""
    limit = {"hard": {"count/statefulsets.apps": "2"}}
    meta = {"name": "few", "namespace": place.name}
    place.client.create(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": limit}
    )
    place.client.wait_for(
        "v1",
        "ResourceQuota",
        "few",
        place.name,
        until=lambda item: "used" in item.get("status", {}),
    )
    for name in ("twin", "run"):
        created = leaderworkerset(name, place.name, replicas=1, size=2)
        template = created["spec"]["leaderWorkerTemplate"]["workerTemplate"]
        template["spec"]["nodeSelector"] = {POOL: place.name}
        place.client.create(created)
        if name == "twin":
            place.wait_told("running", name)


def _let_in_again(place: VolcanoPlace) -> None:
    """Its PodGroup waits for its queue once more.

    Twin: the PodGroup was admitted, and the pod is to be created.
    """
    place.run("run", "Pending")
    place.run("twin", "Inqueue")


PLACES = {
    "ray-scaled": RayPlace,
    "rayjob-below": RayJobPlace,
    "lws-refused": LwsPlace,
    "vcjob-again": VolcanoPlace,
    "torch-lost-node": Torch,
    "lws-lost-node": LwsPlace,
}
SITUATIONS: dict[str, Situation] = {  # type: ignore[type-arg]
    "ray-scaled": Situation(
        _scaled_down, "below-quorum", "blocked", None,
        {"desired": 3, "created": 3, "quorum": 6}, twin="running",
    ),
    "rayjob-below": Situation(
        _suspended_below, "suspended", "suspended", None, {}, twin="suspended",
    ),
    "lws-refused": Situation(
        _statefulset_refused, "pod-creation-refused", "blocked", None,
        {"desired": 2, "created": 0}, twin="running",
    ),
    "vcjob-again": Situation(
        _let_in_again, "lost-members", "degraded", None,
        {"desired": 2, "created": 1, "ready": 1}, twin="restarting",
    ),
    "torch-lost-node": Situation(
        _kept_by_lost_node, "termination-stuck", "blocked", None,
        {"desired": 2, "ready": 1}, twin="node-lost",
    ),
    "lws-lost-node": Situation(
        _group_kept_by_lost_node, "termination-stuck", "blocked", None, {"desired": 2},
        twin="running",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(
    controlplane_kueue: ControlPlane, board: Installation
) -> Iterator[dict[str, PlaceOnBoard]]:
    """Every situation brought about, each in a namespace of its own."""
    result = {
        name: place(controlplane_kueue.client, f"rep-{name}", board)
        for name, place in PLACES.items()
    }
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, PlaceOnBoard], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_a_lower_minimum_is_advised_before_more_pods(places: dict[str, PlaceOnBoard]) -> None:
    place = places["ray-scaled"]
    place.wait_told("below-quorum")
    lower, more = place.told()["advice"]
    assert "from 6 to 3 (no restart): kubectl " in lower
    assert lower.endswith("""-p '{"spec":{"minMember":3}}'""")
    assert more.endswith("up by 3 pods.")
    place.client.patch(COSCHEDULING, "PodGroup", "run", {"spec": {"minMember": 3}}, place.name)
    wait(lambda: place.told()["code"] != "below-quorum", what="the lower minimum", timeout=60)


def test_the_advice_resumes_a_raycluster_suspended_below_its_rayjob(
    places: dict[str, PlaceOnBoard],
) -> None:
    place = places["rayjob-below"]
    place.wait_told("suspended")
    below = place.client.get(RAY, "RayJob", "run", place.name)["status"]["rayClusterName"]
    (advice,) = place.told()["advice"]
    assert f"patch rayclusters.ray.io {below}" in advice
    assert place.told("twin")["advice"] == []
    spec = {"spec": {"suspend": False}}
    place.client.patch(RAY, "RayCluster", below, spec, place.name)
    place.wait_told("running")


def test_the_statefulset_is_named_as_refused(places: dict[str, PlaceOnBoard]) -> None:
    place = places["lws-refused"]
    place.wait_told("pod-creation-refused")
    assert "StatefulSet" in place.told()["message"]


def test_the_queue_keeps_the_other_pod_away(places: dict[str, PlaceOnBoard]) -> None:
    place = places["vcjob-again"]
    place.wait_told("lost-members")
    message = place.told()["message"]
    assert message.startswith("1 of 2 members runs")
    assert "Queue default" in message


def test_the_twin_of_a_restart_waits_for_its_controller_and_not_for_its_queue(
    places: dict[str, PlaceOnBoard],
) -> None:
    place = places["vcjob-again"]
    place.wait_told("restarting", "twin")
    assert place.told("twin")["message"].startswith("Restart 1 of 3: 1 of 2 pods is ready; ")
    assert "Queue" not in place.told("twin")["message"]


def test_a_worker_that_a_lost_node_keeps_is_named(places: dict[str, PlaceOnBoard]) -> None:
    """Its StatefulSet creates no pod of the same name, so the whole group waits."""
    place = places["lws-lost-node"]
    check(SITUATIONS[place.name.removeprefix("rep-")], place)
    assert "StatefulSet run-0 waits for pod run-0-1" in place.told()["message"]
    place.client.delete("v1", "Pod", "run-0-1", place.name, grace=0)
    make_nodes(
        place.client, [node(f"{place.name}-run-2", cpu="1", labels={POOL: f"{place.name}-run"})]
    )
    place.wait_told("running")


def test_a_pod_that_a_lost_node_keeps_is_forced_away(places: dict[str, PlaceOnBoard]) -> None:
    """Its operator creates the successor only after the deletion. A pod that stays shows no sign of that."""
    place = places["torch-lost-node"]
    assert isinstance(place, Torch)
    check(SITUATIONS[place.name.removeprefix("rep-")], place)
    pod_name, lost = _on_lost_node(place, "run"), f"{place.name}-run-1"
    verdict = place.told()
    assert f"PyTorchJob run waits for pod {pod_name}" in verdict["message"]
    back, _, force = verdict["advice"]
    assert back == f"Bring node {lost} back: its kubelet ends its pods."
    assert force.endswith(
        f"kubectl --context test delete pod -n {place.name} {pod_name} --grace-period=0 --force"
    )
    twin = place.told("twin")
    assert twin["message"].endswith("1 pod is not ready.")
    assert twin["advice"] == [
        f"Bring node {place.name}-twin-1 back: a member is still bound to it."
    ]
    pool = f"{place.name}-run"
    make_nodes(place.client, [node(f"{pool}-2", cpu="1", labels={POOL: pool})])
    place.client.delete("v1", "Pod", pod_name, place.name, grace=0)
    place.wait_told("running")
    assert place.told()["members"]["ready"] == 2
    created = place.client.get("v1", "Pod", pod_name, place.name)
    assert created["spec"]["nodeName"] == f"{pool}-2"
