"""What a gang does with its accelerators, by its verdict and its pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.usage import AcceleratorUse
from gangboard.domain.verdict import Finding, Members, Verdict
from gangboard.facts.accelerator_use import accelerator_use, is_eligible
from tests.domain_objects import Made, a_job, ago, facts_of, pods_of, requests

JOB = a_job(pods=4, requests=requests(cpu="8", gpu="2"))
"""8 GPUs."""


def use_of(
    health: Health,
    stage: Stage,
    code: str,
    *objects: Made,
    on_nodes: float = 0.0,
    succeeded: int = 0,
    owner: Owner = JOB,
) -> AcceleratorUse:
    finding = Finding(code, health, stage, "", "")
    members = Members(desired=4, succeeded=succeeded)
    verdict = Verdict(finding, (finding,), members, {"cpu": "32", "nvidia.com/gpu": "8"})
    return accelerator_use(facts_of(owner, *objects), verdict, on_nodes)


def test_a_gang_that_runs_whole_uses_its_accelerators() -> None:
    pods = pods_of(JOB, 4, on="n0")
    use = use_of(Health.RUNNING, Stage.RUN, "running", *pods, on_nodes=8)
    assert use == AcceleratorUse(used=8)


def test_an_incomplete_gang_holds_what_it_has_and_waits_for_the_rest() -> None:
    pods = [*pods_of(JOB, 1, on="n0"), *pods_of(JOB, 4)[1:]]
    use = use_of(Health.WAITING, Stage.PLACEMENT, "insufficient-resources", *pods, on_nodes=2)
    assert use == AcceleratorUse(held=2, eligible=6)


def test_pods_that_terminate_still_have_their_devices() -> None:
    leaving = [
        replace(pod, meta=replace(pod.meta, deleting_since=ago(5)))
        for pod in pods_of(JOB, 4, on="n0")
    ]
    use = use_of(Health.WAITING, Stage.PLACEMENT, "preempted", *leaving, on_nodes=8)
    assert use == AcceleratorUse(held=8, eligible=8)


def test_members_that_are_done_wait_for_nothing() -> None:
    pods = pods_of(JOB, 4, on="n0")
    done = [replace(pod, phase="Succeeded", ready=None) for pod in pods[:1]]
    # Another succeeded pod was deleted already.
    use = use_of(Health.RUNNING, Stage.RUN, "running", *done, *pods[2:], on_nodes=4, succeeded=2)
    assert use == AcceleratorUse(used=4)


@pytest.mark.parametrize("health", [Health.SUCCEEDED, Health.FAILED])
def test_a_gang_that_has_ended_waits_for_nothing(health: Health) -> None:
    assert use_of(health, Stage.RUN, health.value) == AcceleratorUse()


def test_a_gang_that_is_being_deleted_waits_for_nothing() -> None:
    leaving = replace(JOB, meta=replace(JOB.meta, deleting_since=ago(5)))
    assert use_of(Health.SUSPENDED, Stage.RUN, "being-deleted", owner=leaving) == AcceleratorUse()


def test_an_unknown_gang_is_neither_used_nor_waiting() -> None:
    pods = pods_of(JOB, 4, on="n0")
    use = use_of(Health.UNKNOWN, Stage.RUN, "not-observed", *pods, on_nodes=8)
    assert use == AcceleratorUse(unobserved=8)


@pytest.mark.parametrize(
    ("health", "stage", "code", "eligible"),
    [
        ("waiting", "placement", "insufficient-resources", True),
        ("blocked", "formation", "pod-creation-refused", True),
        ("degraded", "run", "lost-members", True),
        ("waiting", "formation", "dependency-waiting", False),
        ("waiting", "placement", "scheduling-gated", False),
        ("waiting", "admission", "waiting-for-quota", False),
        ("blocked", "admission", "queue-missing", False),
        ("suspended", "admission", "suspended", False),
        ("suspended", "run", "job-suspended", False),
    ],
)
def test_a_gang_is_eligible_while_nothing_holds_it_back_on_purpose(
    health: str, stage: str, code: str, *, eligible: bool
) -> None:
    assert is_eligible(health, stage, code) is eligible
