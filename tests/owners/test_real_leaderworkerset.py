"""LeaderWorkerSets of a real controller (0.9.0) and scheduler, under a complete gangboard. All at once.

Each situation has nodes of its own and a near miss with another verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.leaderworkersets import (
    LWS,
    disaggregatedset,
    leaderworkerset,
    template,
)
from tests.controlplane.nodes import make_nodes, node
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

RACK = "test.gangboard.dev/rack"
NEVER_READY = "test.gangboard.dev/never-ready"
HELD = "test.gangboard.dev/held"


@dataclass
class Place(PlaceOnBoard):
    """A place with a rack of its own."""

    kind = "LeaderWorkerSet"

    def nodes(self, cpu: str) -> list[Json]:
        """Return its node, in its rack."""
        labels = {POOL: self.name, RACK: f"{self.name}-r"}
        return [node(self.name, cpu=cpu, labels=labels)]

    def run(
        self, name: str = "run", *, exclusive: bool = False, pool: str = "", **options: Any
    ) -> None:
        """Make a LeaderWorkerSet on the nodes of this place, or of a pool."""
        created = leaderworkerset(name, self.name, **options)
        templates = created["spec"]["leaderWorkerTemplate"]
        for key in templates.keys() & {"leaderTemplate", "workerTemplate"}:
            templates[key]["spec"]["nodeSelector"] = {POOL: pool or self.name}
        if exclusive:
            key = "leaderworkerset.sigs.k8s.io/exclusive-topology"
            created["metadata"]["annotations"] = {key: RACK}
        self.client.create(created)

    def pods(self, name: str = "run") -> dict[str, Json]:
        """Return its pods by name."""
        listed = self.client.list("v1", "Pod", self.name)
        label = "leaderworkerset.sigs.k8s.io/name"
        return {
            pod["metadata"]["name"]: pod
            for pod in listed
            if pod["metadata"]["labels"][label] == name
        }

    def ready(self, name: str = "run") -> set[str]:
        """Return the names of its pods that are ready."""
        return {
            pod
            for pod, obj in self.pods(name).items()
            if any(
                (item["type"], item["status"]) == ("Ready", "True")
                for item in obj["status"].get("conditions", ())
            )
        }

    def wait_ready(self, number: int, name: str = "run") -> None:
        """Wait until so many of its pods are ready."""
        wait(
            lambda: len(self.ready(name)) == number,
            what=f"{number} pods of {name} in {self.name}",
            seen=lambda: self.ready(name),
            timeout=120,
        )

    def change(self, spec: Json, name: str = "run", manager: str = "") -> None:
        """Merge into its spec."""
        body = {"spec": spec}
        self.client.patch(LWS, "LeaderWorkerSet", name, body, self.name, field_manager=manager)

    def scale(self, replicas: int, name: str = "run") -> None:
        """Scale it as `kubectl scale` does."""
        size = {"spec": {"replicas": replicas}}
        self.client.patch(
            *(LWS, "LeaderWorkerSet", name, size, self.name),
            subresource="scale",
            field_manager="kubectl",
        )


def _whole(place: Place) -> None:
    """Twin: the same without a node that would do."""
    place.run()
    place.run("twin", worker=template("65"), replicas=1, size=1)


def _replica_waits(place: Place) -> None:
    """A second replica finds room for its leader only. Twin: without the second."""
    place.run("twin", replicas=1, size=2)
    place.run(replicas=1, worker=template("2"))
    place.wait_ready(3)
    place.wait_ready(2, "twin")
    place.change({"replicas": 2})


def _leader_waits(place: Place) -> None:
    """No node is large enough for its leader; its workers run. Twin: one is."""
    place.run(replicas=1, leader=template("9"))
    place.run("twin", replicas=1, leader=template("1"))


def _workers_wait(place: Place) -> None:
    """The leaders run, and no worker does. Twin: nor does a leader."""
    place.run(size=2, leader=template("1"), worker=template("9"))
    place.run("twin", size=2, leader=template("9"), worker=template("9"))


def _leader_unready(place: Place) -> None:
    """Its workers are not created before it is ready. Twin: they are made at once."""
    unready = template(annotations={NEVER_READY: "unready"})
    place.run(replicas=1, leader=unready, startupPolicy="LeaderReady")
    place.run("twin", replicas=1, leader=unready)


def _leader_first(place: Place) -> None:
    """Its workers are not created before it is ready, and it has no node. Twin: it is ready."""
    place.run(replicas=1, leader=template("9"), startupPolicy="LeaderReady")
    place.run("twin", replicas=1, startupPolicy="LeaderReady")


def _zero(place: Place) -> None:
    """Twin: scaled to one."""
    place.run()
    place.run("twin")
    place.wait_ready(6)
    place.wait_ready(6, "twin")
    place.wait_told("running")
    place.change({"replicas": 0}, manager="kubectl-edit")
    place.scale(1, "twin")


def _update(place: Place) -> None:
    """The new pods of the first replica that is updated never get ready. Twin: they do."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_ready(6, name)
        place.wait_told("running", name)
    for name, notes in (("run", {NEVER_READY: "unready"}), ("twin", {"new": "yes"})):
        place.change(
            {"leaderWorkerTemplate": {"workerTemplate": {"metadata": {"annotations": notes}}}},
            name,
        )


