"""PodCliqueSets on real API servers and schedulers of three minors, told by a whole gangboard. All at once.

Grove's operator is played (tests/controlplane/grove.py): it writes the objects, real schedulers place the
pods. Each form of core groups has situations of its own, each with nodes of its own and a near miss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.grove import (
    PODGANGS,
    Operator,
    clique,
    last_error,
    podcliqueset,
    scaling_group,
    serve,
    serve_no_more,
)
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

FORMS = {"k137": "v1alpha3", "k136": "v1alpha2", "k135": "v1alpha1"}
"""Cluster → the version of `scheduling.k8s.io` in which core groups of PodGangs are made there."""


@dataclass
class Place(PlaceOnBoard):
    """A place on one of the clusters."""

    kind = "PodCliqueSet"
    cluster: str
    operators: dict[str, Operator] = field(default_factory=dict)

    def operator(self, name: str = "run") -> Operator:
        """Return who makes what belongs to a PodCliqueSet."""
        return self.operators.setdefault(name, Operator(self.client, FORMS[self.cluster]))

    def set(self, name: str, *cliques: tuple[str, int, int, str], **options: Any) -> Json:
        """Return a PodCliqueSet on the nodes of this place: (clique, pods, minimum, cpu) each."""
        on = {POOL: self.name}
        created = [clique(item, pods, least, cpu=cpu, on=on) for item, pods, least, cpu in cliques]
        return podcliqueset(name, self.name, created, **options)

    def play(self, name: str, *cliques: tuple[str, int, int, str], **options: Any) -> None:
        """Make one with all that belongs to it, its pods free for the scheduler."""
        self.operator(name).play(self.set(name, *cliques), **options)

    def placed(self, name: str) -> int:
        """Return how many pods of a PodCliqueSet have a node."""
        labels = f"app.kubernetes.io/part-of={name}"
        pods = self.client.list("v1", "Pod", self.name, labels=labels)
        return sum(is_true(pod, "PodScheduled") for pod in pods)

    def findings(self, name: str = "run") -> list[Json]:
        """Return all that is found of it."""
        result: list[Json] = self.detail(name)["findings"]
        return result


def _whole(place: Place) -> None:
    """Two PodCliques whose groups are placed. Twin: no node is large enough for one of them."""
    place.play("run", ("pre", 2, 2, "1"), ("dec", 2, 1, "2"))
    place.play("twin", ("pre", 2, 2, "1"), ("dec", 2, 1, "65"))


def _base_first(place: Place) -> None:
    """The base PodGang has its nodes, and Grove has not counted that yet. Twin: it has."""
    for name in ("run", "twin"):
        operator = place.operator(name)
        group = scaling_group("more", "dec", replicas=2, minimum=1)
        operator.create(place.set(name, ("pre", 2, 2, "1"), ("dec", 2, 2, "1"), groups=(group,)))
        for podgang in operator.podgangs:
            operator.initialize(podgang)
            operator.make_groups(podgang)
        operator.ungate(f"{name}-0")
    wait(lambda: place.placed("twin") == 4, what="the base PodGang of twin", timeout=60)
    place.operator("twin").observe()
    place.operator("twin").ungate("twin-0-more-0")


def _tree_waits(place: Place) -> None:
    """One PodClique does not fit, so the whole tree is pending. Twin: both fit."""
    place.play("twin", ("pre", 2, 2, "1"), ("dec", 1, 1, "1"))
    wait(lambda: place.placed("twin") == 3, what="the pods of twin", timeout=60)
    place.play("run", ("pre", 2, 2, "1"), ("dec", 2, 2, "8"))


def _podclique_gone(place: Place) -> None:
    """Its PodGang names a PodClique that does not exist. Twin: a pod of it does not exist yet."""
    operator = place.operator()
    operator.create(place.set("run", ("pre", 2, 2, "1")))
    roles = operator.podgangs["run-0"]["spec"]["podgroups"]
    roles = [*roles, {"name": "run-0-old", "minReplicas": 1, "podReferences": []}]
    place.client.patch(PODGANGS, "PodGang", "run-0", {"spec": {"podgroups": roles}}, place.name)
    place.play("twin", ("pre", 2, 2, "1"), lacking=1)


def _one_group_waits(place: Place) -> None:
    """One PodClique is placed, the other one finds no room. Twin: it does."""
    place.play("twin", ("pre", 1, 1, "1"), ("dec", 1, 1, "1"))
    wait(lambda: place.placed("twin") == 2, what="the pods of twin", timeout=60)
    place.play("run", ("pre", 2, 2, "1"), ("dec", 2, 2, "3"))


def _released(place: Place) -> None:
    """`minReplicas` is 0 by now, and the core group still needs two. Twin: it was not lowered."""
    for name in ("run", "twin"):
        place.play(name, ("dec", 2, 2, "3"))
    roles = place.operator().podgangs["run-0"]["spec"]["podgroups"]
    roles = [{**part, "minReplicas": 0} for part in roles]
    place.client.patch(PODGANGS, "PodGang", "run-0", {"spec": {"podgroups": roles}}, place.name)


def _no_group_yet(place: Place) -> None:
    """The Workload exists without its PodGroup. Twin: the PodGroup exists and the gates remain."""
    for name in ("run", "twin"):
        operator = place.operator(name)
        operator.create(place.set(name, ("dec", 2, 2, "1")))
        operator.initialize(f"{name}-0")
        operator.make_groups(f"{name}-0", only="Workload" if name == "run" else "")


def _not_expressible(place: Place) -> None:
    """The backend refuses to prepare pods. Twin: the API server refuses them."""
    cause = 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'
    errors = {
        "run": last_error(
            "ERR_BUILD_POD_RESOURCE",
            "failed to prepare pod spec with scheduler backend",
            "preferred topology is not supported by the scheduler backend",
        ),
        "twin": last_error("ERR_CREATE_POD", "failed to create Pods", cause),
    }
    for name, error in errors.items():
        place.operator(name).create(place.set(name, ("dec", 2, 2, "1")), lacking=2)
        place.operator(name).fail("PodClique", f"{name}-0-dec", place.name, error)


def _flat_whole(place: Place) -> None:
    """As on 1.37, by entries of one Workload. Twin: no node is large enough for one of them."""
    _whole(place)


def _below_size(place: Place) -> None:
    """Its minimum is placed, one more finds no room. Twin: it asks for its minimum only."""
    place.play("twin", ("dec", 1, 1, "1"))
    wait(lambda: place.placed("twin") == 1, what="the pod of twin", timeout=60)
    place.play("run", ("dec", 3, 2, "3"))


SITUATIONS_ON: dict[str, dict[str, Situation[Place]]] = {
    "k137": {
        "tree-whole": Situation(
            _whole, "running", "running", "All 4 pods are ready.",
            {"desired": 4, "created": 4, "ready": 4, "quorum": 3}, twin="no-matching-node",
        ),
        "tree-waits": Situation(
            _tree_waits, "insufficient-resources", "waiting",
            None,
            {"desired": 4, "created": 4, "scheduled": 0, "quorum": 4}, twin="running", cpu="18",
        ),
        "base-first": Situation(
            _base_first, "scheduling-gated", "waiting",
            "Group run-0-more-1-dec: 2 of 2 pods wait for base PodGang run-0: PodClique run-0-pre has 0 "
            "of 2 pods placed.",
            {"desired": 6, "created": 6, "ready": 4, "quorum": 6}, twin="running",
        ),
        "podclique-gone": Situation(
            _podclique_gone, "scheduling-gated", "waiting",
            "2 of 2 pods wait for PodGang run-0, which names PodClique run-0-old that does not exist.",
            {"desired": 2, "created": 2, "scheduled": 0}, twin="scheduling-gated",
        ),
    },
    "k136": {
        "one-group-waits": Situation(
            _one_group_waits, "insufficient-resources", "waiting",
            "Group run-0-dec: 2 pods need 6 CPUs, and 5 are free on the only usable node "
            "(test.gangboard.dev/pool=grove-one-group-waits): only 1 of 2 fits.",
            {"desired": 4, "created": 4, "ready": 2, "quorum": 4}, twin="running", cpu="9",
        ),
        "released": Situation(
            _released, "no-matching-node", "blocked",
            "2 pods request 3 CPUs each, and the only node that matches their node selector "
            "(test.gangboard.dev/pool=grove-released) has 2.",
            {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="no-matching-node", cpu="2",
        ),
        "no-group-yet": Situation(
            _no_group_yet, "podgroup-missing", "blocked",
            "2 pods wait for PodGroup run-0-dec: only Workload run-0 was created for PodGang run-0.",
            {"desired": 2, "created": 2, "scheduled": 0}, twin="scheduling-gated",
        ),
        "not-expressible": Situation(
            _not_expressible, "group-not-expressible", "blocked",
            "The scheduler backend rejects PodGang run-0: preferred topology is not supported by the "
            "scheduler backend.",
            {"desired": 2, "created": 0, "quorum": 2}, twin="pod-creation-refused",
        ),
    },
    "k135": {
        "flat-whole": Situation(
            _flat_whole, "running", "running", "All 4 pods are ready.",
            {"desired": 4, "created": 4, "ready": 4, "quorum": 3}, twin="no-matching-node",
        ),
        "flat-below-size": Situation(
            _below_size, "below-size", "degraded",
            "2 of 3 members run (quorum 2). 1 pod needs 3 CPUs, and 1 is free on the only usable "
            "node (test.gangboard.dev/pool=grove-flat-below-size).",
            {"desired": 3, "created": 3, "ready": 2, "quorum": 2}, twin="running", cpu="8",
        ),
    },
}  # fmt: skip
"""Cluster → situations played there."""
SITUATIONS = {name: item for on_one in SITUATIONS_ON.values() for name, item in on_one.items()}


@pytest.fixture(scope="module")
def places(
    controlplane_137: ControlPlane, controlplane_136: ControlPlane, controlplane_135: ControlPlane
) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    planes = {"k137": controlplane_137, "k136": controlplane_136, "k135": controlplane_135}
    for plane in planes.values():
        serve(plane.client)
    kubeconfigs = {name: plane.kubeconfig for name, plane in planes.items()}
    with Installation(kubeconfigs) as installation:
        result = {
            name: Place(planes[cluster].client, f"grove-{name}", installation, cluster)
            for cluster, situations in SITUATIONS_ON.items()
            for name in situations
        }
        with brought_about(SITUATIONS, result):
            yield result
    for plane in planes.values():
        serve_no_more(plane.client)


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_three_different_minima_are_shown(places: dict[str, Place]) -> None:
    place = places["released"]

    def numbers(name: str) -> list[str]:
        evidence = place.findings(name)[0]["evidence"]
        labels = ("spec.min", "spec.podgroups[].min", "quorum of the group")
        return [item["value"] for item in evidence if item["label"].startswith(labels)]

    wait(lambda: numbers("run") == ["2", "0", "2"], what="2, 0, 2", seen=lambda: numbers("run"))
    assert numbers("twin") == []


def test_a_minimum_that_fits_is_advised_with_recreation(
    places: dict[str, Place],
) -> None:
    """Grove's webhook rejects changes of `minAvailable` (admission/pcs/validation/podcliqueset.go)."""
    place = places["one-group-waits"]
    expected = (
        "Lower the quorum of PodClique run-0-dec in PodCliqueSet run from 2 to 1: 1 pod fits now "
        "(needs re-creating)."
    )
    wait(
        lambda: any(expected in finding["advice"] for finding in place.findings()),
        what=expected,
        seen=lambda: [finding["advice"] for finding in place.findings()],
        timeout=60,
    )


def test_its_groups_are_drawn_as_a_tree_from_the_podgang_down(places: dict[str, Place]) -> None:
    place = places["tree-whole"]
    gang = place.told()["id"]
    groups = place.installation.get(f"gangs/{gang}/")["groups"]
    assert [(group["kind"], group["name"]) for group in groups] == [
        ("PodGang", "run-0"),
        ("Workload", "run-0"),
        ("CompositePodGroup", "run-0"),
        ("PodGroup", "run-0-dec"),
        ("PodGroup", "run-0-pre"),
    ]
    page = place.installation.page(f"/gangs/{gang}/")
    assert [page.count(f'class="below-{depth}"') for depth in (1, 2, 3)] == [2, 2, 0]
