"""Volcano Jobs: their tasks, their outcomes and their verdicts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.group import Group, Policy
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.owners.volcano_job import VolcanoJob
from tests.decode.reading import Json, model
from tests.domain_objects import NOW, Made, a_meta, a_node, a_pod, ago, an_event
from tests.gangs import assemble
from tests.groups.other_schedulers import member, verdict_of
from tests.kinds import registered

OWNER = registered(VolcanoJob)

GROUP = "scheduling.volcano.sh"


def task(name: str, replicas: int, **options: Any) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"containers": [container]}},
        **options,
    }


def a_vcjob(phase: str = "Pending", *, retries: int = 0, **spec: Any) -> Owner:
    """gang-owners.md §5.4."""
    metadata = {"name": "mnist", "namespace": "team-a", "uid": "v1", "resourceVersion": "1",
                "creationTimestamp": "2026-11-21T11:00:00Z"}  # fmt: skip
    spec = {
        "minAvailable": 3,
        "maxRetry": 3,
        "tasks": [task("driver", 1), task("worker", 2)],
        **spec,
    }
    state = {"phase": phase, "lastTransitionTime": "2026-11-21T11:30:00Z"} if phase else None
    obj = {"metadata": metadata, "spec": spec, "status": {"state": state, "retryCount": retries}}
    result: Owner = model(OWNER.resource, obj)
    return result


def its_group(job: Owner, phase: str = "Inqueue", **fields: Any) -> Group:
    meta = a_meta(GROUP, "PodGroup", "mnist-v1", version="v1beta1", of=job)
    value = {"detail": {"phase": phase}, "queue": "default", **fields}
    return Group(meta, Policy.GANG, quorum=3, **value)


def pods_of(job: Owner, group: Group, **fields: Any) -> list[Pod]:
    tasks = ["driver", "worker", "worker"]
    return [
        member(
            group, f"mnist-{n}", "volcano", of=job, labels={"volcano.sh/task-spec": item}, **fields
        )
        for n, item in enumerate(tasks)
    ]


def test_a_volcano_job_consists_of_tasks() -> None:
    job = a_vcjob(tasks=[task("driver", 1), task("worker", 4, minAvailable=2)])
    assert (job.meta.ref.group, job.meta.ref.kind, job.desired) == ("batch.volcano.sh", "Job", 5)
    assert not job.meta.ref.is_job
    assert [(role.name, role.pods, role.quorum) for role in job.roles] == [
        ("driver", 1, 1),
        ("worker", 4, 2),
    ]
    assert str(job.roles[0].requests["cpu"]) == "2"


@pytest.mark.parametrize(
    ("phase", "suspended", "outcome"),
    [
        ("", False, None),
        ("Pending", False, None),
        ("Running", False, None),
        ("Aborting", True, None),
        ("Aborted", True, None),
        ("Completed", False, Outcome.SUCCEEDED),
        ("Failed", False, Outcome.FAILED),
        ("Terminated", False, Outcome.FAILED),
        ("Completing", False, None),
    ],
)
def test_the_phase_is_decoded(phase: str, suspended: bool, outcome: Outcome | None) -> None:
    job = a_vcjob(phase)
    assert job.suspended is suspended
    assert (job.finish and job.finish.outcome) == outcome


def test_a_resume_is_no_restart_that_is_news() -> None:
    assert (a_vcjob("Pending", retries=1).restarts, a_vcjob("Pending", retries=1).restarting) == (
        0,
        False,
    )
    again = a_vcjob("Restarting", retries=1)
    assert (again.restarts, again.max_restarts, again.restarting) == (1, 3, True)
    assert OWNER.facts(again) == {"Retries": "1 of 3 (a resume counts as one)"}


def test_a_job_outside_its_queue_has_no_pods_and_the_queue_is_the_cause() -> None:
    job = a_vcjob()
    verdict = verdict_of(job, its_group(job, "Pending"))
    assert (verdict.finding.code, verdict.finding.health) == ("queue-evaluating", Health.WAITING)
    assert verdict.finding.message == "Queue default has not admitted it yet."
    assert (verdict.members.desired, verdict.members.quorum, verdict.members.created) == (3, 3, 0)


def test_running_and_aborted_jobs() -> None:
    job = a_vcjob("Running")
    group = its_group(job, "Running")
    verdict = verdict_of(job, group, *pods_of(job, group, on="n0"))
    assert (verdict.finding.code, verdict.members.ready) == ("running", 3)
    aborted = verdict_of(a_vcjob("Aborted"))
    assert (aborted.finding.code, aborted.finding.health) == ("suspended", Health.SUSPENDED)


def test_a_lost_member_whose_replacement_does_not_fit() -> None:
    job = a_vcjob("Running")
    group = its_group(job, "Unknown")
    driver, worker, _ = pods_of(job, group, on="n0")
    text = "0/1 nodes are unavailable: 1 Insufficient cpu."
    lost = pods_of(job, group, text=text)[2]
    was_placed = replace(group, placed=Condition("Scheduled", "True", since=ago(60)))
    result = verdict_of(job, was_placed, driver, worker, lost).finding
    assert (result.code, result.health) == ("lost-members", Health.DEGRADED)


def test_a_volcano_job_is_not_a_kubernetes_job() -> None:
    assert (OWNER.resource.group, OWNER.resource.kind) == ("batch.volcano.sh", "Job")
    assert not OWNER.resource.is_job


def test_a_job_that_is_to_be_let_in_again_while_a_pod_runs() -> None:
    """A PodGroup that is Pending waits for its queue, and that is what keeps the other pod away."""
    result, reason = restarting(phase="Pending").findings
    assert (result.code, result.health) == ("lost-members", Health.DEGRADED)
    assert result.message == (
        "1 of 2 members runs; the other pod is not created before Queue default admits "
        "PodGroup mnist-v1."
    )
    assert (reason.code, reason.message) == (
        "queue-evaluating",
        "Queue default has not admitted it again yet; 1 of 2 pods holds a node meanwhile.",
    )


def restarting(
    *options: Made, phase: str = "Inqueue", events_known: bool = True, **fields: Any
) -> Verdict:
    """A restarting Job with one of two workers, and its PodGroup."""
    job = a_vcjob("Restarting", retries=1, minAvailable=2, tasks=[task("worker", 2)])
    group = replace(its_group(job, phase), quorum=2)
    labels = {"volcano.sh/task-spec": "worker"}
    first = member(group, "mnist-0", "volcano", of=job, labels=labels, on="n0", **fields)
    return verdict_of(job, group, first, *options, events_known=events_known)


def test_refused_pods_are_unknown_without_events() -> None:
    result = restarting(events_known=False).finding
    assert result.message.endswith("yet. Events cannot be read, so a refusal would not be seen.")
    assert result.advice_texts == ()


def test_a_restart_waits_for_objects_of_its_controller() -> None:
    """Its queue admitted it. The other pod is about to appear, so no lower quorum is advised."""
    result = restarting().finding
    assert (result.code, result.health) == ("restarting", Health.DEGRADED)
    assert result.message == (
        "Restart 1 of 3: 1 of 2 pods is ready; Volcano's controller (vc-controller-manager) "
        "has not created the other pod yet."
    )
    assert result.advice_texts == (
        (
            "Start Volcano's controller (vc-controller-manager) if it does not run, and check "
            "its log."
        ),
    )
    assert [finding.code for finding in restarting().findings] == ["restarting"]


def test_a_restart_that_has_just_begun_has_no_advice() -> None:
    """`a_vcjob` restarts at 11:30, `NOW` is 12:00: a pod of 20 s ago says that its controller works."""
    verdict = restarting(created_at=ago(20))
    assert verdict.finding.advice_texts == ()
    assert verdict.finding.recheck_at == ago(20 - 120)


@pytest.mark.parametrize(
    ("ready", "deleting", "node_ready", "health", "advice"),
    [
        # Its grace is not over.
        (True, -10, True, Health.DEGRADED, ()),
        (True, 31, True, Health.BLOCKED,
         ("Check why Pod mnist-0 does not end: its finalizers, and the kubelet of node n0.",)),
        # Its kubelet does not answer. After its grace period the code is `termination-stuck`.
        (False, -10, None, Health.DEGRADED, ()),
    ],
    ids=["leaves", "stays", "on a dead node"],
)  # fmt: skip
def test_a_restart_waits_for_a_pod_that_is_being_deleted(
    ready: bool, deleting: float, node_ready: bool | None, health: Health, advice: tuple[str, ...]
) -> None:
    """As long as too many of its pods terminate it stays `Restarting` (state/restarting.go)."""
    verdict = restarting(a_node("n0", ready=node_ready), ready=ready, deleting_since=ago(deleting))
    result = verdict.finding
    assert (result.code, result.health) == ("restarting", health)
    assert result.message.startswith(
        "Restart 1 of 3: 0 of 2 pods are ready; pod mnist-0 is still being deleted"
    )
    assert ("on node n0, which is NotReady" in result.message) is (node_ready is None)
    assert result.advice_texts == advice


def test_a_restart_that_a_silent_node_holds_up() -> None:
    verdict = restarting(a_node("n0", ready=None), ready=False, deleting_since=ago(31))
    assert (verdict.finding.code, verdict.finding.health) == ("termination-stuck", Health.BLOCKED)
    assert "Job mnist waits for pod mnist-0" in verdict.finding.message


def test_a_pod_that_a_quota_refuses_while_its_job_restarts() -> None:
    """Near miss: its controller says why it has not made it."""
    job = a_vcjob("Restarting", retries=1)
    refused = an_event(
        job,
        "FailedCreate",
        'pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1',
    )
    group = its_group(job)
    result = verdict_of(job, group, pods_of(job, group, on="n0")[0], refused).finding
    assert result.code == "pod-creation-refused"


def test_a_task_without_a_minimum_needs_all_pods_and_a_zero_minimum_none() -> None:
    """`minAvailable` of a task is a pointer in Go, so 0 was written on purpose (seen on Volcano 1.14.1)."""
    job = a_vcjob(tasks=[task("driver", 2), task("helper", 1, minAvailable=0)])
    assert [(role.name, role.pods, role.quorum) for role in job.roles] == [
        ("driver", 2, 2),
        ("helper", 1, 0),
    ]


@pytest.mark.parametrize(("least", "code"), [(0, "below-size"), (None, "partly-placed")])
def test_an_optional_task_delays_no_gang(least: int | None, code: str) -> None:
    """Without a PodGroup each task is judged by itself."""
    helper = task("helper", 1, **({} if least is None else {"minAvailable": least}))
    job = a_vcjob("Running", minAvailable=2, tasks=[task("driver", 2), helper])
    labels = {"volcano.sh/task-spec": "driver"}
    drivers = [a_pod(f"d{n}", of=job, labels=labels, on="n0") for n in range(2)]
    text = "0/1 nodes are unavailable: 1 Insufficient cpu."
    waits = a_pod("h0", of=job, labels={"volcano.sh/task-spec": "helper"}, text=text)
    assert verdict_of(job, *drivers, waits).finding.code == code


# dependsOn


def staged(
    least: int = 2, on: str = "n0", *, depends_on: Json | None = None, **fields: Any
) -> Verdict:
    """A driver and a loader, for which two workers wait, in one PodGroup with this quorum."""
    waits = {"dependsOn": depends_on or {"name": ["driver"]}}
    tasks = [
        task("driver", 1, minAvailable=1),
        task("loader", 1, minAvailable=1),
        task("worker", 2, minAvailable=2, **waits),
    ]
    job = a_vcjob("Running" if on else "Pending", minAvailable=least, tasks=tasks)
    group = replace(its_group(job, "Running" if on else "Inqueue"), quorum=least)
    pods = [
        member(
            group,
            f"mnist-{name}-0",
            "volcano",
            of=job,
            labels={"volcano.sh/task-spec": name},
            created_at=ago(600),
            on=on,
            **fields,
        )
        for name in ("driver", "loader")
    ]
    return verdict_of(job, group, *pods)


def test_a_task_depends_on_others() -> None:
    names = ["driver", "loader"]
    job = a_vcjob(
        tasks=[
            task("driver", 1),
            task("one", 1, dependsOn={"name": ["driver"], "iteration": "any"}),
            task("both", 1, dependsOn={"name": names, "iteration": "all"}),
            task("any", 1, dependsOn={"name": names, "iteration": "any"}),
            task("none", 1, dependsOn={}),
        ]
    )
    assert [([item.role for item in role.depends_on], role.needs_any) for role in job.roles] == [
        ([], False),
        (["driver"], False),
        (names, False),
        (names, True),
        ([], False),
    ]


def test_a_task_waits_for_another_one_that_starts() -> None:
    result = staged(ready=False).finding
    assert (result.code, result.health) == ("dependency-waiting", Health.WAITING)
    assert result.message == "worker waits until driver is Ready: 0 of 1 pods are."
    assert [(item.label, item.value) for item in result.evidence] == [
        ("waits for", "driver"),
        ("driver ready", "0 of 1"),
    ]
    (step,) = result.advice
    assert step.command == (*("kubectl", "describe", "pods", "-n", "team-a", "mnist-driver-0"),)


def test_one_of_several_tasks_may_be_enough() -> None:
    either = {"name": ["driver", "loader"], "iteration": "any"}
    result = staged(ready=False, depends_on=either).finding
    assert result.message == "worker waits until driver or loader is Ready."


@pytest.mark.parametrize(
    ("depends_on", "waits"),
    [
        ({"name": ["driver"]}, True),
        ({"name": ["loader"]}, False),
        ({"name": ["driver", "loader"]}, True),
        ({"name": ["driver", "loader"], "iteration": "any"}, False),
        ({"name": ["nobody"]}, True),
    ],
)
def test_ready_pods_of_the_other_task_decide(depends_on: Json, waits: bool) -> None:
    """waitDependsOnTaskMeetCondition of v1.14.1. The loader is ready, and the driver is not."""
    tasks = [
        task("driver", 1, minAvailable=1),
        task("loader", 2, minAvailable=1),
        task("worker", 2, minAvailable=2, dependsOn=depends_on),
    ]
    job = a_vcjob(minAvailable=4, tasks=tasks)
    labels = {name: {"volcano.sh/task-spec": name} for name in ("driver", "loader")}
    pods = (
        a_pod("mnist-driver-0", of=job, labels=labels["driver"], on="n0", ready=False),
        a_pod("mnist-loader-0", of=job, labels=labels["loader"], on="n0"),
    )
    assert ("worker" in assemble(job, pods, now=NOW).unmet) is waits


def test_the_cause_of_the_other_task_comes_first() -> None:
    text = "0/1 nodes are unavailable: 1 Insufficient cpu."
    assert staged(on="", text=text).finding.code not in ("dependency-waiting", "quorum-deadlock")


def test_a_quorum_that_needs_waiting_pods_is_a_deadlock() -> None:
    """By default the quorum is all pods, and the gang plugin places no pod below it."""
    result = staged(4, on="").finding
    assert (result.code, result.health) == ("quorum-deadlock", Health.BLOCKED)
    assert result.message == (
        "2 pods of worker are created only once driver is Ready, but group mnist-v1 needs 4 pods "
        "at once."
    )
    (step,) = result.advice
    assert step.text == "Lower minAvailable of Job mnist to 2 (no restart)."
    assert step.command[:-1] == (
        *("kubectl", "patch", "jobs.batch.volcano.sh", "mnist", "-n", "team-a"),
        *("--type=merge", "-p"),
    )
    assert json.loads(step.command[-1]) == {"spec": {"minAvailable": 2}}