def _exclusive(place: Place) -> None:
    """Each replica has a rack for itself, and there is one. Twin: it has one replica."""
    rack = f"{place.name}-twin"
    make_nodes(place.client, [node(rack, labels={POOL: rack, RACK: rack})])
    place.run(exclusive=True)
    place.run("twin", exclusive=True, replicas=1, pool=rack)


SITUATIONS: dict[str, Situation[Place]] = {
    "whole": Situation(
        _whole, "running", "running", "All 6 pods are ready.",
        {"desired": 6, "created": 6, "ready": 6, "quorum": None}, twin="no-matching-node",
    ),
    "replica-waits": Situation(
        _replica_waits, "partly-placed", "degraded",
        "Replica run-1: 2 pods need 4 CPUs, and none is free on the only usable node "
        "(test.gangboard.dev/pool=lws-replica-waits); 1 of 3 pods is placed.",
        {"desired": 6, "created": 6, "scheduled": 4, "ready": 4}, twin="running", cpu="10",
    ),
    "leader-waits": Situation(
        _leader_waits, "partly-placed", "degraded",
        "1 pod requests 9 CPUs, and the only node that matches its node selector "
        "(test.gangboard.dev/pool=lws-leader-waits) has 8; 2 of 3 pods are placed.",
        {"desired": 3, "created": 3, "scheduled": 2, "ready": 2}, twin="running", cpu="8",
    ),
    "workers-wait": Situation(
        _workers_wait, "partly-placed", "degraded",
        "2 pods request 9 CPUs each, and the only node that matches their node selector "
        "(test.gangboard.dev/pool=lws-workers-wait) has 8; 2 of 4 pods are placed.",
        {"desired": 4, "created": 4, "scheduled": 2, "ready": 2}, twin="no-matching-node", cpu="8",
    ),
    "leader-unready": Situation(
        _leader_unready, "starting", "starting", "1 of 3 pods is placed; 1 is not ready yet.",
        {"desired": 3, "created": 1, "scheduled": 1, "ready": 0}, twin="starting",
    ),
    "leader-first": Situation(
        _leader_first, "no-matching-node", "blocked",
        "1 pod requests 9 CPUs, and the only node that matches its node selector "
        "(test.gangboard.dev/pool=lws-leader-first) has 8.",
        {"desired": 3, "created": 1, "scheduled": 0, "ready": 0}, twin="running", cpu="8",
    ),
    "zero": Situation(
        _zero, "paused", "suspended", None,
        {"desired": 0, "created": 0, "ready": 0}, twin="running",
    ),
    "update": Situation(
        _update, "lost-members", "degraded",
        "Replica run-1: 0 of 3 members run, 3 of 6 of LeaderWorkerSet run. 3 pods are not ready.",
        {"desired": 6, "created": 6, "ready": 3}, twin="running",
    ),
    "exclusive": Situation(
        _exclusive, "partly-placed", "degraded",
        "Replica run-1: 1 pod must not share a value of test.gangboard.dev/rack with certain "
        "pods, and the only usable value has such a pod; 3 of 6 pods of the "
        "LeaderWorkerSet are placed.",
        {"desired": 6, "created": 4, "scheduled": 3, "ready": 3}, twin="running",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    client = controlplane_kueue.client
    result = {name: Place(client, f"lws-{name}", board) for name in SITUATIONS}
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_a_deleted_worker_recreates_its_replica_and_the_set_is_whole_again(
    places: dict[str, Place],
) -> None:
    """`RecreateGroupOnPodRestart`; with `None` only that pod is made anew."""
    place = places["whole"]
    # From the start: a change of the policy is rolled out and makes all pods anew.
    place.run("none", replicas=1, restart_policy="None")
    place.wait_ready(6)
    place.wait_ready(3, "none")
    before = _uids(place.pods()) | _uids(place.pods("none"))
    workers = ("run-0-1", "none-0-1")
    # The controller recreates the replica only if it sees the pod terminate (facts/real-owners.md).
    # A pod of the fake kubelet can be gone before it looks.
    for worker in workers:
        _set_finalizers(place, worker, [HELD])
        place.client.delete("v1", "Pod", worker, place.name)

    def leader_is_deleted() -> bool:
        leader = place.pods().get("run-0", {"metadata": {}})["metadata"]
        return leader.get("uid") != before["run-0"] or "deletionTimestamp" in leader

    wait(leader_is_deleted, what="run-0 deleted by the controller", timeout=60)
    for worker in workers:
        _set_finalizers(place, worker, [])

    def made_anew() -> set[str]:
        now = _uids(place.pods()) | _uids(place.pods("none"))
        is_whole = len(place.ready()) == 6 and len(place.ready("none")) == 3
        return {name for name in now if now[name] != before[name]} if is_whole else set()

    expected = {"run-0", "run-0-1", "run-0-2", "none-0-1"}
    wait(lambda: made_anew() == expected, what=str(expected), seen=made_anew, timeout=60)
    for name, message in (("run", "All 6 pods are ready."), ("none", "All 3 pods are ready.")):
        wait(
            lambda name=name, message=message: place.told(name).get("message") == message,  # type: ignore[misc]
            what=f"{name}: {message}",
            seen=place.told,
            timeout=60,
        )


def test_the_status_alone_is_not_trusted(places: dict[str, Place]) -> None:
    """0.9.0 says, scaled to zero, that all replicas are ready."""
    place = places["zero"]
    status = place.client.get(LWS, "LeaderWorkerSet", "run", place.name)["status"]
    said = {
        condition["type"]: (condition["status"], condition["message"])
        for condition in status["conditions"]
    }
    assert said["Available"] == ("True", "All replicas are ready")
    assert re.fullmatch(
        r"Paused with kubectl at 20\d\d-\d\d-\d\d \d\d:\d\d UTC or before\. LeaderWorkerSet run requests no pods\.",
        place.told()["message"],
    )


def test_a_scale_to_zero_leaves_no_author(places: dict[str, Place]) -> None:
    """The subresource omits the 0, so that no manager owns the field (observed on 1.37.2)."""
    place = places["zero"]
    place.scale(0, "twin")
    place.wait_told("paused", "twin")
    assert place.told("twin")["message"] == "LeaderWorkerSet twin requests no pods."


def _set_finalizers(place: Place, pod: str, finalizers: list[str]) -> None:
    place.client.patch("v1", "Pod", pod, {"metadata": {"finalizers": finalizers}}, place.name)


def _uids(pods: Mapping[str, Json]) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


def test_a_disaggregated_set_is_one_gang_with_the_replicas_of_its_roles(
    places: dict[str, Place],
) -> None:
    """No node is large enough for a role of `serve`. Twin: there is for each of `fits`."""
    place = places["whole"]
    on = {"nodeSelector": {POOL: place.name}}
    for name, cpu in (("serve", "65"), ("fits", "1")):
        roles = {}
        for role, of_role in (("prefill", "1"), ("decode", cpu)):
            worker = template(of_role)
            worker["spec"] |= on
            created = leaderworkerset("", "", replicas=1, size=2, worker=worker)
            roles[role] = created["spec"]
        place.client.create(disaggregatedset(name, place.name, roles))

    def set_verdict(name: str) -> tuple[Any, ...]:
        result = place.installation.gangs(kind="DisaggregatedSet", namespace=place.name)
        return next(
            (
                (item["code"], item["health"], item["message"], item["members"]["ready"])
                for item in result
                if item["name"] == name
            ),
            (),
        )

    def decode() -> str:
        """Return the name of the LeaderWorkerSet of the role: its revision is the controller's."""
        listed = place.client.list(LWS, "LeaderWorkerSet", place.name)
        labels = {obj["metadata"]["name"]: obj["metadata"].get("labels", {}) for obj in listed}
        key = "disaggregatedset.x-k8s.io"
        desired = ("serve", "decode")
        return next(
            (
                n
                for n, o in labels.items()
                if (o.get(f"{key}/name"), o.get(f"{key}/role")) == desired
            ),
            "",
        )

    wait(lambda: bool(decode()), what="a LeaderWorkerSet for decode")
    expected = (
        "partly-placed",
        "degraded",
        f"Replica {decode()}-0: 2 pods request 65 CPUs each, and the only node that matches their node "
        f"selector ({POOL}={place.name}) has 64; 2 of 4 pods of the DisaggregatedSet are placed.",
        2,
    )
    wait(
        lambda: set_verdict("serve") == expected,
        what=str(expected),
        seen=lambda: set_verdict("serve"),
    )
    whole = ("running", "running", "All 4 pods are ready.", 4)
    wait(lambda: set_verdict("fits") == whole, what=str(whole), seen=lambda: set_verdict("fits"))
    sets = place.installation.gangs(kind="LeaderWorkerSet", namespace=place.name)
    assert not [item["name"] for item in sets if item["name"].startswith(("serve-", "fits-"))]
