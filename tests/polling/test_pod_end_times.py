"""Expected ends of pods: deletions and deadlines, unless another pod takes the place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.capacity import RunningGang
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.owners.jobset.policies import POLICIES, FailureRule, Policies, encode_policies
from tests.domain_objects import (
    NOW,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    child_jobs,
    failed,
    pods_of,
)
from tests.polling.usage_cluster import TRAIN, Cluster, node


def ends_of(held: RunningGang) -> list[tuple[float, int, bool]]:
    """(seconds from now, pods, whether they are being deleted)."""
    return [
        ((termination.at - NOW).total_seconds(), termination.pods, termination.deleted)
        for termination in held.terminations
    ]


def placed_job(*, pods: int = 2, **fields: Any) -> tuple[Owner, list[Pod]]:
    """A Job that ran for a minute on n0 and does not recreate failed pods. Pods have 10 s to
    end."""
    job = a_job("train", pods=pods, **{"max_retries": 0, "started_at": ago(60), **fields})
    return job, list(pods_of(job, pods, on="n0", start_time=ago(50), stop_seconds=10))


def test_the_deadline_of_a_job_ends_its_pods() -> None:
    """It counts from the start of the Job, and its pods may use their grace period then."""
    job, pods = placed_job(deadline_seconds=600)
    cluster = Cluster(node(), job, *pods)
    assert ends_of(cluster.running_gangs()["train"]) == [(550, 2, False)]
    # No deadline runs during a suspension. It restarts with the resume.
    cluster.put(replace(job, suspended=True, started_at=None))
    assert cluster.running_gangs()["train"].terminations == ()
    cluster.put(replace(job, started_at=NOW))
    assert ends_of(cluster.running_gangs()["train"]) == [(610, 2, False)]


def test_the_deadline_of_a_child_job_ends_its_pods_only() -> None:
    jobset = a_jobset("run", a_role("a"), a_role("b"))
    first, second = child_jobs(jobset, started_at=ago(60))
    first = replace(first, deadline_seconds=120)
    pods = [*pods_of(first, 2, on="n0", stop_seconds=0), *pods_of(second, 2, on="n0")]
    cluster = Cluster(node(), jobset, first, second, *pods)
    assert ends_of(cluster.running_gangs()["run"]) == [(60, 2, False)]
    # The Job fails then, and the JobSet restarts at once.
    cluster.put(replace(jobset, max_restarts=3, counted_restarts=2))
    assert cluster.running_gangs()["run"].terminations == ()
    cluster.put(replace(jobset, max_restarts=3, counted_restarts=3))
    assert ends_of(cluster.running_gangs()["run"]) == [(60, 2, False)]
    policies = Policies(failure_rules=(FailureRule("RestartJobSetAndIgnoreMaxRestarts"),))
    cluster.put(replace(jobset, detail={POLICIES: encode_policies(policies)}))
    assert cluster.running_gangs()["run"].terminations == ()


def test_pods_end_at_their_own_deadlines() -> None:
    job, (first, second, third) = placed_job(pods=3)
    cluster = Cluster(node(), job, third)
    cluster.put(replace(first, deadline_seconds=600))
    cluster.put(replace(second, deadline_seconds=60))
    assert ends_of(cluster.running_gangs()["train"]) == [(20, 1, False), (560, 1, False)]
    # A Job with retries recreates a failed pod.
    cluster.put(replace(job, max_retries=6))
    assert cluster.running_gangs()["train"].terminations == ()
    cluster.put(replace(job, max_retries=None))
    assert cluster.running_gangs()["train"].terminations == ()


def test_a_single_pod_with_a_deadline_ends() -> None:
    single = a_pod("alone", on="n0", start_time=ago(60), deadline_seconds=90, stop_seconds=30)
    cluster = Cluster(node(), single)
    held = cluster.running_gangs()["alone"]
    assert (held.ref.kind, ends_of(held)) == ("Pod", [(60, 1, False)])
    # The end is unknown until the pod has started.
    cluster.put(replace(single, start_time=None))
    assert cluster.running_gangs() == {}


def test_deleted_pods_end_after_their_grace_period() -> None:
    job, (first, second) = placed_job()
    terminating = replace(first, meta=replace(first.meta, deleting_since=ago(-30)))
    cluster = Cluster(node(), job, first, second)
    room = cluster.usage.capacity("")
    cluster.put(terminating)
    assert cluster.usage.capacity("") is not room
    held = cluster.running_gangs()["train"]
    assert ends_of(held) == [(30, 1, True)]
    # Both pods use capacity. A suspend of the gang would free only the other pod.
    assert held.loads["n0"].pods == 2
    assert held.by_suspending is not None
    assert held.by_suspending["n0"].pods == 1
    cluster.put(replace(second, meta=replace(second.meta, deleting_since=ago(-30))))
    assert cluster.running_gangs()["train"].by_suspending == {}


def test_suspending_a_suspended_gang_frees_nothing() -> None:
    job, pods = placed_job()
    cluster = Cluster(node(), job, *pods)
    room = cluster.usage.capacity("")
    assert cluster.running_gangs()["train"].by_suspending is None
    cluster.put(replace(job, suspended=True))
    assert cluster.usage.capacity("") is not room
    assert cluster.running_gangs()["train"].by_suspending == {}
    jobset = a_jobset("run")
    (child,) = child_jobs(jobset, suspended=True)
    cluster = Cluster(node(), jobset, child, *pods_of(child, 2, on="n0"))
    assert cluster.running_gangs()["run"].by_suspending == {}


def test_recreated_pods_do_not_end() -> None:
    controller = Controller("apps", "StatefulSet", "db", "uid-db")
    pod = a_pod("db-0", of=controller, on="n0", deleting_since=ago(-30))
    assert Cluster(node(), pod).running_gangs() == {}


def test_end_times_within_a_minute_are_grouped() -> None:
    first = a_pod("train-0", of=TRAIN, on="n0", deleting_since=ago(-5))
    last = a_pod("train-1", of=TRAIN, on="n0", deleting_since=ago(-50))
    (termination,) = Cluster(node(), TRAIN, first, last).running_gangs()["train"].terminations
    assert (termination.at, termination.rounded, termination.pods) == (ago(-50), ago(-60), 2)


GOING: dict[str, Any] = {"deleting_since": ago(-30)}


def replaced(*objects: Owner | Pod) -> list[bool]:
    """Return for each end of a deleted pod whether its controller recreates it."""
    (held,) = Cluster(node(), *objects).running_gangs().values()
    return [termination.replaced for termination in held.terminations if termination.deleted]


def test_a_running_job_recreates_deleted_pods() -> None:
    """The new pod may take the capacity, so only its own gang can count on it."""
    job = a_job("train", pods=2)
    running, terminating = (
        a_pod("train-0", of=job, on="n0"),
        a_pod("train-1", of=job, on="n0", **GOING),
    )
    assert replaced(job, running, terminating) == [True]
    # The new pod exists already. It waits, or runs on another node, so the capacity is free.
    assert replaced(job, running, terminating, a_pod("train-2", of=job)) == [True]
    assert replaced(job, running, terminating, a_pod("train-2", of=job, on="n1")) == [False]
    # The deleted pod counts as the last failure that the Job takes; or as one that it had before.
    worn = replace(job, max_retries=0)
    assert replaced(worn, running, terminating) == [False]
    assert replaced(worn, running, terminating, a_pod("train-2", of=job)) == [True]


@pytest.mark.parametrize(
    "fields",
    [
        {"suspended": True},
        {"finish": failed()},
        {"ending": "BackoffLimitExceeded"},
        {"deleting_since": NOW},
        {"parallelism": 1, "desired": 1},
        {"completions": 3, "succeeded_pods": 2, "desired": 3},
    ],
)
def test_a_job_without_further_pods_recreates_none(fields: dict[str, Any]) -> None:
    job = a_job("train", **fields)
    running, terminating = (
        a_pod("train-0", of=job, on="n0"),
        a_pod("train-1", of=job, on="n0", **GOING),
    )
    assert replaced(job, running, terminating) == [False]


def test_a_running_jobset_recreates_its_jobs() -> None:
    jobset = a_jobset("run")
    (child,) = child_jobs(jobset, **GOING)
    pods = [a_pod(f"w-{index}", of=child, on="n0", **GOING) for index in (0, 1)]
    assert replaced(jobset, child, *pods) == [True]
    # All pods are deleted or stop.
    for stopped in ({"deleting_since": NOW}, {"suspended": True}, {"finish": failed()}):
        assert replaced(a_jobset("run", **stopped), child, *pods) == [False]
    # A Job that has failed takes its JobSet with it, unless that tries again.
    (broken,) = child_jobs(jobset, finish=failed())
    assert replaced(jobset, broken, *pods) == [False]
    assert replaced(replace(jobset, max_restarts=1), broken, *pods) == [True]
