"""Which gang an object belongs to: one test for each way of being attached."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import Controller
from tests.domain_objects import (
    Made,
    a_composite,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_node,
    a_pod,
    a_role,
    a_workload,
    ago,
    an_entry,
    an_event,
    child_jobs,
    pods_of,
)


def graph_of(*objects: Made) -> OwnershipGraph:
    graph = OwnershipGraph()
    for obj in objects:
        graph.put(obj)
    return graph


def uid(item: Made) -> str:
    return item.meta.ref.uid


def members(graph: OwnershipGraph, root: Made) -> set[str]:
    result = graph.members(uid(root))
    assert list(result) == sorted(result)
    return set(result)


JOBSET = a_jobset("run")
JOB = child_jobs(JOBSET)[0]
PODS = pods_of(JOB, 2)


def test_pods_and_jobs_belong_to_the_topmost_known_owner() -> None:
    graph = graph_of(*PODS, JOB, JOBSET)
    family: list[Made] = [*PODS, JOB, JOBSET]
    assert {graph.root_of(uid(obj)) for obj in family} == {uid(JOBSET)}
    assert graph.roots() == {uid(JOBSET)}
    assert members(graph, JOBSET) == {uid(JOBSET), uid(JOB), *map(uid, PODS)}
    assert graph.members(uid(JOB)) == ()


def test_an_absent_controller_leaves_the_topmost_known_on_top() -> None:
    graph = graph_of(*PODS, JOB)
    assert graph.roots() == {uid(JOB)}


def test_the_owner_that_comes_last_takes_its_gangs_over_and_names_them() -> None:
    graph = graph_of(*PODS, JOB)
    assert graph.put(JOBSET) == {uid(JOB), uid(JOBSET)}
    assert graph.remove(uid(JOBSET)) == {uid(JOB), uid(JOBSET)}
    assert graph.roots() == {uid(JOB)}


@pytest.mark.parametrize(
    "controller",
    [None, Controller("example.com", "Ring", "web-5d", "rs"), Controller("", "Pod", "run-0", "p")],
)
def test_a_pod_without_a_known_owner_is_a_separate_gang(controller: Controller | None) -> None:
    pod = a_pod("lone", of=controller)
    graph = graph_of(pod)
    assert graph.roots() == {uid(pod)}
    assert members(graph, pod) == {uid(pod)}


@pytest.mark.parametrize(
    "controller",
    [Controller("apps", "DaemonSet", "agent", "ds"), Controller("", "Node", "n0", "node")],
)
def test_pods_of_daemonsets_and_nodes_are_no_gang(controller: Controller) -> None:
    pod = a_pod("agent-x", of=controller, on="n0")
    graph = graph_of(pod)
    assert graph.root_of(uid(pod)) is None
    assert graph.roots() == set()
    assert graph.roots_on_node("n0") == set()


def test_a_daemonset_of_another_api_group_is_not_infrastructure() -> None:
    pod = a_pod("agent-x", of=Controller("example.com", "DaemonSet", "agent", "ds"))
    assert graph_of(pod).roots() == {uid(pod)}


def test_bare_pods_belong_to_the_group_that_they_name() -> None:
    group, pods = a_group("ring", quorum=2), (a_pod("a", group="ring"), a_pod("b", group="ring"))
    graph = graph_of(*pods, group)
    assert graph.roots() == {uid(group)}
    assert members(graph, group) == {uid(group), *map(uid, pods)}


def test_a_bare_pod_is_a_gang_again_after_its_group_is_deleted() -> None:
    group, pod = a_group("ring", quorum=2), a_pod("a", group="ring")
    graph = graph_of(pod, group)
    assert graph.remove(uid(group)) == {uid(group), uid(pod)}
    assert graph.roots() == {uid(pod)}


def test_a_group_of_another_namespace_or_api_is_not_attached() -> None:
    pod = a_pod("a", group="ring")
    elsewhere = a_group("ring", uid="elsewhere", namespace="team-b", quorum=1)
    assert graph_of(pod, elsewhere).roots() == {uid(pod), "elsewhere"}


def test_a_group_belongs_to_its_owner() -> None:
    group = a_group("made", of=JOB, quorum=2)
    graph = graph_of(group, *pods_of(JOB, 2, group=group), JOB, JOBSET)
    assert graph.root_of(uid(group)) == uid(JOBSET)
    assert uid(group) in members(graph, JOBSET)
    assert graph.roots() == {uid(JOBSET)}


def test_any_owner_reference_attaches_a_group() -> None:
    group = a_group("made", owner_uids=("unknown", uid(JOB)), quorum=2)
    assert graph_of(group, JOB).root_of(uid(group)) == uid(JOB)


def test_a_group_whose_pods_all_have_owners_belongs_to_those() -> None:
    """A hand-made PodGroup that a Job brings along (observed on 1.37.0)."""
    group = a_group("shared", quorum=4)
    first, second = a_job("one"), a_job("two")
    pods = (*pods_of(first, 2, group="shared"), *pods_of(second, 2, group="shared"))
    graph = graph_of(group, first, second, *pods)
    assert graph.roots() == {uid(first), uid(second)}
    assert graph.root_of(uid(group)) == uid(first)
    assert uid(group) in members(graph, first)
    assert uid(group) in members(graph, second)
    assert set(graph.foreign_pods(uid(first))) == {uid(pod) for pod in pods[2:]}
    assert set(graph.foreign_pods(uid(second))) == {uid(pod) for pod in pods[:2]}


def test_a_change_of_a_stranger_touches_the_gang_that_shares_its_group() -> None:
    group, first, second = a_group("shared", quorum=3), a_job("one"), a_job("two")
    pods = (*pods_of(first, 2, group="shared"), *pods_of(second, 1, group="shared"))
    graph = graph_of(group, first, second, *pods)
    moved = a_pod("two-0", of=second, group="shared", on="n7")
    assert graph.put(moved) == {uid(first), uid(second)}
    assert graph.put(group) == {uid(first), uid(second)}


def test_a_group_with_a_bare_pod_is_a_gang_and_shown_with_the_job() -> None:
    group, job = a_group("mixed", quorum=3), a_job("one")
    owned, bare = pods_of(job, 2, group="mixed"), a_pod("bare", group="mixed")
    graph = graph_of(group, job, *owned, bare)
    assert graph.roots() == {uid(job), uid(group)}
    assert members(graph, group) == {uid(group), uid(bare)}
    assert members(graph, job) == {uid(job), uid(group), *map(uid, owned)}
    assert set(graph.foreign_pods(uid(group))) == set(map(uid, owned))
    assert set(graph.foreign_pods(uid(job))) == {uid(bare)}


def test_a_group_that_a_pod_owns_belongs_to_the_gang_of_that_pod() -> None:
    """Near miss: without the reference the group is the gang."""
    lone = a_pod("lone", group="mine")
    group = a_group("mine", owner_uids=(uid(lone),))
    for objects in ((lone, group), (group, lone)):
        graph = graph_of(*objects)
        assert graph.roots() == {uid(lone)}
        assert members(graph, lone) == {uid(lone), uid(group)}
    assert graph_of(lone, a_group("mine")).roots() == {"uid-mine"}
    led = a_pod("run-0", of=JOB, group="mine")
    group = a_group("mine", owner_uids=(uid(led),))
    assert graph_of(led, JOB, JOBSET, group).roots() == {uid(JOBSET)}


def test_templates_attach_a_group_before_there_are_pods() -> None:
    group = a_group("brought", quorum=2)
    jobset = a_jobset("run", a_role(group_name="brought"))
    graph = graph_of(group, jobset)
    assert graph.roots() == {uid(jobset)}
    assert uid(group) in members(graph, jobset)
    assert graph_of(group, a_job("solo", group_name="brought")).roots() == {"uid-solo"}


def test_an_owned_group_does_not_move_to_a_template_that_names_it() -> None:
    maker, user = a_job("maker"), a_job("user", group_name="made")
    group = a_group("made", of=maker, quorum=2)
    graph = graph_of(group, maker, user)
    assert graph.root_of(uid(group)) == uid(maker)
    assert uid(group) in members(graph, user)


def test_an_unowned_group_is_a_gang_even_without_pods() -> None:
    group = a_group("empty", quorum=2)
    assert graph_of(group).members(uid(group)) == (uid(group),)


def test_a_group_belongs_to_the_topmost_composite_group() -> None:
    top, middle = a_composite("top", quorum=2), a_composite("middle", parent_name="top", quorum=1)
    leaf, pod = a_group("leaf", parent_name="middle", quorum=1), a_pod("a", group="leaf")
    graph = graph_of(pod, leaf, middle, top)
    assert graph.roots() == {uid(top)}
    assert members(graph, top) == {uid(top), uid(middle), uid(leaf), uid(pod)}
    touched = graph.remove(uid(top))
    assert touched == {uid(top), uid(middle)}
    assert graph.roots() == {uid(middle)}


def test_a_composite_group_whose_pods_all_have_owners_is_no_gang() -> None:
    tree, leaf, job = a_composite("tree", quorum=1), a_group("leaf", parent_name="tree"), a_job()
    graph = graph_of(tree, leaf, job, *pods_of(job, 2, group="leaf"))
    assert graph.roots() == {uid(job)}
    assert {uid(tree), uid(leaf)} <= members(graph, job)


def test_an_ownership_cycle_has_one_root() -> None:
    first, second = a_composite("one", parent_name="two"), a_composite("two", parent_name="one")
    graph = graph_of(first, second)
    assert graph.roots() == {uid(first)}
    assert members(graph, first) == {uid(first), uid(second)}


def test_a_workload_belongs_to_its_owner_by_reference_or_by_controller_ref() -> None:
    by_uid = a_workload("by-uid", of=JOB)
    by_name = a_workload("by-name", controller_ref=("batch", "Job", JOB.meta.ref.name))
    other = a_workload("other", controller_ref=("example.com", "Job", JOB.meta.ref.name))
    graph = graph_of(by_uid, by_name, other, JOB)
    assert graph.root_of(uid(by_uid)) == graph.root_of(uid(by_name)) == uid(JOB)
    assert graph.root_of(uid(other)) == uid(other)


def test_an_unowned_workload_belongs_to_the_groups_that_name_it() -> None:
    workload = a_workload("plan", quorum=2)
    group = a_group("ring", workload_name="plan", quorum=2)
    graph = graph_of(workload, group)
    assert graph.roots() == {uid(group)}
    assert members(graph, group) == {uid(group), uid(workload)}
    assert graph.remove(uid(group)) == {uid(group), uid(workload)}
    assert graph.roots() == {uid(workload)}


def test_a_group_without_owner_belongs_to_the_owner_of_its_workload() -> None:
    workload = a_workload("plan", controller_ref=("jobset.x-k8s.io", "JobSet", "run"))
    group = a_group("ring", workload_name="plan", quorum=2)
    graph = graph_of(workload, group, JOBSET)
    assert graph.roots() == {uid(JOBSET)}


def test_the_newer_of_two_groups_of_one_name_counts() -> None:
    """A deletion can be seen after the creation of the next object of that name."""
    old = a_group("ring", uid="old", quorum=2, created_at=ago(100))
    new = a_group("ring", uid="new", quorum=2, created_at=ago(1))
    pod = a_pod("a", group="ring")
    graph = graph_of(new, pod, old)
    assert graph.root_of(uid(pod)) == "new"
    assert graph.remove("old") >= {"old"}
    assert graph.roots() == {"new"}


def test_nodes_and_events_touch_the_gangs_they_are_about() -> None:
    pods = pods_of(JOB, 2, on="n0")
    graph = graph_of(*pods, JOB, JOBSET)
    assert graph.put(a_node("n0", ready=None)) == {uid(JOBSET)}
    assert graph.put(a_node("n1")) == set()
    assert graph.put(an_event(pods[0], "BackOff")) == {uid(JOBSET)}
    assert graph.gangs_of_event(an_event(a_pod("nobody"), "BackOff")) == set()


def test_an_event_about_an_unknown_maker_of_members_touches_their_gang() -> None:
    """A StatefulSet is not a member, and the event about its failed pods has no other object."""
    maker = Controller("apps", "StatefulSet", "ring", "uid-sts")
    group = a_group("ring", quorum=4)
    grouped, alone = a_pod("ring-0", of=maker, group="ring"), a_pod("web-0", of=maker)
    graph = graph_of(group, grouped, alone)
    refused = an_event(a_pod("ring", uid="uid-sts"), "FailedCreate")
    assert graph.gangs_of_event(refused) == {uid(group)}
    assert graph.makers(graph.members(uid(group))) == ("uid-sts",)
    assert graph.makers([uid(alone), uid(group)]) == ()


def test_the_makers_that_are_members_are_not_named_twice() -> None:
    graph = graph_of(*pods_of(JOB, 2, group="ring"), JOB, JOBSET)
    assert graph.makers(graph.members(uid(JOBSET))) == ()


def test_an_event_of_a_kubelet_names_its_node_instead_of_a_uid() -> None:
    graph = graph_of(*pods_of(JOB, 1, on="n0"), JOB)
    assert graph.gangs_of_event(an_event(a_node("n0", uid="n0"), "NodeNotReady")) == {uid(JOB)}
    assert graph.gangs_of_event(an_event(a_node("n1", uid="n1"), "NodeNotReady")) == set()


def test_a_pod_that_is_placed_moves_between_nodes() -> None:
    graph = graph_of(JOB, a_pod("a", of=JOB))
    assert graph.put(a_pod("a", of=JOB, on="n0")) == {uid(JOB)}
    assert graph.roots_on_node("n0") == {uid(JOB)}
    graph.remove("uid-a")
    assert graph.roots_on_node("n0") == set()
    assert graph.remove("uid-a") == set()


def test_a_hold_belongs_to_the_gang_of_the_owner_that_it_names() -> None:
    hold = a_hold(JOB)
    graph = graph_of(hold, JOB, *PODS, JOBSET)
    assert graph.root_of(uid(hold)) == uid(JOBSET)
    assert uid(hold) in members(graph, JOBSET)
    assert graph.roots() == {uid(JOBSET)}
    assert graph.put(replace(hold, reason="another")) == {uid(JOBSET)}
    assert graph.remove(uid(hold)) == {uid(JOBSET)}
    assert uid(hold) not in members(graph, JOBSET)


def test_the_owner_reference_of_a_hold_does_not_decide() -> None:
    other = a_jobset("other")
    hold = a_hold(JOB, of=other)
    graph = graph_of(JOBSET, other, JOB, hold)
    assert graph.gangs_of(uid(hold)) == {uid(JOBSET)}


def test_a_hold_whose_spec_is_edited_touches_both_gangs() -> None:
    other = a_jobset("other")
    hold = a_hold(JOB)
    graph = graph_of(JOBSET, other, JOB, hold)
    assert graph.put(replace(hold, owner_uid=uid(other))) == {uid(JOBSET), uid(other)}


@pytest.mark.parametrize("named", ["", "uid-of-the-jobset-before", "hold-run-workers-0"])
def test_a_hold_without_a_known_owner_touches_no_gang(named: str) -> None:
    hold = a_hold(JOB, owner_uid=named)
    graph = graph_of(JOBSET, JOB)
    assert graph.put(hold) == set()
    assert graph.root_of(uid(hold)) is None
    assert graph.roots() == {uid(JOBSET)}
    assert uid(hold) not in members(graph, JOBSET)
    assert graph.remove(uid(hold)) == set()


def test_a_recreated_jobset_does_not_inherit_the_hold() -> None:
    hold = a_hold(JOB)
    graph = graph_of(JOBSET, hold)
    anew = a_jobset("run", uid="uid-run-anew")
    graph.remove(uid(JOBSET))
    assert graph.put(anew) == {"uid-run-anew"}
    assert graph.root_of(uid(hold)) is None
    assert members(graph, anew) == {"uid-run-anew"}


def test_a_hold_that_precedes_its_owner_is_attached_later() -> None:
    hold = a_hold(JOB)
    graph = graph_of(hold)
    assert graph.roots() == set()
    assert graph.put(JOBSET) == {uid(JOBSET)}
    assert members(graph, JOBSET) == {uid(JOBSET), uid(hold)}


@pytest.mark.parametrize("of", [JOBSET, JOB, PODS[0]])
def test_an_entry_in_a_queue_belongs_to_the_gang_of_its_owner(of: Made) -> None:
    entry = an_entry(of)
    graph = graph_of(JOBSET, JOB, *PODS)
    assert graph.put(entry) == {uid(JOBSET)}
    assert uid(entry) in members(graph, JOBSET)
    assert graph.roots() == {uid(JOBSET)}
    assert graph.put(replace(entry, active=False)) == {uid(JOBSET)}
    assert graph.remove(uid(entry)) == {uid(JOBSET)}


def test_an_entry_of_a_bare_pod_follows_it_into_the_gang_of_its_group() -> None:
    pod, group = a_pod("a", group="ring"), a_group("ring", quorum=2)
    entry = an_entry(pod)
    graph = graph_of(entry, pod)
    assert members(graph, pod) == {uid(pod), uid(entry)}
    graph.put(group)
    assert members(graph, group) == {uid(group), uid(pod), uid(entry)}


def test_an_entry_of_a_daemonset_pod_is_not_attached() -> None:
    pod = a_pod("agent-x", of=Controller("apps", "DaemonSet", "agent", "ds"))
    graph = graph_of(pod)
    assert graph.put(an_entry(pod)) == set()
    assert graph.roots() == set()
