"""`pods-not-created`."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.owner import GangRequest, Owner
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    a_composite,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    a_workload,
    ago,
    an_event,
    child_jobs,
    failed,
    pods_of,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


@pytest.mark.parametrize(
    ("age", "health", "recheck"),
    [(119, Health.STARTING, ago(-1)), (120, Health.BLOCKED, None)],
)
def test_two_minutes_are_given(age: float, health: Health, recheck: object) -> None:
    unit = unit_of(a_job("train", pods=4, created_at=ago(age)))
    finding = require_finding("pods-not-created", unit)
    assert finding.code == "pods-not-created"
    assert finding.health is health
    assert finding.recheck_at == recheck
    assert finding.message == "Job train has created none of its 4 pods."


def test_resumed_jobs_start_a_new_creation_window() -> None:
    unit = unit_of(a_job("train", created_at=ago(9000), resumed_at=ago(10)))
    finding = require_finding("pods-not-created", unit)
    assert (finding.health, finding.recheck_at) == (Health.STARTING, ago(-110))


def test_deletion_of_the_last_pod_starts_a_new_window() -> None:
    memory = UnitMemory(created=0, created_since=ago(20))
    finding = require_finding("pods-not-created", unit_of(a_job("train"), memory=memory))
    assert (finding.health, finding.recheck_at) == (Health.STARTING, ago(-100))


def test_loss_of_a_pod_since_the_last_assessment_starts_a_new_window() -> None:
    memory = UnitMemory(created=2, created_since=ago(9000))
    job = a_job("train", created_at=ago(9000))
    unit = unit_of(job, *pods_of(job, 1, on="n0", created_at=ago(9000)), memory=memory)
    finding = require_finding("pods-not-created", unit)
    assert (finding.health, finding.recheck_at) == (Health.STARTING, ago(-120))
    assert finding.advice_texts == ()


def test_the_manager_is_named() -> None:
    job = a_job("train", pods=4, managed_by="kueue.x-k8s.io/multikueue")
    assert require_finding("pods-not-created", unit_of(job)).message == (
        "Job train has created none of its 4 pods. kueue.x-k8s.io/multikueue must create "
        "them (spec.managedBy)."
    )


def test_missing_child_jobs() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=3))
    first, *_ = child_jobs(jobset)
    missing = ("run-workers-1", "run-workers-2")
    unit = unit_of(jobset, first, *pods_of(first, 2, on="n0"), missing_jobs=missing)
    finding = require_finding("pods-not-created", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == "JobSet run has not created 2 Jobs (run-workers-1 and run-workers-2)."


def test_a_job_without_a_gang_lacks_some_pods() -> None:
    job = a_job("train", pods=4)
    unit = unit_of(job, *pods_of(job, 2, on="n0"))
    assert require_finding("pods-not-created", unit).message == (
        "2 of 4 pods exist; Job train has not created the rest."
    )


def test_a_podgroup_that_no_pod_names() -> None:
    group = a_group("ring", quorum=4)
    unit = unit_of(Owner(meta=group.meta, desired=4), group)
    assert (
        require_finding("pods-not-created", unit).message
        == "No pod names PodGroup ring, which needs 4."
    )
    empty = a_group("ring")
    unit = unit_of(Owner(meta=empty.meta), empty)
    assert require_finding("pods-not-created", unit).message == "No pod names PodGroup ring."


def test_old_pods_still_leave() -> None:
    job = a_job("train", created_at=ago(900))
    leaving = a_pod("train-0", of=job, on="n0", deleting_since=ago(15))
    finding = require_finding("pods-not-created", unit_of(job, leaving))
    assert finding.health is Health.STARTING
    assert finding.message == (
        "Job train has created none of its 2 pods. 1 old pod still terminates."
    )


def test_unreadable_events_are_reported() -> None:
    unit = unit_of(a_job("train"), facts={"events_known": False})
    assert require_finding("pods-not-created", unit).message.endswith(
        "Events cannot be read, so a refusal would not be seen."
    )


def test_a_refusal_is_another_reason() -> None:
    job = a_job("train")
    unit = unit_of(job, an_event(job, "FailedCreate", texts.QUOTA))
    assert evaluate("pods-not-created", unit) is None
    assert first_code(unit) == "pod-creation-refused"


def test_a_gang_of_which_some_exist_is_below_its_quorum() -> None:
    job = a_job("train", pods=4, group_name="ring")
    assert first_code(unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2))) == "below-quorum"


def test_a_job_that_backs_off_between_retries() -> None:
    job = a_job("train", retries=2)
    unit = unit_of(job, a_pod("train-0", of=job, phase="Failed", on="n0", ready=False))
    assert evaluate("pods-not-created", unit) is None
    assert first_code(unit) == "restarting"


def test_a_failed_child_job_makes_none_any_more() -> None:
    jobset = a_jobset("run", max_restarts=3)
    (job,) = child_jobs(jobset, finish=failed())
    assert first_code(unit_of(jobset, job)) == "restarting"


def test_young_jobs_of_a_restart_are_a_restart() -> None:
    jobset = a_jobset("run", restarts=1, max_restarts=3, restarting=True)
    (job,) = child_jobs(jobset, created_at=ago(5))
    assert first_code(unit_of(jobset, job)) == "restarting"
    (job,) = child_jobs(jobset, created_at=ago(300))
    assert first_code(unit_of(jobset, job)) == "pods-not-created"


def test_the_responsible_controller_is_named() -> None:
    job = a_job("train", pods=4)
    step = (
        "Start the Job controller (kube-controller-manager) if it does not run: it has reported no "
        "refusal."
    )
    assert require_finding("pods-not-created", unit_of(job)).advice_texts == (step,)
    jobset = a_jobset("run")
    unit = unit_of(jobset, missing_jobs=("run-workers-0",))
    assert require_finding("pods-not-created", unit).advice_texts == (
        "Start the JobSet controller if it does not run: it has reported no refusal.",
    )


@pytest.mark.parametrize(
    ("job", "facts"),
    [
        ({"created_at": ago(60)}, {}),
        ({"managed_by": "kueue.x-k8s.io/multikueue"}, {}),
        ({}, {"events_known": False}),
    ],
    ids=["young", "managed by another", "a refusal would not be seen"],
)
def test_jobs_without_a_known_controller_get_no_advice(
    job: dict[str, Any], facts: dict[str, Any]
) -> None:
    assert (
        require_finding(
            "pods-not-created", unit_of(a_job("train", **job), facts=facts)
        ).advice_texts
        == ()
    )


def test_a_podgroup_without_pods_is_filled_or_deleted() -> None:
    group = a_group("ring", quorum=4)
    assert require_finding(
        "pods-not-created", unit_of(Owner(meta=group.meta, desired=4), group)
    ).advice_texts == ("Create 4 pods in PodGroup ring, or delete it.",)
    basic = a_group("ring")
    assert require_finding(
        "pods-not-created", unit_of(Owner(meta=basic.meta), basic)
    ).advice_texts == ("Create pods in PodGroup ring, or delete it.",)


def test_a_workload_without_its_podgroup() -> None:
    """Observed on 1.37.0 with a quota on PodGroups: a Workload, no PodGroup, no pods, no event."""
    job = a_job("train", gang_request=GangRequest("gang"))
    plan = a_workload("train-7cd77ddc86", quorum=2, of=job)
    assert require_finding("pods-not-created", unit_of(job, plan)).advice_texts == (
        (
            "Find what refuses the PodGroup of Workload train-7cd77ddc86, such as a quota (no "
            "event reports it): kubectl get resourcequota -n team-a"
        ),
    )


def test_no_command_has_a_namespace_that_a_shell_would_run() -> None:
    job = a_job("train", gang_request=GangRequest("gang"))
    ref = replace(job.meta.ref, namespace="$(x)")
    job = replace(job, meta=replace(job.meta, ref=ref))
    plan = a_workload("train-7cd77ddc86", quorum=2, of=job)
    assert require_finding("pods-not-created", unit_of(job, plan)).advice_texts == (
        (
            "Find what refuses the PodGroup of Workload train-7cd77ddc86, such as a quota (no "
            "event reports it)."
        ),
    )


def test_kubernetes_136_has_not_created_a_workload_and_gives_no_cause() -> None:
    """Observed on 1.36.3 with a quota on Workloads: no Workload, no pods, no event, no condition."""
    facts = {"gang_api_version": "v1alpha2"}
    finding = require_finding("pods-not-created", unit_of(a_job("train", pods=4), facts=facts))
    assert values_in(finding.message) == "4"
    assert values_in(*finding.advice_texts) == "kube-controller-manager 1.36 team-a"


@pytest.mark.parametrize(
    ("job", "facts"),
    [
        ({"indexed": False}, {}),
        ({"completions": 9}, {}),
        ({"group_name": "ring"}, {}),
        ({}, {"groups_unobserved": True}),
        ({}, {"gang_api_version": "v1beta1"}),
    ],
    ids=["not indexed", "a work list", "brings its group", "cannot be seen", "1.37"],
)
def test_no_workload_is_owed(job: dict[str, Any], facts: dict[str, Any]) -> None:
    observed = {"gang_api_version": "v1alpha2", **facts}
    message = require_finding(
        "pods-not-created", unit_of(a_job("train", pods=4, **job), facts=observed)
    ).message
    assert "Workload" not in message


def test_an_existing_workload_is_not_missing() -> None:
    job = a_job("train", pods=4)
    plan = a_workload("train-7cd77ddc86", quorum=4, of=job)
    unit = unit_of(job, plan, facts={"gang_api_version": "v1alpha2"})
    assert "comes first" not in require_finding("pods-not-created", unit).message


def planned(plan: Group, desired: int, age: float = 600) -> Unit:
    """A Workload or CompositePodGroup without an owner and without a PodGroup."""
    objects = replace(plan, meta=replace(plan.meta, created_at=ago(age)))
    return unit_of(Owner(meta=objects.meta, desired=desired), objects)


@pytest.mark.parametrize(
    ("plan", "desired", "message"),
    [
        (a_workload("run", quorum=4), 4, "No PodGroup was created from Workload run, which needs 4 pods."),
        (a_workload("run"), 0, "No PodGroup was created from Workload run."),
        (a_composite("tree", quorum=2), 0,
         "No PodGroup was created for CompositePodGroup tree, which needs 2 groups."),
        (a_composite("tree"), 0, "No PodGroup was created for CompositePodGroup tree."),
    ],
)  # fmt: skip
def test_a_plan_makes_no_pods_itself(plan: Group, desired: int, message: str) -> None:
    """It is not paused either, because no size of zero was requested."""
    unit = planned(plan, desired)
    finding = require_finding("pods-not-created", unit)
    assert (finding.health, finding.message) == (Health.BLOCKED, message)
    assert first_code(unit) == "pods-not-created"
    assert evaluate("paused", unit) is None
    assert evaluate("running", unit) is None
    assert require_finding("pods-not-created", planned(plan, desired, 10)).health is Health.STARTING
