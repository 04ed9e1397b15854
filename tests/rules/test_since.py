"""The start time of a finding, from the objects, or none if they do not record it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from tests.domain_objects import (
    a_condition,
    a_container,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    child_jobs,
    facts_of,
    placed,
)
from tests.rules.evaluation import require_finding, require_gang_finding, unit_of

DAY = 24 * 3600


def up(name: str, job: Owner, since: float, **fields: Any) -> Pod:
    """A ready pod, made with its Job a day ago."""
    ready = a_condition("Ready", since=ago(since))
    scheduled = a_condition("PodScheduled", since=ago(DAY))
    defaults: dict[str, Any] = {"scheduled": scheduled, "created_at": ago(DAY), **fields}
    return replace(a_pod(name, of=job, on="n0", **defaults), ready=ready)


def down(name: str, job: Owner, since: float, **fields: Any) -> Pod:
    """A pod on a node, not ready since then."""
    pod = up(name, job, since, **fields)
    return replace(pod, ready=a_condition("Ready", "False", since=ago(since)))


def refused(name: str, job: Owner, since: float, made: float, **fields: Any) -> Pod:
    scheduled = a_condition("PodScheduled", "False", reason="Unschedulable", since=ago(since))
    return a_pod(name, of=job, created_at=ago(made), **{"scheduled": scheduled, **fields})


def done(name: str, job: Owner, ended: float) -> Pod:
    return replace(down(name, job, ended), phase="Succeeded")


JOB = a_job("train", pods=3, created_at=ago(6 * DAY), active_pods=None)


@pytest.mark.parametrize(
    ("pods", "since"),
    [
        # Whole since the last of them was ready.
        ([up("a", JOB, 9000), up("b", JOB, 7200), up("c", JOB, 8000)], ago(7200)),
        # One that is done ended before the last one became ready.
        ([up("a", JOB, 9000), up("b", JOB, 7200), done("c", JOB, 8000)], ago(7200)),
        # A finished pod may have become ready after the others, so the time is unknown.
        ([up("a", JOB, 9000), up("b", JOB, 7200), done("c", JOB, 60)], None),
        ([done("a", JOB, 90), done("b", JOB, 70), done("c", JOB, 80)], ago(70)),
    ],
)
def test_running_since_the_last_member_was_ready(pods: list[Pod], since: datetime | None) -> None:
    assert require_finding("running", unit_of(JOB, *pods)).since == since


def test_running_time_is_unknown_if_a_pod_is_missing() -> None:
    job = replace(JOB, succeeded_pods=1)
    assert (
        require_finding("running", unit_of(job, up("a", job, 90), up("b", job, 80))).since is None
    )


@pytest.mark.parametrize(("driver", "since"), [(8000, ago(7200)), (60, None)])
def test_a_gang_of_several_jobs_runs_since_the_last_of_them_does(
    driver: float, since: datetime | None
) -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", pods=2))
    first, second = child_jobs(jobset, created_at=ago(DAY))
    pods = [done("a", first, driver), up("b", second, 9000), up("c", second, 7200)]
    finding = assess(facts_of(jobset, first, second, *pods)).finding
    assert (finding.code, finding.since) == ("running", since)


def test_an_end_that_is_announced() -> None:
    reported = (a_condition("SuccessCriteriaMet", reason="SuccessPolicy", since=ago(50)),)
    owner = a_job("train", ending="SuccessPolicy", conditions=reported)
    assert require_gang_finding("succeeded", facts_of(owner)).since == ago(50)
    reported = (a_condition("FailureTarget", reason="BackoffLimitExceeded", since=ago(40)),)
    owner = a_job("train", ending="BackoffLimitExceeded", conditions=reported)
    assert require_gang_finding("failed", facts_of(owner)).since == ago(40)


def test_starting_since_the_last_member_got_its_node() -> None:
    late = a_condition("PodScheduled", since=ago(300))
    pods = [down("a", JOB, DAY), up("b", JOB, 9000), down("c", JOB, 298, scheduled=late)]
    assert require_finding("starting", unit_of(JOB, *pods)).since == ago(300)


def test_starting_again_since_a_member_was_not_ready_any_more() -> None:
    pods = [down("a", JOB, 90), up("b", JOB, 9000), up("c", JOB, 9000)]
    assert require_finding("starting", unit_of(JOB, *pods)).since == ago(90)


@pytest.mark.parametrize("code", ["unschedulable", "partly-placed"])
def test_waiting_since_the_scheduler_refused_the_first(code: str) -> None:
    pods = [refused("a", JOB, 500, DAY), refused("b", JOB, 700, DAY)]
    if code == "partly-placed":
        pods.append(up("c", JOB, 9000))
    assert require_finding(code, unit_of(JOB, *pods)).since == ago(700)


def test_waiting_time_is_at_most_the_age_of_the_waiting_pods() -> None:
    """The condition of a group stays False over a suspend (observed on 1.36.3)."""
    job = replace(JOB, group_name="ring")
    group = a_group("ring", quorum=2, placed=replace(placed("False"), since=ago(6 * DAY)))
    group = replace(group, placed=replace(group.placed, reason="Unschedulable"))  # type: ignore[type-var]
    pods = [refused(name, job, 500, 600, group="ring") for name in ("a", "b")]
    assert require_finding("unschedulable", unit_of(job, group, *pods)).since == ago(600)


def test_below_its_size_since_it_is_both() -> None:
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=2, placed=placed())
    ready = [up("a", job, 5000, group="ring"), up("b", job, 4000, group="ring")]
    rest = [refused("c", job, 9000, DAY, group="ring"), refused("d", job, 90, 95, group="ring")]
    assert require_finding("below-size", unit_of(job, group, *ready, *rest)).since == ago(4000)
    ready = [*ready, up("e", job, 3000, group="ring")]
    assert require_finding("below-size", unit_of(job, group, *ready, rest[1])).since == ago(95)
    missing = unit_of(replace(job, desired=5), group, *ready, rest[1])
    assert require_finding("below-size", missing).since is None, "when the fifth went is not known"


def test_members_lost_since_too_few_are_left() -> None:
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=3, placed=placed())
    ready = [up("a", job, 5000, group="ring"), up("b", job, 4000, group="ring")]
    rest = [refused("c", job, 890, 900, group="ring"), refused("d", job, 90, 95, group="ring")]
    assert require_finding("lost-members", unit_of(job, group, *ready, *rest)).since == ago(95)


def test_restarting_since_the_time_of_the_jobset() -> None:
    reported = (a_condition("RestartingJobSet", since=ago(45)),)
    jobset = a_jobset(
        "run", a_role("workers", pods=2), restarts=1, max_restarts=3, conditions=reported
    )
    (job,) = child_jobs(replace(jobset, restarting=True))[:1]
    unit = unit_of(replace(jobset, restarting=True), job, down("a", job, 20), up("b", job, 10))
    assert require_finding("restarting", unit).since == ago(45)


def test_too_few_pods_since_the_first_creation_without_an_attempt() -> None:
    job = replace(JOB, group_name="ring")
    group = a_group("ring", quorum=3, created_at=ago(6 * DAY))
    pods = [a_pod("a", of=job, group="ring", created_at=ago(700)), a_pod("b", of=job, group="ring")]
    assert require_finding("below-quorum", unit_of(job, group, *pods)).since == ago(700)
    tried = refused("b", job, 500, 600, group="ring")
    assert require_finding("below-quorum", unit_of(job, group, pods[0], tried)).since is None


def test_missing_pods_since_the_creation_of_their_job() -> None:
    job = a_job("train", created_at=ago(6 * DAY), active_pods=None)
    assert require_finding("pods-not-created", unit_of(job)).since == ago(6 * DAY)
    resumed = (a_condition("Suspended", "False", since=ago(3600)),)
    repeated = replace(job, conditions=resumed, resumed_at=ago(3600))
    assert require_finding("pods-not-created", unit_of(repeated)).since == ago(3600)
    had = replace(job, active_pods=2)
    assert require_finding("pods-not-created", unit_of(had)).since is None, (
        "its Job still counts two"
    )


def test_a_group_that_is_missing_since_its_pods_wait() -> None:
    facts = {"gang_api_version": "v1beta1"}
    waiting = a_pod("a", of=JOB, group="ring", created_at=ago(DAY))
    unit = unit_of(JOB, waiting, facts=facts, group_name="ring")
    assert require_finding("podgroup-missing", unit).since == ago(DAY)


def test_an_image_that_was_never_pulled_since_the_binding() -> None:
    stuck = a_container(running=False, ready=False, state="waiting", reason="ImagePullBackOff")
    pod = down("a", JOB, DAY - 2, containers=(stuck,))
    assert require_finding("image-pull", unit_of(JOB, pod)).since == ago(DAY - 2)
    repeated = replace(pod, containers=(replace(stuck, restarts=1),))
    assert require_finding("image-pull", unit_of(JOB, repeated)).since is None
    crashing = replace(stuck, reason="CrashLoopBackOff", restarts=7)
    looping = replace(pod, containers=(crashing,))
    assert require_finding("crash-loop", unit_of(JOB, looping)).since is None
