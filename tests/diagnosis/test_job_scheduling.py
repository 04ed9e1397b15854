"""How each Job is scheduled and why, by the Job controller of each minor version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.job_states import LABELS, GroupIndex, scheduling_of
from gangboard.domain.group import Policy
from gangboard.domain.owner import GangRequest, Owner
from gangboard.domain.pod import Pod
from gangboard.facts.gang import Gang
from tests.domain_objects import (
    NOW,
    Made,
    a_group,
    a_job,
    a_jobset,
    a_plan,
    a_role,
    child_jobs,
    facts_of,
    pods_of,
)
from tests.gangs import assemble

V135, V136, V137 = "v1alpha1", "v1alpha2", "v1beta1"


def mode(facts: Gang, job: Owner | None = None) -> tuple[str, str]:
    job = job or facts.jobs[0]
    pods = [
        pod
        for pod in facts.pods
        if pod.meta.controller is not None and pod.meta.controller.uid == job.meta.ref.uid
    ]
    scheduling = scheduling_of(facts, job, pods, GroupIndex(facts.groups))
    assert scheduling.label == LABELS[scheduling.mode]
    assert scheduling.reason.endswith(".")
    return scheduling.mode, scheduling.reason


def job_facts(*objects: Made, version: str = V137, **fields: Any) -> Gang:
    owner, *rest = objects
    assert isinstance(owner, Owner)
    return facts_of(owner, *rest, gang_api_version=version, **fields)


def test_a_gang_created_by_the_job_controller() -> None:
    job = a_job(pods=4, gang_request=GangRequest("gang", 4))
    group = a_group("train-5f", of=job, quorum=4)
    result, reason = mode(job_facts(job, group, *pods_of(job, 4, group=group)))
    assert result == "gang"
    assert "The Job controller created PodGroup train-5f: a gang of 4 pods" in reason


def test_a_suspended_job_has_its_group_before_its_pods() -> None:
    job = a_job(suspended=True)
    assert mode(job_facts(job, a_group("train-5f", of=job, quorum=2)))[0] == "gang"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (None, "spec.scheduling requests no gang"),
        (GangRequest("basic"), "spec.scheduling requests it"),
    ],
)
def test_a_basic_group(request_: GangRequest | None, why: str) -> None:
    job = a_job(gang_request=request_)
    group = a_group("train-5f", of=job)
    result, reason = mode(job_facts(job, group, *pods_of(job, 2, group=group)))
    assert result == "basic"
    assert why in reason


def test_a_group_with_a_policy_of_the_future() -> None:
    job = a_job()
    group = a_group("train-5f", of=job, policy=Policy.UNKNOWN, policy_text="quantum")
    result, reason = mode(job_facts(job, group, *pods_of(job, 2, group=group)))
    assert result == "unknown"
    assert "quantum" in reason


def test_a_group_that_was_brought_along() -> None:
    job = a_job(group_name="mine")
    group = a_group("mine", quorum=2)
    result, reason = mode(job_facts(job, group, *pods_of(job, 2)))
    assert result == "brought-along"
    assert "PodGroup mine, which no controller created" in reason
    by_jobset = a_group("mine", of=a_jobset("run"), quorum=2)
    assert "which JobSet run owns" in mode(job_facts(job, by_jobset, *pods_of(job, 2)))[1]


def test_a_template_with_a_missing_group() -> None:
    job = a_job(group_name="mine")
    result, reason = mode(job_facts(job, *pods_of(job, 2)))
    assert result == "opted-out"
    assert "names PodGroup mine" in reason
    assert "does not exist" in reason


def test_a_group_name_that_was_dropped_on_the_way() -> None:
    job = a_job(group_name="mine")
    assert mode(job_facts(job, *pods_of(job, 2, group="")))[0] == "fallen-back"
    result, reason = mode(job_facts(job, *pods_of(job, 2, group=""), version=""))
    assert result == "fallen-back"
    assert "does not serve gang scheduling" in reason


def test_a_requested_gang_that_was_not_created() -> None:
    job = a_job(pods=4, gang_request=GangRequest("gang", 4))
    result, reason = mode(job_facts(job, *pods_of(job, 4)))
    assert result == "fallen-back"
    assert "spec.scheduling of Job train requests a gang" in reason
    assert mode(job_facts(job, *pods_of(job, 4), version=""))[0] == "fallen-back"


def test_a_gang_requested_by_the_owner() -> None:
    jobset = a_jobset("run", gang_request=GangRequest("gang"))
    job = child_jobs(jobset)[0]
    result, reason = mode(job_facts(jobset, job, *pods_of(job, 2)))
    assert result == "fallen-back"
    assert "JobSet run" in reason


def test_a_cluster_without_gang_scheduling() -> None:
    assert mode(job_facts(a_job(), version="")) == (
        "pod-by-pod",
        "This cluster does not serve gang scheduling.",
    )


def test_groups_that_cannot_be_read() -> None:
    result, reason = mode(job_facts(a_job(), groups_unobserved=True))
    assert result == "unknown"
    assert "cannot be read" in reason


def test_1_37_makes_no_group_for_a_job_of_a_jobset() -> None:
    jobset = a_jobset("run")
    job = child_jobs(jobset)[0]
    result, reason = mode(job_facts(jobset, job, *pods_of(job, 2)))
    assert result == "owned"
    assert "JobSet run" in reason


def test_1_36_does() -> None:
    jobset = a_jobset("run")
    job = child_jobs(jobset)[0]
    group = a_group("run-workers-0-5f", of=job, quorum=2)
    pods = pods_of(job, 2, group=group)
    assert mode(job_facts(jobset, job, group, *pods, version=V136))[0] == "gang"
    # Without one, where a gang could have been made, the feature is off.
    assert mode(job_facts(jobset, job, *pods_of(job, 2), version=V136))[0] == "pod-by-pod"


def test_a_delegated_job_may_get_its_group() -> None:
    jobset = a_jobset("run")
    job = replace(child_jobs(jobset)[0], delegated_template="workers")
    group = a_group("run-5f", of=job, quorum=2, workload_name="run-plan", template_name="workers")
    result, reason = mode(job_facts(jobset, job, group, *pods_of(job, 2, group=group)))
    assert result == "gang"
    assert "template workers of Workload run-plan" in reason
    assert mode(job_facts(jobset, job, *pods_of(job, 2)))[0] == "fallen-back"
    assert mode(job_facts(jobset, job))[0] == "unknown"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"parallelism": 1, "completions": 1}, "parallelism is 1"),
        ({"parallelism": None}, "parallelism is 0"),
        ({"indexed": False}, "NonIndexed"),
        ({"completions": 10}, "completions is 10, it must be equal to parallelism (2)"),
        ({"completions": None}, "completions is not set"),
    ],
)
def test_1_36_makes_gangs_only_of_jobs_that_fit(fields: dict[str, Any], said: str) -> None:
    job = a_job(**fields)
    result, reason = mode(job_facts(job, *pods_of(job, 2), version=V136))
    assert result == "not-eligible"
    assert said in reason
    assert mode(job_facts(job, *pods_of(job, 2), version=V137))[0] == "pod-by-pod"


def test_a_job_of_another_controller() -> None:
    job = a_job(managed_by="example.com/other")
    result, reason = mode(job_facts(job))
    assert result == "not-eligible"
    assert "example.com/other" in reason


def test_the_feature_is_off() -> None:
    job = a_job()
    result, reason = mode(job_facts(job, *pods_of(job, 2)))
    assert result == "pod-by-pod"
    assert "does not request a gang" in reason


def test_a_new_job_has_no_finding() -> None:
    assert mode(job_facts(a_job()))[0] == "unknown"


def test_a_role_has_the_scheduling_of_its_job_template() -> None:
    jobset = a_jobset("run", a_role(group_name="mine"))
    job = replace(child_jobs(jobset)[0], group_name="")
    group = a_group("mine", quorum=2)
    assert mode(job_facts(jobset, job, group))[0] == "brought-along"


# 1.35 has no PodGroups: a Workload is created by hand, and pods name an entry of it.


def on_135(job: Owner, *objects: Made) -> tuple[str, str]:
    pods = [obj for obj in objects if isinstance(obj, Pod)]
    facts = assemble(
        job,
        objects,
        now=NOW,
        gang_api_version=V135,
    )
    scheduling = scheduling_of(facts, facts.jobs[0], pods, GroupIndex(facts.groups))
    assert scheduling.label == LABELS[scheduling.mode]
    return scheduling.mode, scheduling.reason


def test_an_entry_of_a_workload_is_brought_along() -> None:
    job = a_job(pods=2, group_name="plan/workers/0")
    for pods in ((), pods_of(job, 2)):
        result, reason = on_135(job, a_plan(), *pods)
        assert result == "brought-along"
        assert reason == (
            "Its pods are in replica 0 of podGroup workers of Workload plan, which no controller "
            "created: a gang of 2 pods, placed together or not at all."
        )


def test_a_missing_entry_is_not_left_to_the_controller() -> None:
    job = a_job(pods=2, group_name="plan/driver")
    result, reason = on_135(job, a_plan(), *pods_of(job, 2))
    assert result == "brought-along"
    assert "podGroup driver of Workload plan, which does not exist" in reason


def test_a_dropped_workload_reference_is_a_fall_back() -> None:
    job = a_job(pods=2, group_name="plan/workers")
    result, reason = on_135(job, a_plan(), *pods_of(job, 2, group=""))
    assert result == "fallen-back"
    assert "workloadRef was dropped" in reason


@pytest.mark.parametrize("pods", [0, 2])
def test_1_35_makes_no_group_by_itself(pods: int) -> None:
    job = a_job(pods=2)
    assert on_135(job, *pods_of(job, pods)) == (
        "pod-by-pod",
        "Its template names no Workload, and Kubernetes 1.35 creates none for a Job.",
    )
