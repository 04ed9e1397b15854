"""JobSets with their own gang modes under a complete gangboard. All at once.

No released JobSet has such modes: tests/controlplane/jobset_gangs.py serves the fields and plays the
controller of the KEP. Jobs, pods and their places are those of JobSet 0.12 and a real scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.jobset_gangs import Item, item, labelled, make_groups, served
from tests.controlplane.nodes import node
from tests.controlplane.objects import JobOptions, jobset, priority_class
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

RACK = "test.gangboard.dev/rack"
PRIORITY = "jobset-gangs"
Jobs = dict[str, JobOptions]
GANG: Json = {"schedulingPolicy": {"gang": {}}}
BASIC: Json = {"schedulingPolicy": {"basic": {}}}


def entry(*roles: str, **options: Any) -> Json:
    return {"targetReplicatedJobs": list(roles), **options}


@dataclass
class Place(PlaceOnBoard):
    """A namespace with nodes of its own, in which one thing happens."""

    kind = "JobSet"

    def nodes(self, cpu: str) -> Sequence[Json]:
        """Return one node, where racks matter one in each of two."""
        if self.name != "jobset-spanning":
            return super().nodes(cpu)
        return [
            node(f"{self.name}-{rack}", cpu=cpu, labels={POOL: self.name, RACK: rack})
            for rack in ("r1", "r2")
        ]

    def jobset(self, name: str, jobs: Jobs, *, suspend: bool = False, **spec: Any) -> Json:
        """Return a JobSet on the nodes of this place."""
        for options in jobs.values():
            options["node_selector"] = {POOL: self.name}
        return jobset(name, self.name, jobs=jobs, suspend=suspend, jobset_spec=spec)

    def play(self, made: Json, *items: Item) -> None:
        """Create it with the groups that its controller makes; without items with none."""
        created = self.client.create(labelled(made, *items))
        if items:
            make_groups(self.client, created, *items)


def _whole(place: Place) -> None:
    """One gang of all its pods. Twin: its controller does not know the field, and makes none."""
    for name, groups in (("run", (item(gang=5),)), ("twin", ())):
        jobs: Jobs = {"driver": {}, "workers": {"replicas": 2, "pods": 2}}
        place.play(place.jobset(name, jobs, scheduling=GANG), *groups)


def _per_role(place: Place) -> None:
    """Each ReplicatedJob is one, and there is no room for all workers. Twin: there is."""
    entries = {"replicatedJobs": [entry("driver", **GANG), entry("workers", **GANG)]}
    small: Jobs = {"driver": {}, "workers": {}}
    place.play(
        place.jobset("twin", small, scheduling=entries),
        item("driver", gang=1),
        item("workers", gang=1),
    )
    place.wait_told("running", "twin")
    large: Jobs = {"driver": {"pods": 2}, "workers": {"replicas": 3, "cpu": "3"}}
    place.play(
        place.jobset("run", large, scheduling=entries),
        item("driver", gang=2),
        item("workers", gang=3),
    )


def _per_job(place: Place) -> None:
    """Each Job is one, and there is room for one of them. Twin: it has only one."""
    entries = {"replicatedJobs": [entry("workers", job=GANG)]}
    for name, replicas in (("twin", 1), ("run", 2)):
        jobs: Jobs = {"workers": {"replicas": replicas, "pods": 2, "cpu": "3"}}
        place.play(
            place.jobset(name, jobs, scheduling=entries), item("workers", gang=2, per_job=replicas)
        )
        if name == "twin":
            place.wait_told("running", "twin")


def _spanning(place: Place) -> None:
    """A gang of two ReplicatedJobs within one rack, the third pod by pod. Twin: no rack has so much room."""
    within = {"schedulingConstraints": {"topology": [{"key": RACK}]}, "disruptionMode": {"all": {}}}
    entries = [entry("init", **BASIC), entry("leader", "workers", **GANG, **within)]
    for name, cpu in (("run", "2"), ("twin", "6")):
        jobs: Jobs = {
            "init": {},
            "leader": {"cpu": cpu, "priority_class": PRIORITY},
            "workers": {"pods": 2, "cpu": cpu, "priority_class": PRIORITY},
        }
        place.play(
            place.jobset(name, jobs, scheduling={"replicatedJobs": entries}),
            item("init", gang=None),
            item(
                *("leader", "workers"),
                gang=3,
                topology=RACK,
                together=True,
                priority_class=PRIORITY,
            ),
        )
        if name == "run":
            place.wait_told("running")


def _draft(place: Place) -> None:
    """By the draft one gang of all, for which there is no room. Twin: by the draft one per ReplicatedJob."""
    small: Jobs = {"driver": {"cpu": "4"}, "workers": {"cpu": "4"}}
    place.play(
        place.jobset("twin", small, gangPolicy={"gangPolicyOption": "JobSetGangPerReplicatedJob"}),
        item("driver", gang=1),
        item("workers", gang=1),
    )
    place.wait_told("running", "twin")
    large: Jobs = {"driver": {"cpu": "4"}, "workers": {"pods": 2, "cpu": "4"}}
    place.play(
        place.jobset("run", large, gangPolicy={"gangPolicyOption": "JobSetAsGang"}), item(gang=3)
    )


def _suspended(place: Place) -> None:
    """Suspended it has no groups: they are made anew as it goes on. Twin: it went on, and they are not made."""
    for name, suspend in (("run", True), ("twin", False)):
        created = place.jobset(name, {"workers": {"pods": 2}}, suspend=suspend, scheduling=GANG)
        place.client.create(labelled(created, item(gang=2)))


SITUATIONS: dict[str, Situation[Place]] = {
    "whole": Situation(
        _whole, "running", "running", "All 5 pods are ready.",
        {"desired": 5, "ready": 5, "quorum": 5}, twin="not-ganged",
    ),
    "per-role": Situation(
        _per_role, "insufficient-resources", "waiting", None,
        {"desired": 5, "ready": 2, "quorum": 5}, twin="running", cpu="9",
    ),
    "per-job": Situation(
        _per_job, "insufficient-resources", "waiting", None,
        {"desired": 4, "ready": 2, "quorum": 4}, twin="running", cpu="15",
    ),
    "spanning": Situation(
        _spanning, "running", "running", "All 4 pods are ready.",
        {"desired": 4, "ready": 4, "quorum": 3}, twin="topology-does-not-fit", cpu="16",
    ),
    "draft": Situation(
        _draft, "insufficient-resources", "waiting", None,
        {"desired": 3, "created": 3, "scheduled": 0, "quorum": 3}, twin="running", cpu="16",
    ),
    "suspended": Situation(
        _suspended, "suspended", "suspended", None, {"desired": 2, "created": 0},
        twin="podgroup-missing",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    client = controlplane_kueue.client
    result = {name: Place(client, f"jobset-{name}", board) for name in SITUATIONS}
    with served(client):
        client.create_all([priority_class(PRIORITY, 100)])
        with brought_about(SITUATIONS, result):
            yield result
        client.delete("scheduling.k8s.io/v1", "PriorityClass", PRIORITY)


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def _wait_mode(place: Place, name: str, expected: Json) -> None:
    def mode() -> Json:
        result: Json = place.detail(name)["gang_mode"] or {}
        return {key: result.get(key) for key in expected}

    wait(lambda: mode() == expected, what=str(expected), seen=mode, timeout=60)


MODES: tuple[tuple[str, str, str, str, str, bool], ...] = (
    (
        "whole", "run", "whole", "All its Jobs are one gang of 5 pods.",
        "All its pods are one gang (spec.scheduling)", False,
    ),
    (
        "whole", "twin", "pod-by-pod", "Its pods are scheduled one by one.",
        "All its pods are one gang (spec.scheduling)", True,
    ),
    (
        "per-role", "run", "per-role",
        "Each ReplicatedJob is a gang of its own: driver (2 pods) and workers (3 pods).",
        "driver: one gang; workers: one gang (spec.scheduling)", False,
    ),
    (
        "per-job", "run", "per-job", "Each of its 2 Jobs is a gang of its own (2 pods).",
        "workers: a gang for each Job (spec.scheduling)", False,
    ),
    (
        "spanning", "run", "custom", "1 gang: leader and workers (3 pods); init pod by pod.",
        "init: pod by pod; leader and workers: one gang (spec.scheduling)", False,
    ),
    (
        "draft", "run", "whole", "All its Jobs are one gang of 3 pods.",
        "All its pods are one gang (spec.gangPolicy: JobSetAsGang)", False,
    ),
    (
        "draft", "twin", "per-role",
        "Each ReplicatedJob is a gang of its own: driver (1 pod) and workers (1 pod).",
        "Each ReplicatedJob is a gang of its own (spec.gangPolicy: JobSetGangPerReplicatedJob)",
        False,
    ),
    (
        "suspended", "run", "unknown", "It has no gang and no pods now.",
        "All its pods are one gang (spec.scheduling)", False,
    ),
)  # fmt: skip


@pytest.mark.parametrize(("place", "name", "mode", "reason", "asked", "differs"), MODES)
def test_the_mode_is_shown_next_to_the_request(
    places: dict[str, Place],
    place: str,
    name: str,
    mode: str,
    reason: str,
    asked: str,
    differs: bool,
) -> None:
    expected = {"mode": mode, "reason": reason, "asked": asked, "differs": differs}
    _wait_mode(places[place], name, expected)


def test_a_group_of_several_replicated_jobs_shows_its_placement_and_jobs(
    places: dict[str, Place],
) -> None:
    place = places["spanning"]
    pods = place.client.list("v1", "Pod", place.name, labels="jobset.sigs.k8s.io/jobset-name=run")
    (on,) = {pod["spec"]["nodeName"] for pod in pods if "-init-" not in pod["metadata"]["name"]}
    rack = place.client.get("v1", "Node", on)["metadata"]["labels"][RACK]

    def told() -> Json:
        detail = place.detail()
        groups = {group["name"]: group for group in detail["groups"]}
        group = groups.get("run-leader-workers", {})
        keys = ("quorum", "topology_keys", "domains", "priority", "disruption_mode", "claims")
        return {"matrix": detail["group_matrix"], **{key: group.get(key) for key in keys}}

    none, element, two = ({"pods": number, "ready": number} for number in range(3))
    expected = {
        "matrix": {
            "of_roles": False,
            "columns": ["run-init-0", "run-leader-0", "run-workers-0"],
            "rows": [
                {"group": "run-init", "cells": [element, none, none]},
                {"group": "run-leader-workers", "cells": [none, element, two]},
            ],
        },
        "quorum": 3,
        "topology_keys": [RACK],
        "domains": {RACK: rack},
        "priority": 100,
        "disruption_mode": "all",
        "claims": [],
    }
    wait(lambda: told() == expected, what=str(expected), seen=told, timeout=60)
