"""A kind that makes pods without Jobs: they are adopted by its label, and told apart by their role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.members import count_members
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner, Role
from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit
from gangboard.owners.job import WireJob
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from tests.domain_objects import NOW, Made, a_group, a_job, a_meta, a_pod, an_event
from tests.gangs import assemble

LABEL, RING = "toys.example.com/name", "toys.example.com/ring"


class Ring(OwnerKind):
    group = "example.com"
    kind = "Ring"
    versions = ("v1",)
    wire = WireJob
    pod_label = LABEL

    def role_of(self, pod: Pod) -> str:
        return pod.labels.get(RING, "")


TOY = Ring()
CONTROLLER = Controller("apps", "StatefulSet", "run-0", "uid-of-set")


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (*registry.owner_kinds(), TOY)
    monkeypatch.setattr(registry, "owner_kinds", lambda: kinds)
    monkeypatch.setattr(registry, "kinds_named_by_pods", lambda: (TOY,))
    monkeypatch.setattr(registry, "labels_naming_owners", lambda: frozenset({TOY.pod_label}))


def a_ring(name: str = "run", *, rings: int = 2, **fields: Any) -> Owner:
    roles = tuple(
        Role(f"{name}-{number}", replicas=1, pods=3, noun="ring") for number in range(rings)
    )
    meta = a_meta("example.com", "Ring", name, **fields)
    return Owner(meta=meta, desired=3 * rings, roles=roles)


def a_member(name: str, ring: str = "run-0", of: str = "run", **fields: Any) -> Pod:
    return a_pod(name, of=CONTROLLER, labels={LABEL: of, RING: ring}, **fields)


def uid(item: Made) -> str:
    return item.meta.ref.uid


def uids(*items: Made) -> tuple[str, ...]:
    return tuple(sorted(uid(obj) for obj in items))


def the_units(*objects: Any) -> dict[str, Unit]:
    root, *rest = objects
    facts = assemble(root, rest, now=NOW, gang_api_version="v1beta1")
    return {unit.name: unit for unit in units_of(facts)}


def test_a_pod_is_adopted_by_its_label_in_any_order_of_arrival() -> None:
    owner, pods = a_ring(), (a_member("run-0"), a_member("run-0-1"))
    objects: list[Made] = [owner, *pods]
    for order in permutations(objects):
        graph = OwnershipGraph()
        for obj in order:
            graph.put(obj)
        assert graph.roots() == {uid(owner)}
        assert graph.members(uid(owner)) == uids(owner, *pods)


def test_pods_are_separate_gangs_while_their_owner_is_missing() -> None:
    owner, pods = a_ring(), (a_member("run-0"), a_member("run-0-1"))
    graph = OwnershipGraph()
    for pod in pods:
        graph.put(pod)
    assert graph.roots() == set(uids(*pods))
    assert graph.put(owner) == {*uids(owner, *pods)}
    assert graph.remove(uid(owner)) == {*uids(owner, *pods)}
    assert graph.roots() == set(uids(*pods))


def test_a_label_counts_in_its_namespace_only_and_after_a_known_controller() -> None:
    owner, job = a_ring(), a_job("train")
    elsewhere = a_pod("far", of=CONTROLLER, labels={LABEL: "run"}, namespace="team-b")
    of_job = a_pod("train-0", of=job, labels={LABEL: "run"})
    graph = OwnershipGraph()
    for obj in (owner, job, elsewhere, of_job):
        graph.put(obj)
    assert graph.root_of(uid(elsewhere)) == uid(elsewhere)
    assert graph.root_of(uid(of_job)) == uid(job)
    assert graph.members(uid(owner)) == (uid(owner),)


def test_pods_of_a_daemonset_belong_to_no_gang() -> None:
    owner = a_ring()
    agent = a_pod("agent", of=Controller("apps", "DaemonSet", "agent", "ds"), labels={LABEL: "run"})
    graph = OwnershipGraph()
    for obj in (owner, agent):
        graph.put(obj)
    assert graph.members(uid(owner)) == (uid(owner),)


def test_a_group_that_adopted_pods_name_belongs_to_their_owner() -> None:
    owner, group, pod = a_ring(), a_group("g", quorum=2), a_member("run-0", group="g")
    graph = OwnershipGraph()
    for obj in (group, pod, owner):
        graph.put(obj)
    assert graph.roots() == {uid(owner)}
    assert graph.members(uid(owner)) == uids(owner, group, pod)


def test_events_about_the_intermediate_controller_belong_to_the_owner() -> None:
    owner, pod = a_ring(), a_member("run-0")
    between = replace(
        a_ring("run-0"), meta=a_meta("apps", "StatefulSet", "run-0", uid="uid-of-set")
    )
    graph = OwnershipGraph()
    for obj in (owner, pod):
        graph.put(obj)
    assert graph.gangs_of_event(an_event(between, "FailedCreate")) == {uid(owner)}
    assert graph.makers([uid(pod)]) == ("uid-of-set",)


def test_each_role_is_a_unit_also_without_pods() -> None:
    units = the_units(a_ring(), a_member("run-0"), a_member("run-0-1"))
    assert {name: (item.noun, item.desired, len(item.pods)) for name, item in units.items()} == {
        "run-0": ("ring", 3, 2),
        "run-1": ("ring", 3, 0),
    }
    facts = units["run-0"].gang
    assert count_members(facts, units.values()).desired == 6


def test_a_pod_without_a_role_is_outside_the_roles() -> None:
    units = the_units(a_ring(rings=1), a_member("run-0"), a_member("odd", ring="run-7"))
    assert {name: (item.desired, len(item.pods)) for name, item in units.items()} == {
        "run-0": (3, 1),
        "run": (1, 1),
    }


def test_a_role_whose_pods_name_a_group_is_in_it() -> None:
    group = a_group("g", quorum=3)
    pods = (a_member("run-0", group="g"), a_member("run-0-1", group="g"))
    units = the_units(a_ring(), group, *pods)
    assert {name: (item.desired, item.quorum, len(item.pods)) for name, item in units.items()} == {
        "g": (3, 3, 2),
        "run-1": (3, None, 0),
    }


def test_a_role_with_a_job_is_no_additional_unit() -> None:
    """By its name: not every kind has a label for the roles of its Jobs."""
    owner = a_ring(rings=1)
    driver = Role("driver", replicas=1, pods=2, child_names=("run-driver",))
    owner = replace(owner, desired=5, roles=(driver, *owner.roles))
    job = a_job("run-driver", of=owner, pods=2)
    objects = the_units(owner, job, a_pod("d-0", of=job), a_member("run-0"))
    assert {name: (item.noun, item.desired, len(item.pods)) for name, item in objects.items()} == {
        "run-driver": ("Job", 2, 1),
        "run-0": ("ring", 3, 1),
    }
    assert objects["run-driver"].roles == (driver,)
    missing = the_units(owner, a_member("run-0"))
    assert {name: (item.noun, item.missing_jobs) for name, item in missing.items()} == {
        "run-driver": ("Job", ("run-driver",)),
        "run-0": ("ring", ()),
    }


def test_pods_with_labels_of_several_kinds_are_distinguished_by_their_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class MarkedRing(Ring):
        pod_marks: Mapping[str, tuple[str, ...]] = {"by": ("toys", "old-toys")}

    class Band(Ring):
        kind = "Band"
        pod_marks: Mapping[str, tuple[str, ...]] = {"by": ("others", "old-others")}

    monkeypatch.setattr(registry, "kinds_named_by_pods", lambda: (Band(), MarkedRing()))
    owner = a_ring()
    pods = [
        a_pod(name, of=CONTROLLER, labels={LABEL: "run", **marks})
        for name, marks in (
            ("mine", {"by": "toys"}),
            ("older", {"by": "old-toys"}),
            ("theirs", {"by": "others"}),
            ("odd", {}),
        )
    ]
    graph = OwnershipGraph()
    objects: list[Made] = [owner, *pods]
    for obj in objects:
        graph.put(obj)
    assert graph.members(uid(owner)) == uids(owner, *pods[:2])
    # Its pods might belong to a gang that is not listed yet. A StatefulSet is reported as odd, because it is
    # no gang.
    assert graph.roots() == {uid(owner), uid(pods[2])}
