"""Advice about size and quorum: given where the group follows, and as the API server takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.group import Group, Policy, WorkloadEntry
from gangboard.domain.owner import GangRequest, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.unit_placement import placing_of
from tests.domain_objects import (
    a_group,
    a_job,
    a_jobset,
    a_plan,
    a_role,
    child_jobs,
    facts_of,
    pods_of,
    requests,
)
from tests.placement.making import node
from tests.rules.evaluation import unit_of

V135, V136, V137 = (1, 35), (1, 36), (1, 37)
TWO = (node("a", 4), node("b", 4))
GIVEN, LEFT_OPEN = GangRequest("gang", 4), GangRequest("gang", 4, derived=True)


def a_train(**fields: Any) -> Owner:
    """A Job of four pods of four GPUs each."""
    return a_job("train", pods=4, requests=requests(gpu="4"), **fields)


def advise_job(
    job: Owner,
    group: Group | None = None,
    nodes: Sequence[NodeInfo] = TWO,
    minor: tuple[int, int] | None = V137,
    pods: Sequence[Pod] = (),
) -> list[Advice]:
    """Advice about the Job. Its pods have no node unless they are given."""
    name = group.name if group is not None else ""
    result = pods or pods_of(job, 4, group=name)
    facts = {"room": ClusterCapacity(tuple(nodes)), "kubernetes": minor}
    unit = unit_of(job, *result, *([group] if group is not None else []), facts=facts)
    return advised(unit, AdviceKind.SIZE, AdviceKind.QUORUM)


def advised(unit: Unit, *changes: AdviceKind) -> list[Advice]:
    unit = replace(unit, placing=placing_of(unit))
    return [item for item in advise(unit) if item.change in changes]


def texts(result: Sequence[Advice]) -> list[str]:
    return [item.text for item in result]


# Method of the change


def test_a_change_in_place_is_a_command_of_all_its_fields() -> None:
    """As dry runs of test_change_methods.py were taken."""
    job = a_train(gang_request=GIVEN)
    quorum, size = sorted(
        advise_job(job, a_group("g", quorum=4, of=job)),
        key=lambda item: item.change is AdviceKind.SIZE,
    )
    start = ("kubectl", "patch", "jobs.batch", "train", "-n", "team-a", "--type=merge", "-p")
    assert {item.command[:-1] for item in (quorum, size)} == {start}
    gang = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    assert json.loads(quorum.command[-1]) == {"spec": {"scheduling": gang}}
    assert json.loads(size.command[-1]) == {
        "spec": {"parallelism": 2, "completions": 2, "scheduling": gang}
    }


def test_a_group_of_its_own_is_patched_itself() -> None:
    (quorum,) = advise_job(a_train(), a_group("g", quorum=4))
    assert quorum.command[2:4] == ("podgroups.scheduling.k8s.io", "g")
    assert json.loads(quorum.command[-1]) == {
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}
    }


def test_recreated_owners_get_no_command() -> None:
    job = a_train(gang_request=GIVEN)
    result = advise_job(job, a_group("g", quorum=4, of=job), minor=V136)
    assert {item.method for item in result} <= {ChangeMethod.RECREATE}
    assert not any(item.command for item in result)


def test_no_command_with_a_name_that_a_shell_takes_otherwise() -> None:
    result = advise_job(replace_name(a_train(), "train; reboot"))
    assert [(item.method, item.command) for item in result] == [(ChangeMethod.IN_PLACE, ())]


def replace_name(job: Owner, name: str) -> Owner:
    ref = replace(job.meta.ref, name=name)
    return replace(job, meta=replace(job.meta, ref=ref))


# The group of a Job


def test_a_quorum_that_is_left_open_follows_the_size() -> None:
    """The Job controller of 1.37 keeps minCount at parallelism. A user may also set it."""
    job = a_train(gang_request=LEFT_OPEN)
    assert texts(advise_job(job, a_group("g", quorum=4, of=job))) == [
        "Set minCount of Job train, which has none, to 2: 2 pods fit now (no restart).",
        "Lower the parallelism and completions of Job train from 4 to 2: that many fit now "
        "(no restart).",
    ]


def test_a_quorum_that_is_given_is_lowered_with_the_size() -> None:
    """The API server refuses a minCount above parallelism, and takes both in one change."""
    job = a_train(gang_request=GIVEN)
    assert texts(advise_job(job, a_group("g", quorum=4, of=job))) == [
        "Lower the quorum of Job train from 4 to 2: 2 pods fit now (no restart).",
        "Lower the parallelism, completions and minCount of Job train from 4 to 2: that many fit "
        "now (no restart).",
    ]


def test_a_gang_of_kubernetes_136_follows_the_size_of_its_recreated_job() -> None:
    job = a_train()
    assert texts(advise_job(job, a_group("g", quorum=4, of=job), minor=V136)) == [
        "Lower the parallelism and completions of Job train from 4 to 2: that many fit now "
        "(needs re-creating)."
    ]


@pytest.mark.parametrize("minor", [V136, V137])
def test_a_group_that_was_brought_along_does_not_follow(minor: tuple[int, int]) -> None:
    job = a_train(group_name="g")
    result = advise_job(job, a_group("g", quorum=4), minor=minor)
    how = "no restart" if minor == V137 else "needs re-creating"
    assert texts(result) == [f"Lower the quorum of PodGroup g from 4 to 2: 2 pods fit now ({how})."]


def test_an_entry_of_a_kubernetes_135_workload_cannot_be_resized() -> None:
    job = a_train(group_name="plan/workers")
    plan = a_plan("plan", entries={"workers": 4}, of=job)
    group = replace(
        plan, policy=Policy.GANG, quorum=4, entry=WorkloadEntry("plan", "workers"), templates=()
    )
    assert AdviceKind.SIZE not in [item.change for item in advise_job(job, group, minor=V135)]


def test_a_quorum_that_is_not_the_size_is_not_lowered_with_it() -> None:
    """A user changed the PodGroup itself, so the reaction of its controller is unknown."""
    job = a_train(gang_request=LEFT_OPEN)
    result = advise_job(job, a_group("g", quorum=3, of=job))
    assert [item.change for item in result] == [AdviceKind.QUORUM]


def test_a_group_that_is_not_known_is_no_group_without_a_quorum() -> None:
    job = a_train(group_name="g")
    assert advise_job(job, pods=pods_of(job, 4, group="g")) == []


def test_a_job_with_another_manager_is_not_resized() -> None:
    job = a_train(of=a_job("launcher"))
    assert advise_job(job) == []


# What is lowered


def test_a_list_of_work_keeps_its_completions() -> None:
    """100 indexes, four at a time: the advice lowers the number of parallel pods."""
    job = a_train(completions=100, desired=4)
    for minor in (V135, V136, V137):
        (result,) = advise_job(job, minor=minor)
        assert result.method is ChangeMethod.IN_PLACE
        assert result.text == (
            "Lower the parallelism of Job train from 4 to 2: that many fit now (no restart)."
        )


def test_finished_pods_reduce_the_advised_size() -> None:
    job = a_train(completions=100, desired=34, succeeded_pods=30)
    assert [item.count for item in advise_job(job)] == [2]


def test_a_list_of_work_in_a_gang_too() -> None:
    job = a_train(completions=100, desired=4, gang_request=LEFT_OPEN)
    result = advise_job(job, a_group("g", quorum=4, of=job))
    assert texts(result)[1:] == [
        "Lower the parallelism of Job train from 4 to 2: that many fit now (no restart)."
    ]


def test_completions_without_indexes_cannot_be_changed_and_need_not() -> None:
    assert texts(advise_job(a_train(indexed=False))) == [
        "Lower the parallelism of Job train from 4 to 2: that many fit now (no restart)."
    ]


def test_a_bound_pod_is_not_removed() -> None:
    """With two completions only the indexes 0 and 1 are left, and index 3 is the one that runs."""
    job = a_train()
    nodes = (node("a", 4, 4), node("b", 4))
    *remaining, last = pods_of(job, 4)
    assert advise_job(job, nodes=nodes, pods=[*remaining, replace(last, node="a")]) == []
    first, *rest = pods_of(job, 4)
    result = advise_job(job, nodes=nodes, pods=[replace(first, node="a"), *rest])
    assert [item.count for item in result] == [2]


# What never fits


def pool(free: int, number: int = 6) -> list[NodeInfo]:
    """So many nodes with 4 GPUs, all but some of them taken by others."""
    return [node(f"n{index}", 4, 0 if index < free else 4) for index in range(number)]


@pytest.mark.parametrize(("free", "now"), [(1, "1 now"), (0, "none now")])
def test_a_job_larger_than_its_pool_is_lowered_to_the_empty_pool(free: int, now: str) -> None:
    """The pool never takes more than six of the eight pods, which is the cause."""
    job = a_job("train", pods=8, requests=requests(gpu="4"))
    (result,) = advise_job(job, nodes=pool(free), pods=pods_of(job, 8))
    assert result.text == (
        "Lower the parallelism and completions of Job train from 8 to 6: that many fit when empty, "
        f"{now} (no restart)."
    )
    assert result.count == 6


def test_a_group_quorum_larger_than_its_pool_is_lowered() -> None:
    job = a_job("train", pods=8, requests=requests(gpu="4"), group_name="g")
    result = advise_job(job, a_group("g", quorum=8), pool(1), pods=pods_of(job, 8, group="g"))
    assert texts(result) == [
        "Lower the quorum of PodGroup g from 8 to 6: 6 pods fit when empty, 1 now (no restart)."
    ]


def test_an_empty_pool_takes_them_now() -> None:
    job = a_job("train", pods=8, requests=requests(gpu="4"))
    (result,) = advise_job(job, nodes=pool(6), pods=pods_of(job, 8))
    assert result.text.endswith("from 8 to 6: that many fit now (no restart).")


def test_members_with_a_node_stay_in_the_size() -> None:
    """Two run on nodes of their own; of the other six places one is free."""
    job = a_job("train", pods=10, requests=requests(gpu="4"))
    pods = pods_of(job, 10)
    existing = [replace(pod, node=f"own{index}") for index, pod in enumerate(pods[:2])]
    nodes = [*pool(1), node("own0", 4, 4), node("own1", 4, 4)]
    (result,) = advise_job(job, nodes=nodes, pods=[*existing, *pods[2:]])
    assert result.text.endswith("from 10 to 8: that many fit when empty, 3 now (no restart).")


def test_a_waiting_gang_is_lowered_to_the_current_fit() -> None:
    """Six of six fit when empty: it is the room of now that stands in the way."""
    job = a_job("train", pods=6, requests=requests(gpu="4"))
    (result,) = advise_job(job, nodes=pool(2), pods=pods_of(job, 6))
    assert result.text.endswith("from 6 to 2: that many fit now (no restart).")


def test_no_size_is_advised_if_no_pod_ever_fits() -> None:
    job = a_job("train", pods=2, requests=requests(gpu="8"))
    assert advise_job(job, nodes=pool(6), pods=pods_of(job, 2)) == []


# JobSets


def advise_jobset(
    jobset: Owner,
    nodes: Sequence[NodeInfo],
    on: dict[str, str] | None = None,
    minor: tuple[int, int] = V137,
    needs: PodConstraints | None = None,
    **fields: Any,
) -> list[str]:
    """Advice about the size of a JobSet, from its last child Job; `on` are pods with a node."""
    jobs = child_jobs(jobset, **fields)
    grouped = minor == V136
    extra: dict[str, Any] = {"needs": needs} if needs is not None else {}
    pods = [
        replace(pod, node=(on or {}).get(pod.meta.ref.name, ""))
        for job in jobs
        for pod in pods_of(
            job, job.parallelism or 0, group=f"{job.meta.ref.name}-g" if grouped else "", **extra
        )
    ]
    own = jobs[-1]
    groups = [
        a_group(f"{job.meta.ref.name}-g", quorum=job.parallelism, of=job) for job in jobs if grouped
    ]
    facts = {"room": ClusterCapacity(tuple(nodes)), "kubernetes": minor, "jobs": jobs}
    mine = tuple(pod for pod in pods if pod.meta.controller.uid == own.meta.ref.uid)  # type: ignore[union-attr]
    unit = unit_of(jobset, *jobs, *pods, *groups, facts=facts)
    group = groups[-1] if groups else None
    unit = replace(
        unit,
        jobs=(own,),
        pods=mine,
        group=group,
        group_name=group.name if group is not None else "",
        quorum=group.quorum if group is not None else None,
        desired=own.desired,
    )
    return texts(advised(unit, AdviceKind.SIZE))


def workers(jobs: int = 1, pods: int = 4) -> Any:
    return a_role("workers", jobs=jobs, pods=pods, requests=requests(gpu="4"))


def test_a_jobset_loses_one_job() -> None:
    """Three of four pods have a node, and there is no other; the JobSet cannot be changed."""
    jobset = a_jobset("run", workers())
    full = [node(name, 4, 4) for name in "abc"]
    on = {f"run-workers-0-{index}": name for index, name in enumerate("abc")}
    message = (
        "Lower the parallelism and completions of replicatedJobs[workers] of JobSet run from 4 to "
        "3: that many fit now (needs re-creating)."
    )
    assert advise_jobset(jobset, full, on) == [message]
    assert advise_jobset(jobset, [node(name, 4) for name in "abc"], minor=V136) == [message]


def test_a_jobset_of_several_jobs_has_fewer_of_them() -> None:
    jobset = a_jobset("run", workers(jobs=3, pods=2))
    nodes = [node(name, 4) for name in "abcde"]
    assert advise_jobset(jobset, nodes, minor=V136) == []  # the last one fits by itself
    full = [node(name, 4, 4) for name in "abcd"] + [node("e", 4)]
    on = {f"run-workers-{index // 2}-{index % 2}": name for index, name in enumerate("abcd")}
    assert advise_jobset(jobset, full, on, minor=V136) == [
        "Lower the replicas of replicatedJobs[workers] of JobSet run from 3 to 2: that many fit now "
        "(needs re-creating)."
    ]


def test_jobs_are_reduced_if_no_whole_job_fits() -> None:
    jobset = a_jobset("run", workers(jobs=2, pods=4))
    assert advise_jobset(jobset, [node("a", 8)], minor=V136) == [
        "Lower the parallelism and completions of replicatedJobs[workers] of JobSet run from 4 to "
        "1: that many of each Job fit now (needs re-creating)."
    ]


def test_the_other_roles_keep_their_capacity() -> None:
    """The driver is made anew as well: a whole node is no longer whole with it."""
    driver = a_role("driver", pods=1, requests=requests(gpu="1"))
    jobset = a_jobset("run", driver, workers())
    on = {"run-driver-0-0": "c"}
    nodes = [node("a", 4), node("b", 4), node("c", 1, 1)]
    message = advise_jobset(jobset, nodes, on)
    # On a or b the driver would take the place of a worker, and the scheduler may put it there.
    assert message == [
        "Lower the parallelism and completions of replicatedJobs[workers] of JobSet run from 4 to "
        "1: that many fit now (needs re-creating)."
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"gang_request": GangRequest("gang")},
        {"of": a_job("launcher")},
        {"managed_by": "kueue.x-k8s.io/multikueue"},
        {"restarting": True},
    ],
    ids=["a gang of JobSet", "somebody keeps it", "another controller", "it restarts"],
)
def test_no_size_for_a_jobset_that_is_not_plain(fields: dict[str, Any]) -> None:
    assert advise_jobset(a_jobset("run", workers(), **fields), [node("a", 4)]) == []


def test_no_size_for_a_jobset_that_has_done_some_of_its_work() -> None:
    assert advise_jobset(a_jobset("run", workers()), [node("a", 4)], succeeded_pods=1) == []


def test_no_size_is_advised_for_a_jobset_with_uncomputed_constraints() -> None:
    unclear = PodConstraints(unsupported=("volumes",))
    assert advise_jobset(a_jobset("run", workers()), [node("a", 4)], needs=unclear) == []


def test_no_size_is_advised_for_a_jobset_without_a_fit() -> None:
    assert advise_jobset(a_jobset("run", workers()), [node("a", 2)]) == []


def test_a_jobset_larger_than_its_pool_keeps_the_jobs_that_fit_when_empty() -> None:
    """Six nodes take three of the four Jobs of two pods each. Two nodes are free."""
    jobset = a_jobset("run", workers(jobs=4, pods=2))
    pods = [pod for job in child_jobs(jobset) for pod in pods_of(job, 2, text="0/6 nodes")]
    facts = facts_of(
        jobset, *child_jobs(jobset), *pods, room=ClusterCapacity(tuple(pool(2))), kubernetes=V137
    )
    (result,) = [text for text in assess(facts).finding.advice_texts if text.startswith("Lower")]
    assert result == (
        "Lower the replicas of replicatedJobs[workers] of JobSet run from 4 to 3: that many fit when "
        "empty, 1 now (needs re-creating)."
    )


def test_the_only_job_of_a_jobset_is_reduced_to_the_pods_that_fit_when_empty() -> None:
    assert advise_jobset(a_jobset("run", workers(pods=8)), pool(1)) == [
        "Lower the parallelism and completions of replicatedJobs[workers] of JobSet run from 8 to 6: "
        "that many fit when empty, 1 now (needs re-creating)."
    ]


# The group of a role, whose quorum its owner sets


def of_a_role(quorum: int | None, *, of: Owner) -> list[str]:
    role = Role("pre", replicas=1, pods=4, noun="part", quorum=quorum)
    group = a_group("g", quorum=4, of=of)
    pods = pods_of(of, 4, group="g")
    unit = unit_of(of, *pods, group, facts={"room": ClusterCapacity(TWO), "kubernetes": V137})
    unit = replace(unit, jobs=(), roles=(role,))
    return texts(advised(unit, AdviceKind.QUORUM))


def test_a_quorum_of_the_owner_is_lowered_by_recreating_it() -> None:
    assert of_a_role(4, of=a_train()) == [
        "Lower the quorum of part pre in Job train from 4 to 2: 2 pods fit now (needs re-creating)."
    ]


def test_an_outdated_group_quorum_is_not_patched() -> None:
    """Near miss: the number of the owner is not the one that keeps its pods away."""
    assert of_a_role(1, of=a_train()) == []
    assert of_a_role(None, of=a_train()) == []
