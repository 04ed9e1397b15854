"""Which gang an object belongs to: one test for each way of being attached."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.diagnosis.kinship import Kinship
from gangboard.domain.objects import Controller
from tests.diagnosis.building import (
    Made,
    a_composite,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_node,
    a_part,
    a_pod,
    a_workload,
    ago,
    an_entry,
    an_event,
    child_jobs,
    pods_of,
)


def kin(*objects: Made) -> Kinship:
    kinship = Kinship()
    for thing in objects:
        kinship.put(thing)
    return kinship


def uid(thing: Made) -> str:
    return thing.meta.ref.uid


def members(kinship: Kinship, root: Made) -> set[str]:
    found = kinship.members(uid(root))
    assert list(found) == sorted(found)
    return set(found)


JOBSET = a_jobset("run")
JOB = child_jobs(JOBSET)[0]
PODS = pods_of(JOB, 2)


def test_pods_and_jobs_belong_to_the_topmost_known_owner() -> None:
    kinship = kin(*PODS, JOB, JOBSET)
    family: list[Made] = [*PODS, JOB, JOBSET]
    assert {kinship.root_of(uid(thing)) for thing in family} == {uid(JOBSET)}
    assert kinship.roots() == {uid(JOBSET)}
    assert members(kinship, JOBSET) == {uid(JOBSET), uid(JOB), *map(uid, PODS)}
    assert kinship.members(uid(JOB)) == ()


def test_an_absent_controller_leaves_the_topmost_known_on_top() -> None:
    kinship = kin(*PODS, JOB)
    assert kinship.roots() == {uid(JOB)}


def test_the_owner_that_comes_last_takes_its_gangs_over_and_names_them() -> None:
    kinship = kin(*PODS, JOB)
    assert kinship.put(JOBSET) == {uid(JOB), uid(JOBSET)}
    assert kinship.remove(uid(JOBSET)) == {uid(JOB), uid(JOBSET)}
    assert kinship.roots() == {uid(JOB)}


@pytest.mark.parametrize(
    "controller",
    [None, Controller("apps", "ReplicaSet", "web-5d", "rs"), Controller("", "Pod", "run-0", "p")],
)
def test_a_pod_of_nobody_known_is_a_gang_of_its_own(controller: Controller | None) -> None:
    pod = a_pod("lone", of=controller)
    kinship = kin(pod)
    assert kinship.roots() == {uid(pod)}
    assert members(kinship, pod) == {uid(pod)}


@pytest.mark.parametrize(
    "controller",
    [Controller("apps", "DaemonSet", "agent", "ds"), Controller("", "Node", "n0", "node")],
)
def test_pods_of_daemonsets_and_nodes_are_no_gang(controller: Controller) -> None:
    pod = a_pod("agent-x", of=controller, on="n0")
    kinship = kin(pod)
    assert kinship.root_of(uid(pod)) is None
    assert kinship.roots() == set()
    assert kinship.roots_on_node("n0") == set()


def test_a_daemonset_of_another_api_group_is_not_infrastructure() -> None:
    pod = a_pod("agent-x", of=Controller("example.com", "DaemonSet", "agent", "ds"))
    assert kin(pod).roots() == {uid(pod)}


def test_bare_pods_belong_to_the_group_that_they_name() -> None:
    group, pods = a_group("ring", quorum=2), (a_pod("a", group="ring"), a_pod("b", group="ring"))
    kinship = kin(*pods, group)
    assert kinship.roots() == {uid(group)}
    assert members(kinship, group) == {uid(group), *map(uid, pods)}


def test_a_bare_pod_is_a_gang_again_when_its_group_goes() -> None:
    group, pod = a_group("ring", quorum=2), a_pod("a", group="ring")
    kinship = kin(pod, group)
    assert kinship.remove(uid(group)) == {uid(group), uid(pod)}
    assert kinship.roots() == {uid(pod)}


def test_a_group_of_another_namespace_or_api_is_not_the_one_named() -> None:
    pod = a_pod("a", group="ring")
    elsewhere = a_group("ring", uid="elsewhere", namespace="team-b", quorum=1)
    assert kin(pod, elsewhere).roots() == {uid(pod), "elsewhere"}


def test_a_group_belongs_to_its_owner() -> None:
    group = a_group("made", of=JOB, quorum=2)
    kinship = kin(group, *pods_of(JOB, 2, group=group), JOB, JOBSET)
    assert kinship.root_of(uid(group)) == uid(JOBSET)
    assert uid(group) in members(kinship, JOBSET)
    assert kinship.roots() == {uid(JOBSET)}


def test_any_owner_reference_attaches_a_group() -> None:
    group = a_group("made", owner_uids=("unknown", uid(JOB)), quorum=2)
    assert kin(group, JOB).root_of(uid(group)) == uid(JOB)


def test_a_group_whose_pods_all_have_owners_belongs_to_those() -> None:
    """A hand-made PodGroup that a Job brings along (observed on 1.37.0)."""
    group = a_group("shared", quorum=4)
    one, two = a_job("one"), a_job("two")
    pods = (*pods_of(one, 2, group="shared"), *pods_of(two, 2, group="shared"))
    kinship = kin(group, one, two, *pods)
    assert kinship.roots() == {uid(one), uid(two)}
    assert kinship.root_of(uid(group)) == uid(one)
    assert uid(group) in members(kinship, one)
    assert uid(group) in members(kinship, two)
    assert set(kinship.strangers(uid(one))) == {uid(pod) for pod in pods[2:]}
    assert set(kinship.strangers(uid(two))) == {uid(pod) for pod in pods[:2]}


def test_a_change_of_a_stranger_touches_the_gang_that_shares_its_group() -> None:
    group, one, two = a_group("shared", quorum=3), a_job("one"), a_job("two")
    pods = (*pods_of(one, 2, group="shared"), *pods_of(two, 1, group="shared"))
    kinship = kin(group, one, two, *pods)
    moved = a_pod("two-0", of=two, group="shared", on="n7")
    assert kinship.put(moved) == {uid(one), uid(two)}
    assert kinship.put(group) == {uid(one), uid(two)}


def test_a_group_with_one_bare_pod_is_a_gang_and_still_shown_with_the_job() -> None:
    group, job = a_group("mixed", quorum=3), a_job("one")
    owned, bare = pods_of(job, 2, group="mixed"), a_pod("bare", group="mixed")
    kinship = kin(group, job, *owned, bare)
    assert kinship.roots() == {uid(job), uid(group)}
    assert members(kinship, group) == {uid(group), uid(bare)}
    assert members(kinship, job) == {uid(job), uid(group), *map(uid, owned)}
    assert set(kinship.strangers(uid(group))) == set(map(uid, owned))
    assert set(kinship.strangers(uid(job))) == {uid(bare)}


def test_templates_attach_a_group_before_there_are_pods() -> None:
    group = a_group("brought", quorum=2)
    jobset = a_jobset("run", a_part(group_name="brought"))
    kinship = kin(group, jobset)
    assert kinship.roots() == {uid(jobset)}
    assert uid(group) in members(kinship, jobset)
    assert kin(group, a_job("solo", group_name="brought")).roots() == {"uid-solo"}


def test_an_owned_group_does_not_move_to_a_template_that_names_it() -> None:
    maker, user = a_job("maker"), a_job("user", group_name="made")
    group = a_group("made", of=maker, quorum=2)
    kinship = kin(group, maker, user)
    assert kinship.root_of(uid(group)) == uid(maker)
    assert uid(group) in members(kinship, user)


def test_a_group_of_nobody_is_a_gang_even_without_pods() -> None:
    group = a_group("empty", quorum=2)
    assert kin(group).members(uid(group)) == (uid(group),)


def test_a_group_belongs_to_the_topmost_composite_group() -> None:
    top, middle = a_composite("top", quorum=2), a_composite("middle", parent_name="top", quorum=1)
    leaf, pod = a_group("leaf", parent_name="middle", quorum=1), a_pod("a", group="leaf")
    kinship = kin(pod, leaf, middle, top)
    assert kinship.roots() == {uid(top)}
    assert members(kinship, top) == {uid(top), uid(middle), uid(leaf), uid(pod)}
    touched = kinship.remove(uid(top))
    assert touched == {uid(top), uid(middle)}
    assert kinship.roots() == {uid(middle)}


def test_a_composite_group_whose_pods_all_have_owners_is_no_gang() -> None:
    tree, leaf, job = a_composite("tree", quorum=1), a_group("leaf", parent_name="tree"), a_job()
    kinship = kin(tree, leaf, job, *pods_of(job, 2, group="leaf"))
    assert kinship.roots() == {uid(job)}
    assert {uid(tree), uid(leaf)} <= members(kinship, job)


def test_a_ring_of_parents_has_one_top() -> None:
    one, two = a_composite("one", parent_name="two"), a_composite("two", parent_name="one")
    kinship = kin(one, two)
    assert kinship.roots() == {uid(one)}
    assert members(kinship, one) == {uid(one), uid(two)}


def test_a_workload_belongs_to_its_owner_by_reference_or_by_controller_ref() -> None:
    by_uid = a_workload("by-uid", of=JOB)
    by_name = a_workload("by-name", controller_ref=("batch", "Job", JOB.meta.ref.name))
    other = a_workload("other", controller_ref=("example.com", "Job", JOB.meta.ref.name))
    kinship = kin(by_uid, by_name, other, JOB)
    assert kinship.root_of(uid(by_uid)) == kinship.root_of(uid(by_name)) == uid(JOB)
    assert kinship.root_of(uid(other)) == uid(other)


def test_a_workload_of_nobody_belongs_to_the_groups_that_name_it() -> None:
    workload = a_workload("plan", quorum=2)
    group = a_group("ring", workload_name="plan", quorum=2)
    kinship = kin(workload, group)
    assert kinship.roots() == {uid(group)}
    assert members(kinship, group) == {uid(group), uid(workload)}
    assert kinship.remove(uid(group)) == {uid(group), uid(workload)}
    assert kinship.roots() == {uid(workload)}


def test_a_group_without_owner_belongs_to_the_owner_of_its_workload() -> None:
    workload = a_workload("plan", controller_ref=("jobset.x-k8s.io", "JobSet", "run"))
    group = a_group("ring", workload_name="plan", quorum=2)
    kinship = kin(workload, group, JOBSET)
    assert kinship.roots() == {uid(JOBSET)}


def test_a_remade_group_is_the_newer_one() -> None:
    """A deletion can be seen after the creation of the next object of that name."""
    old = a_group("ring", uid="old", quorum=2, created_at=ago(100))
    new = a_group("ring", uid="new", quorum=2, created_at=ago(1))
    pod = a_pod("a", group="ring")
    kinship = kin(new, pod, old)
    assert kinship.root_of(uid(pod)) == "new"
    assert kinship.remove("old") >= {"old"}
    assert kinship.roots() == {"new"}


def test_nodes_and_events_touch_the_gangs_they_are_about() -> None:
    pods = pods_of(JOB, 2, on="n0")
    kinship = kin(*pods, JOB, JOBSET)
    assert kinship.put(a_node("n0", ready=None)) == {uid(JOBSET)}
    assert kinship.put(a_node("n1")) == set()
    assert kinship.put(an_event(pods[0], "BackOff")) == {uid(JOBSET)}
    assert kinship.touch_event(an_event(a_pod("nobody"), "BackOff")) == set()


def test_an_event_about_an_unknown_maker_of_members_touches_their_gang() -> None:
    """A StatefulSet is no member; that it cannot make its pods is told of it alone."""
    maker = Controller("apps", "StatefulSet", "ring", "uid-sts")
    group = a_group("ring", quorum=4)
    grouped, alone = a_pod("ring-0", of=maker, group="ring"), a_pod("web-0", of=maker)
    kinship = kin(group, grouped, alone)
    refused = an_event(a_pod("ring", uid="uid-sts"), "FailedCreate")
    assert kinship.touch_event(refused) == {uid(group)}
    assert kinship.makers(kinship.members(uid(group))) == ("uid-sts",)
    assert kinship.makers([uid(alone), uid(group)]) == ()


def test_the_makers_that_are_members_are_not_named_twice() -> None:
    kinship = kin(*pods_of(JOB, 2, group="ring"), JOB, JOBSET)
    assert kinship.makers(kinship.members(uid(JOBSET))) == ()


def test_an_event_of_a_kubelet_names_its_node_instead_of_a_uid() -> None:
    kinship = kin(*pods_of(JOB, 1, on="n0"), JOB)
    assert kinship.touch_event(an_event(a_node("n0", uid="n0"), "NodeNotReady")) == {uid(JOB)}
    assert kinship.touch_event(an_event(a_node("n1", uid="n1"), "NodeNotReady")) == set()


def test_a_pod_that_is_placed_moves_between_nodes() -> None:
    kinship = kin(JOB, a_pod("a", of=JOB))
    assert kinship.put(a_pod("a", of=JOB, on="n0")) == {uid(JOB)}
    assert kinship.roots_on_node("n0") == {uid(JOB)}
    kinship.remove("uid-a")
    assert kinship.roots_on_node("n0") == set()
    assert kinship.remove("uid-a") == set()


def test_a_hold_belongs_to_the_gang_of_the_owner_that_it_names() -> None:
    hold = a_hold(JOB)
    kinship = kin(hold, JOB, *PODS, JOBSET)
    assert kinship.root_of(uid(hold)) == uid(JOBSET)
    assert uid(hold) in members(kinship, JOBSET)
    assert kinship.roots() == {uid(JOBSET)}
    assert kinship.put(replace(hold, reason="another")) == {uid(JOBSET)}
    assert kinship.remove(uid(hold)) == {uid(JOBSET)}
    assert uid(hold) not in members(kinship, JOBSET)


def test_the_owner_reference_of_a_hold_does_not_decide() -> None:
    other = a_jobset("other")
    hold = a_hold(JOB, of=other)
    kinship = kin(JOBSET, other, JOB, hold)
    assert kinship.gangs_of(uid(hold)) == {uid(JOBSET)}


def test_a_hold_whose_spec_is_edited_touches_both_gangs() -> None:
    other = a_jobset("other")
    hold = a_hold(JOB)
    kinship = kin(JOBSET, other, JOB, hold)
    assert kinship.put(replace(hold, owner_uid=uid(other))) == {uid(JOBSET), uid(other)}


@pytest.mark.parametrize("named", ["", "uid-of-the-jobset-before", "hold-run-workers-0"])
def test_a_hold_of_nobody_known_touches_nothing(named: str) -> None:
    hold = a_hold(JOB, owner_uid=named)
    kinship = kin(JOBSET, JOB)
    assert kinship.put(hold) == set()
    assert kinship.root_of(uid(hold)) is None
    assert kinship.roots() == {uid(JOBSET)}
    assert uid(hold) not in members(kinship, JOBSET)
    assert kinship.remove(uid(hold)) == set()


def test_a_recreated_jobset_does_not_inherit_the_hold() -> None:
    hold = a_hold(JOB)
    kinship = kin(JOBSET, hold)
    anew = a_jobset("run", uid="uid-run-anew")
    kinship.remove(uid(JOBSET))
    assert kinship.put(anew) == {"uid-run-anew"}
    assert kinship.root_of(uid(hold)) is None
    assert members(kinship, anew) == {"uid-run-anew"}


def test_a_hold_that_was_seen_before_its_owner_comes_along_with_it() -> None:
    hold = a_hold(JOB)
    kinship = kin(hold)
    assert kinship.roots() == set()
    assert kinship.put(JOBSET) == {uid(JOBSET)}
    assert members(kinship, JOBSET) == {uid(JOBSET), uid(hold)}


@pytest.mark.parametrize("of", [JOBSET, JOB, PODS[0]])
def test_an_entry_in_a_queue_belongs_to_the_gang_of_its_owner(of: Made) -> None:
    entry = an_entry(of)
    kinship = kin(JOBSET, JOB, *PODS)
    assert kinship.put(entry) == {uid(JOBSET)}
    assert uid(entry) in members(kinship, JOBSET)
    assert kinship.roots() == {uid(JOBSET)}
    assert kinship.put(replace(entry, active=False)) == {uid(JOBSET)}
    assert kinship.remove(uid(entry)) == {uid(JOBSET)}


def test_an_entry_of_a_bare_pod_follows_it_into_the_gang_of_its_group() -> None:
    pod, group = a_pod("a", group="ring"), a_group("ring", quorum=2)
    entry = an_entry(pod)
    kinship = kin(entry, pod)
    assert members(kinship, pod) == {uid(pod), uid(entry)}
    kinship.put(group)
    assert members(kinship, group) == {uid(group), uid(pod), uid(entry)}


def test_an_entry_of_a_daemonset_pod_belongs_to_nobody() -> None:
    pod = a_pod("agent-x", of=Controller("apps", "DaemonSet", "agent", "ds"))
    kinship = kin(pod)
    assert kinship.put(an_entry(pod)) == set()
    assert kinship.roots() == set()
