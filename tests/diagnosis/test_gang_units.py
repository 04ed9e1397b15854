"""How a gang is divided into units, and what counts as its current attempt."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.members import count_members
from gangboard.domain.group import Policy
from gangboard.domain.owner import Outcome, Owner
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    NOW,
    Made,
    a_composite,
    a_group,
    a_job,
    a_jobset,
    a_meta,
    a_pod,
    a_role,
    a_workload,
    ago,
    an_event,
    child_jobs,
    failed,
    pods_of,
    requests,
    succeeded,
)
from tests.gangs import assemble


def gang(root: Made, *objects: Made, **fields: Any) -> Gang:
    return assemble(root, objects, **{"now": NOW, "gang_api_version": "v1beta1", **fields})  # type: ignore[arg-type]


def the_units(*objects: Any, **fields: Any) -> dict[str, Unit]:
    return {unit.name: unit for unit in units_of(gang(*objects, **fields))}


def names(items: Any) -> list[str]:
    return [obj.meta.ref.name for obj in items]


# Units


def test_a_standalone_job_is_its_own_unit() -> None:
    job = a_job("train", pods=4)
    (unit,) = the_units(job, *pods_of(job, 4)).values()
    assert (unit.name, unit.noun, unit.desired, unit.quorum) == ("train", "Job", 4, None)
    assert unit.jobs == (job,)
    assert len(unit.pods) == 4


def test_each_child_job_is_a_unit_without_groups() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", jobs=11, pods=2))
    jobs = child_jobs(jobset)
    units = the_units(jobset, *jobs, *pods_of(jobs[0], 1))
    assert list(units)[:3] == ["run-driver-0", "run-workers-0", "run-workers-1"]
    assert list(units)[-1] == "run-workers-10"
    assert {unit.noun for unit in units.values()} == {"Job"}
    assert units["run-driver-0"].pods[0].meta.ref.name == "run-driver-0-0"
    assert units["run-workers-3"].roles == (jobset.roles[1],)


def test_missing_child_jobs_of_a_role_are_one_unit() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", jobs=3, pods=2))
    driver = child_jobs(jobset)[0]
    units = the_units(jobset, driver)
    assert list(units) == ["run-driver-0", "workers"]
    workers = units["workers"]
    assert workers.missing_jobs == ("run-workers-0", "run-workers-1", "run-workers-2")
    assert (workers.noun, workers.desired, workers.roles) == ("Job", 6, (jobset.roles[1],))


def test_a_single_missing_job_is_called_by_its_name() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    first = child_jobs(jobset)[0]
    units = the_units(jobset, first)
    assert units["run-workers-1"].missing_jobs == ("run-workers-1",)


def test_the_group_of_one_job_has_the_name_of_the_job() -> None:
    """1.36 makes one PodGroup for each child Job."""
    jobset = a_jobset("run", a_role(jobs=2))
    jobs = child_jobs(jobset)
    groups = [a_group(f"{job.meta.ref.name}-5f-pgt", of=job, quorum=2) for job in jobs]
    pods = [
        pod for job, group in zip(jobs, groups, strict=True) for pod in pods_of(job, 2, group=group)
    ]
    units = the_units(jobset, *jobs, *groups, *pods)
    assert list(units) == ["run-workers-0", "run-workers-1"]
    item = units["run-workers-1"]
    assert (item.noun, item.quorum, item.desired, item.group) == ("Job", 2, 2, groups[1])
    assert item.group_name == "run-workers-1-5f-pgt"


def test_a_group_of_a_job_is_its_unit_before_there_are_pods() -> None:
    job = a_job("train", pods=3)
    group = a_group("train-5f", of=job, quorum=3)
    (unit,) = the_units(job, group).values()
    assert (unit.name, unit.quorum, unit.group_name) == ("train", 3, "train-5f")


def test_pods_show_that_a_job_is_not_in_its_group() -> None:
    """The Job controller fell back: a group exists, but the pods do not name it."""
    job = a_job("train", pods=2)
    (unit,) = the_units(job, a_group("train-5f", of=job, quorum=2), *pods_of(job, 2)).values()
    assert (unit.noun, unit.quorum, unit.group) == ("Job", None, None)


def test_a_group_of_several_jobs_is_one_unit_with_the_missing_jobs() -> None:
    jobset = a_jobset(
        "run",
        a_role("driver", pods=1, group_name="all"),
        a_role("workers", jobs=2, group_name="all"),
    )
    driver, *_ = child_jobs(jobset)
    group = a_group("all", quorum=5)
    (unit,) = the_units(jobset, driver, group, *pods_of(driver, 1)).values()
    assert (unit.name, unit.noun, unit.quorum, unit.desired) == ("all", "group", 5, 5)
    assert unit.missing_jobs == ("run-workers-0", "run-workers-1")
    assert unit.roles == jobset.roles


def test_missing_jobs_join_the_group_that_the_others_of_their_part_share() -> None:
    """A group that the JobSet made for a part: its templates do not name it."""
    jobset = a_jobset("run", a_role("workers", jobs=3))
    first, second, _ = child_jobs(jobset)
    group = a_group("run-7c", of=jobset, quorum=6)
    pods = (*pods_of(first, 2, group=group), *pods_of(second, 2, group=group))
    (unit,) = the_units(jobset, first, second, group, *pods).values()
    assert (unit.name, unit.desired, unit.missing_jobs) == ("run-7c", 6, ("run-workers-2",))


def test_a_basic_group_has_no_quorum() -> None:
    job = a_job("sweep", pods=4)
    group = a_group("sweep-5f", of=job)
    (unit,) = the_units(job, group, *pods_of(job, 4, group=group)).values()
    assert (unit.quorum, unit.group, unit.needed) == (None, group, 4)


def test_an_unknown_policy_gives_no_quorum_either() -> None:
    job = a_job("sweep")
    group = a_group("sweep-5f", of=job, policy=Policy.UNKNOWN)
    (unit,) = the_units(job, group, *pods_of(job, 2, group=group)).values()
    assert (unit.quorum, unit.group) == (None, group)


def test_a_missing_group_that_pods_name() -> None:
    job = a_job("stray", group_name="lost")
    (unit,) = the_units(job, *pods_of(job, 2)).values()
    assert (unit.name, unit.group, unit.group_name, unit.quorum) == ("stray", None, "lost", None)


def test_a_dropped_scheduling_group_makes_the_job_a_unit() -> None:
    """The template names a group and the API server dropped the field from the pods."""
    job = a_job("hopeful", group_name="pg")
    (unit,) = the_units(job, *pods_of(job, 2, group="")).values()
    assert (unit.noun, unit.group_name, unit.desired) == ("Job", "", 2)


def test_strangers_of_a_shared_group() -> None:
    job, other = a_job("one"), a_job("two")
    group = a_group("shared", quorum=4)
    foreign_pod, elsewhere = (
        a_pod("x", of=other, group="shared"),
        a_pod("y", of=other, group="else"),
    )
    (unit,) = the_units(
        job, group, *pods_of(job, 2, group="shared"), foreign_pods=[foreign_pod, elsewhere]
    ).values()
    assert unit.foreign_pods == (foreign_pod,)
    assert (unit.name, unit.desired, unit.quorum) == ("shared", 2, 4)


def test_a_suspended_child_job_is_held_and_needs_no_pods() -> None:
    jobset = a_jobset("trio", a_role("w", jobs=3))
    first, second, third = child_jobs(jobset)
    second = a_job("trio-w-1", of=jobset, suspended=True, role_name="w", attempt="0")
    facts = gang(jobset, first, second, third)
    result = {unit.name: unit for unit in units_of(facts)}
    assert (result["trio-w-1"].held, result["trio-w-1"].wanted) == (2, 0)
    assert count_members(facts, result.values()).held == 2
    assert count_members(facts, result.values()).desired == 6


def test_a_suspended_owner_is_not_a_held_job() -> None:
    jobset = a_jobset("run", suspended=True)
    facts = gang(jobset, *child_jobs(jobset, suspended=True))
    members = count_members(facts, units_of(facts))
    assert (members.desired, members.held) == (2, 0)


def test_an_owner_without_jobs_is_one_unit() -> None:
    jobset = a_jobset("none", a_role("w", jobs=0))
    (unit,) = the_units(jobset).values()
    assert (unit.name, unit.noun, unit.desired) == ("none", "JobSet", 0)


def test_pods_of_the_owner_are_a_unit_next_to_its_jobs() -> None:
    """MPIJob: the launcher is a Job, the workers are pods of the MPIJob (observed, v0.8.0)."""
    mpi = Owner(meta=a_meta("kubeflow.org", "MPIJob", "run"), desired=4)
    launcher = a_job("run-launcher", of=mpi, pods=1)
    workers = [a_pod(f"run-worker-{index}", of=mpi) for index in range(2)]
    units = the_units(mpi, launcher, *workers, *pods_of(launcher, 1))
    assert {name: (unit.noun, unit.desired) for name, unit in units.items()} == {
        "run-launcher": ("Job", 1),
        "run": ("MPIJob", 3),
    }


def test_names_of_units_are_unique() -> None:
    jobset = a_jobset("run", a_role("a"), a_role("b"))
    first, second = child_jobs(jobset)
    group = a_group("run-b-0", quorum=1)  # a group called like another Job
    pods = (*pods_of(first, 2, group="run-b-0"), a_pod("extra", group="run-b-0"))
    units = units_of(gang(jobset, first, second, group, *pods))
    assert [unit.name for unit in units] == ["run-b-0", "run-b-0 (2)"]


def test_events_go_to_their_unit_and_those_of_the_owner_to_all() -> None:
    jobset = a_jobset("run", a_role(jobs=2))
    first, second = child_jobs(jobset)
    pods = pods_of(first, 1)
    about_job = an_event(second, "FailedCreate", last_seen=ago(5))
    about_pod = an_event(pods[0], "FailedScheduling", last_seen=ago(10))
    about_owner = an_event(jobset, "JobCreationFailed", last_seen=ago(20))
    units = the_units(jobset, first, second, *pods, events=[about_owner, about_pod, about_job])
    assert units["run-workers-0"].events == (about_pod, about_owner)
    assert units["run-workers-1"].events == (about_job, about_owner)


# Bare roots


def test_a_bare_group_desires_its_existing_pods_or_its_quorum() -> None:
    group = a_group("half", quorum=4)
    pods = [a_pod(f"m-{index}", group="half") for index in range(2)]
    facts = gang(group, *pods)
    (unit,) = units_of(facts)
    assert (facts.owner.desired, unit.desired, unit.quorum) == (4, 4, 4)
    assert (unit.name, unit.noun, unit.group) == ("half", "group", group)
    extra = [a_pod(f"m-{index}", group="half") for index in range(6)]
    assert gang(group, *extra).owner.desired == 6


def test_pods_of_other_gangs_count_towards_the_quorum_of_a_bare_group() -> None:
    group, job = a_group("mixed", quorum=4), a_job("other")
    facts = gang(group, a_pod("m", group="mixed"), foreign_pods=pods_of(job, 3, group="mixed"))
    assert facts.owner.desired == 1


def test_an_empty_bare_group_is_a_unit_too() -> None:
    (unit,) = the_units(a_group("empty", quorum=3)).values()
    assert (unit.name, unit.desired, unit.quorum) == ("empty", 3, 3)


def test_each_group_of_a_composite_is_a_unit() -> None:
    tree = a_composite("tree", quorum=2)
    leaves = [a_group(name, parent_name="tree", quorum=2) for name in ("left", "right")]
    facts = gang(tree, *leaves, a_pod("a", group="left"), *(a_pod(n, group="right") for n in "bcd"))
    result = {unit.name: unit for unit in units_of(facts)}
    assert {name: (unit.desired, unit.quorum) for name, unit in result.items()} == {
        "left": (2, 2),
        "right": (3, 2),
    }
    members = count_members(facts, result.values())
    assert (members.desired, members.quorum, members.created) == (5, 4, 4)


def test_a_bare_workload_desires_the_quorums_of_its_templates() -> None:
    facts = gang(a_workload("plan", quorum=4))
    (unit,) = units_of(facts)
    assert (facts.owner.desired, unit.noun, unit.quorum) == (4, "Workload", None)
    assert names(facts.workloads) == ["plan"]


def test_a_bare_pod_desires_one_pod() -> None:
    facts = gang(a_pod("lone", requests=requests(gpu="8")))
    (unit,) = units_of(facts)
    assert (facts.owner.desired, unit.noun, unit.name, unit.desired) == (1, "Pod", "lone", 1)
    assert names(facts.pods) == ["lone"]


def test_a_bare_pod_whose_group_is_missing() -> None:
    (unit,) = the_units(a_pod("m-0", group="nowhere")).values()
    assert (unit.group, unit.group_name, unit.desired) == (None, "nowhere", 1)


@pytest.mark.parametrize(
    ("phases", "outcome"),
    [
        (["Succeeded", "Succeeded"], Outcome.SUCCEEDED),
        (["Succeeded", "Failed"], Outcome.FAILED),
        (["Succeeded", "Running"], None),
        (["Succeeded"], None),  # the quorum is two: one has not come yet
    ],
)
def test_a_bare_group_finishes_with_all_its_pods(
    phases: list[str], outcome: Outcome | None
) -> None:
    pods = [a_pod(f"m-{n}", group="ring", phase=phase) for n, phase in enumerate(phases)]
    finish = gang(a_group("ring", quorum=2), *pods).owner.finish
    assert (finish.outcome if finish else None) is outcome


def test_a_failed_bare_pod_has_failed_for_good() -> None:
    pod = a_pod("lone", phase="Failed", reason="Evicted", message="The node was low on memory.")
    finish = gang(pod).owner.finish
    assert finish is not None
    assert (finish.outcome, finish.reason) == (Outcome.FAILED, "Evicted")


# The current attempt


def test_jobs_pods_groups_and_events_of_a_former_attempt_are_left_out() -> None:
    jobset = a_jobset("run", restarts=1)
    old = a_job("run-workers-0", uid="old", of=jobset, role_name="workers", attempt="0")
    new = a_job("run-workers-0", uid="new", of=jobset, role_name="workers", attempt="1")
    old_pod, new_pod = a_pod("a-old", of=old), a_pod("a-new", of=new)
    old_group = a_group("g-old", of=old, quorum=2)
    facts = gang(
        jobset,
        old,
        new,
        old_pod,
        new_pod,
        old_group,
        events=[an_event(old_pod, "BackOff"), an_event(new_pod, "BackOff")],
    )
    assert facts.jobs == (new,)
    assert facts.pods == (new_pod,)
    assert facts.groups == ()
    assert [event.regarding.name for event in facts.events] == ["a-new"]


# Members


def members_of(root: Made, *objects: Made, **fields: Any) -> Any:
    facts = gang(root, *objects, **fields)
    return count_members(facts, units_of(facts))


def test_a_replaced_failed_pod_counts_as_failed_and_not_as_created() -> None:
    job = a_job("train", pods=2)
    first = a_pod("train-0-aaa", of=job, index=0, phase="Failed", created_at=ago(300))
    second = a_pod("train-0-bbb", of=job, index=0, on="n0", created_at=ago(60))
    other = a_pod("train-1-ccc", of=job, index=1, on="n0")
    members = members_of(job, first, second, other)
    assert (members.desired, members.created, members.scheduled) == (2, 2, 2)
    assert (members.ready, members.failed) == (2, 1)


def test_a_failed_pod_that_was_not_replaced_is_a_created_member() -> None:
    """The Job waits for its back-off, or has given up."""
    job = a_job("train", pods=2)
    pods = (a_pod("a", of=job, index=0, phase="Failed"), a_pod("b", of=job, index=1, on="n0"))
    members = members_of(job, *pods)
    assert (members.created, members.scheduled, members.ready, members.failed) == (2, 1, 1, 1)


def test_the_newer_of_two_failed_pods_of_an_index_is_the_member() -> None:
    job = a_job("train", pods=1)
    pods = [a_pod(name, of=job, index=0, phase="Failed") for name in "ab"]
    members = members_of(job, *pods)
    assert (members.created, members.failed) == (1, 2)


def test_a_terminating_pod_yields_to_its_replacement() -> None:
    job = a_job("train", pods=1)
    old = a_pod("old", of=job, index=0, on="n0", deleting_since=ago(5))
    assert members_of(job, old).created == 1
    assert members_of(job, old).scheduled == 0
    new = a_pod("new", of=job, index=0)
    members = members_of(job, old, new)
    assert (members.created, members.scheduled, members.ready) == (1, 0, 0)


def test_failed_pods_of_a_job_without_indexes_fill_its_size() -> None:
    job = a_job("sweep", pods=3, indexed=False)
    pods = [
        a_pod("f1", of=job, phase="Failed"),
        a_pod("f2", of=job, phase="Failed"),
        a_pod("r1", of=job, on="n0"),
        a_pod("r2", of=job, on="n0"),
    ]
    members = members_of(job, *pods)
    assert (members.created, members.scheduled, members.failed) == (3, 2, 2)


def test_members_that_succeeded_stay_counted_when_their_pods_are_collected() -> None:
    job = a_job("train", pods=4, succeeded_pods=3)
    pods = (
        a_pod("a", of=job, index=0, phase="Succeeded", node="n0"),
        a_pod("d", of=job, index=3, on="n0"),
    )
    members = members_of(job, *pods)
    assert (members.created, members.scheduled, members.ready, members.succeeded) == (4, 4, 1, 3)


def test_finished_jobs_count_as_desired() -> None:
    jobset = a_jobset("run", a_role(jobs=2))
    first, second = child_jobs(jobset)
    first = a_job(
        "run-workers-0", of=jobset, role_name="workers", finish=succeeded(), succeeded_pods=2
    )
    members = members_of(jobset, first, second, *pods_of(second, 2, on="n0"))
    assert (members.desired, members.succeeded, members.ready, members.held) == (4, 2, 2, 0)


def test_a_failed_job_is_not_counted_as_held() -> None:
    jobset = a_jobset("run")
    job = a_job("run-workers-0", of=jobset, suspended=True, finish=failed())
    assert members_of(jobset, job).held == 0
