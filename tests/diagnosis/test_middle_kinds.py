"""Objects between an owner and its pods, and groups that are owned by groups."""

from __future__ import annotations

from itertools import permutations

import pytest

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.owners.job import WireJob
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from tests.domain_objects import (
    Made,
    a_composite,
    a_group,
    a_job,
    a_meta,
    a_plan,
    a_pod,
    a_workload,
    an_event,
)


class Ring(OwnerKind):
    group = "example.com"
    kind = "Ring"
    versions = ("v1",)
    wire = WireJob


class Part(Ring):
    kind = "Part"
    stands_alone = False
    pod_label = "example.com/part"


RING, PART = Ring(), Part()


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (*registry.owner_kinds(), RING, PART)
    monkeypatch.setattr(registry, "owner_kinds", lambda: kinds)
    monkeypatch.setattr(registry, "kinds_named_by_pods", lambda: (PART,))
    monkeypatch.setattr(registry, "labels_naming_owners", lambda: frozenset({PART.pod_label}))


def a_ring(name: str = "ring") -> Owner:
    return Owner(meta=a_meta("example.com", "Ring", name))


def a_part(name: str = "part", of: Made | Controller | None = None) -> Owner:
    return Owner(meta=a_meta("example.com", "Part", name, of=of))


def uids(*items: Made) -> set[str]:
    return {obj.meta.ref.uid for obj in items}


def the_graph(*items: Made) -> OwnershipGraph:
    graph = OwnershipGraph()
    for obj in items:
        graph.put(obj)
    return graph


def gangs(*items: Made) -> dict[str, set[str]]:
    """Return root → members, after it was the same in every order (of six at most)."""
    orders = permutations(items) if len(items) < 7 else (items, items[::-1])
    pictures = []
    for order in orders:
        graph = the_graph(*order)
        pictures.append({root: set(graph.members(root)) for root in graph.roots()})
    assert all(picture == pictures[0] for picture in pictures)
    return pictures[0]


def test_intermediate_objects_and_their_pods_belong_to_the_owner() -> None:
    ring = a_ring()
    part = a_part(of=ring)
    pods = (a_pod("by-reference", of=part), a_pod("by-label", labels={"example.com/part": "part"}))
    assert gangs(ring, part, *pods) == {"uid-ring": uids(ring, part, *pods)}


def test_an_intermediate_object_without_owner_is_no_gang() -> None:
    part = a_part()
    pod = a_pod("p", of=part)
    assert gangs(part, pod) == {"uid-p": uids(pod)}
    assert the_graph(part, pod).root_of("uid-part") is None


def test_below_an_unknown_owner_it_is_no_gang_either() -> None:
    part = a_part(of=Controller("x.io", "Whatever", "w", "uid-w"))
    pod = a_pod("p", of=part)
    assert gangs(part, pod) == {"uid-p": uids(pod)}


def test_its_pods_that_name_a_group_are_the_gang_of_that_group() -> None:
    part, group = a_part(), a_group("g", quorum=2)
    pods = (a_pod("p0", of=part, group=group), a_pod("p1", of=part, group=group))
    assert gangs(part, group, *pods) == {"uid-g": uids(group, *pods)}


def test_an_owner_adopts_and_releases_its_whole_tree() -> None:
    ring = a_ring()
    part = a_part(of=ring)
    pod = a_pod("p", of=part)
    graph = the_graph(part, pod)
    assert graph.put(ring) == {"uid-p", "uid-ring"}
    assert graph.remove("uid-ring") >= {"uid-p", "uid-ring"}
    assert graph.roots() == {"uid-p"}


def test_a_ring_of_owners_loses_no_pod_and_counts_none_twice() -> None:
    item = a_part("one", of=Controller("example.com", "Part", "two", "uid-two"))
    two = a_part("two", of=item)
    itself = a_part("self", of=Controller("example.com", "Part", "self", "uid-self"))
    pods = (a_pod("p1", of=item), a_pod("p2", of=two), a_pod("p3", of=itself))
    result = gangs(item, two, itself, *pods)
    assert result == {f"uid-p{number}": {f"uid-p{number}"} for number in (1, 2, 3)}


def test_a_group_that_a_group_owns_is_in_the_gang_of_that() -> None:
    """As one PodGroup for each part; the groups stand before the pods that will name them."""
    job = a_job()
    above = a_composite("above", of=job)
    below = a_group("below", quorum=2, of=above)
    plan = a_workload("plan", of=above)
    assert gangs(job, above, below, plan) == {"uid-train": uids(job, above, below, plan)}


def test_a_workload_of_1_35_that_a_group_owns_is_in_its_gang() -> None:
    job = a_job()
    above = a_composite("above", of=job)
    plan = a_plan("plan", of=above)
    assert gangs(job, above, plan) == {"uid-train": uids(job, above, plan)}


def test_a_workload_that_a_group_owns_is_where_that_group_is() -> None:
    """Here in the gang of the Job whose template names the group."""
    job, group = a_job(group_name="g"), a_group("g", quorum=2)
    plan = a_workload("plan", of=group)
    assert gangs(job, group, plan) == {"uid-train": uids(job, group, plan)}


def test_the_top_group_is_the_gang_if_there_is_no_owner() -> None:
    above = a_composite("above")
    below = a_group("below", quorum=1, of=above)
    pod = a_pod("p", group="below")
    assert gangs(above, below, pod) == {"uid-above": uids(above, below, pod)}


def test_groups_that_own_each_other_are_in_one_gang() -> None:
    item = a_group("one", of=Controller("scheduling.k8s.io", "PodGroup", "two", "uid-two"))
    two = a_group("two", of=item)
    assert gangs(item, two) == {"uid-one": uids(item, two)}


def test_events_about_an_intermediate_object_belong_to_its_gang() -> None:
    ring = a_ring()
    part = a_part(of=ring)
    assert the_graph(ring, part).gangs_of_event(an_event(part, "FailedCreate")) == {"uid-ring"}
